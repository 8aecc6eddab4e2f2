// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { applyJsonPatch, type PatchOperation } from '../../core/json-patch.js'

const operation = (given: Partial<PatchOperation> & { op: string }): PatchOperation => ({
  path: '',
  value: null,
  ...given,
})

const DOCUMENT = { a: { b: [1, 2, 3] }, 'x/y': 'slash', '~': 'tilde' }

t.test('what operations make of a document', t => {
  const rows: [claim: string, given: Partial<PatchOperation> & { op: string }, want: object][] = [
    ['add sets a key', { op: 'add', path: '/a/c', value: 1 }, { a: { b: [1, 2, 3], c: 1 } }],
    ['add inserts', { op: 'add', path: '/a/b/1', value: 9 }, { a: { b: [1, 9, 2, 3] } }],
    ['add appends', { op: 'add', path: '/a/b/-', value: 9 }, { a: { b: [1, 2, 3, 9] } }],
    ['indices count from the end', { op: 'remove', path: '/a/b/-1' }, { a: { b: [1, 2] } }],
    ['remove takes a key', { op: 'remove', path: '/a' }, { a: undefined }],
    ['replace an item', { op: 'replace', path: '/a/b/0', value: 9 }, { a: { b: [9, 2, 3] } }],
    ['replace adds a missing key', { op: 'replace', path: '/n', value: 1 }, { n: 1 }],
    ['replace everything', { op: 'replace', path: '', value: { a: 1 } }, { a: 1 }],
    ['move', { op: 'move', from: '/a/b/0', path: '/a/b/-' }, { a: { b: [2, 3, 1] } }],
    ['copy', { op: 'copy', from: '/a/b', path: '/c' }, { c: [1, 2, 3] }],
    ['copy nothing as null', { op: 'copy', from: '/n', path: '/c' }, { c: null }],
    ['~1 is a slash', { op: 'replace', path: '/x~1y', value: 1 }, { 'x/y': 1 }],
    ['~0 is a tilde', { op: 'replace', path: '/~0', value: 1 }, { '~': 1 }],
    ['test that holds', { op: 'test', path: '/a/b', value: [1, 2, 3] }, { a: { b: [1, 2, 3] } }],
    ['a missing key tests as null', { op: 'test', path: '/n' }, {}],
    ['test everything', { op: 'test', path: '', value: DOCUMENT }, {}],
  ]
  for (const [claim, given, want] of rows) {
    const before = structuredClone(DOCUMENT)
    const patched = applyJsonPatch(DOCUMENT, [operation(given)])
    if (!patched.ok) return t.fail(`${claim}: ${patched.trouble}`)
    const expected: Record<string, unknown> =
      given.path === '' && given.op === 'replace' ? {} : structuredClone(before)
    Object.assign(expected, want)
    if ('a' in want && want.a === undefined) delete expected['a']
    t.strictSame(patched.value, expected, claim)
    t.strictSame(DOCUMENT, before, 'the document itself is untouched')
  }
  return t.end()
})

t.test('what cannot be done says where and why', t => {
  const rows: [given: Partial<PatchOperation> & { op: string }, trouble: RegExp][] = [
    [{ op: 'add', path: '/a/b/4', value: 1 }, /"4" leads nowhere/],
    [{ op: 'add', path: '/a/b/x', value: 1 }, /"x" leads nowhere/],
    [{ op: 'add', path: '/a/b/0/c', value: 1 }, /"c" leads nowhere/],
    [{ op: 'remove', path: '/n' }, /"n" leads nowhere/],
    [{ op: 'remove', path: '/n/m' }, /"m" leads nowhere/],
    [{ op: 'remove', path: '' }, /the whole document has no place/],
    [{ op: 'replace', path: 'a', value: 1 }, /must begin with a slash/],
    [{ op: 'replace', path: '', value: 1 }, /must be a map or a list/],
    [{ op: 'move', path: '/c' }, /a path is missing/],
    [{ op: 'test', path: '/a/b', value: [] }, /another one/],
    [{ op: 'increase', path: '/a' }, /no such operation/],
  ]
  for (const [given, trouble] of rows) {
    const patched = applyJsonPatch(DOCUMENT, [
      operation({ op: 'add', path: '/q', value: 1 }),
      operation(given),
    ])
    if (patched.ok) return t.fail(`${given.op} ${given.path ?? ''} must fail`)
    t.equal(patched.at, 1)
    t.match(patched.trouble, trouble)
  }
  return t.end()
})

t.test('values are copied, and keys are data', t => {
  const value = { list: [1] }
  const patched = applyJsonPatch({}, [
    operation({ op: 'add', path: '/a', value }),
    operation({ op: 'add', path: '/a/list/-', value: 2 }),
    operation({ op: 'add', path: '/__proto__', value: { polluted: 1 } }),
  ])
  t.strictSame(value, { list: [1] })
  t.match(patched, { ok: true, value: { a: { list: [1, 2] } } })
  t.equal(({} as { polluted?: number }).polluted, undefined)
  t.end()
})

t.test('a bug is an exception', t => {
  t.throws(() => applyJsonPatch({}, [operation({ op: 'add', path: '/a', value: () => 1 })]))
  t.end()
})

t.test('copies may add 3 MiB in one patch, as the apiserver lets them', t => {
  const text = 'x'.repeat(1_048_576 - 2)
  const copies = (count: number): PatchOperation[] =>
    Array.from({ length: count }, (_, at) =>
      operation({ op: 'copy', from: '/a', path: `/copy${at}` }),
    )
  t.match(applyJsonPatch({ a: text }, copies(3)), { ok: true }, 'three times 1 MiB')
  t.match(applyJsonPatch({ a: text }, copies(4)), {
    ...{ ok: false, at: 3 },
    trouble: 'copies would add 4194304 bytes, and may add 3145728 in one patch',
  })
  const doublings = Array.from({ length: 40 }, () =>
    operation({ op: 'copy', from: '/a', path: '/a/-' }),
  )
  t.match(applyJsonPatch({ a: ['x'] }, doublings), { ok: false, trouble: /^copies would add/ })
  t.end()
})

t.test('what becomes too deep for the stack is an error like any other', t => {
  const moves = Array.from({ length: 20_000 }, (_, at) => [
    operation({ op: 'add', path: `/${at % 2}`, value: {} }),
    operation({ op: 'move', from: `/${1 - (at % 2)}`, path: `/${at % 2}/a` }),
  ]).flat()
  const copy = operation({ op: 'copy', from: '/1', path: '/c' })
  t.match(applyJsonPatch({ 1: {} }, [...moves, copy]), {
    ...{ ok: false, at: moves.length },
    trouble: 'the document becomes too deep',
  })
  t.end()
})

t.test('the work of a patch is what it reads and writes, also of one that fails', t => {
  const target = { list: Array.from({ length: 1_000 }, () => 0), text: 'x'.repeat(98) }
  const [value, one] = [64, 8 * 64]
  const path = (text: string, keys: number): number => text.length + 64 * (keys + 2)
  const rows: [given: Partial<PatchOperation> & { op: string }, work: number][] = [
    [{ op: 'add', path: '/new', value: 'xx' }, value + 2 + path('/new', 1)],
    [{ op: 'test', path: '/text', value: target.text }, 2 * (value + 98) + path('/text', 1)],
    [
      { op: 'copy', from: '/text', path: '/copy' },
      value + path('/text', 1) + (value + 98) + 100 + path('/copy', 1),
    ],
    [{ op: 'remove', path: '/list/0' }, value + path('/list/0', 2) + 1_000],
    [
      { op: 'move', from: '/list/0', path: '/list/5' },
      value + 2 * path('/list/0', 2) + 1_000 + 999,
    ],
    [{ op: 'test', path: '/text', value: 'another' }, value + 7 + (value + 98) + path('/text', 1)],
    [{ op: 'test', path: '/~0~1' }, value + path('/~0~1', 1 + 2) + value],
  ]
  for (const [given, work] of rows)
    t.equal(applyJsonPatch(target, [operation(given)]).work, one + work, JSON.stringify(given))
  t.end()
})

t.test('the work of a patch is bounded, and by less where that is asked for', t => {
  const tooMuch = { ok: false, trouble: 'the patch is too much work' }
  const long = { list: Array.from({ length: 100_000 }, () => 0) }
  const levels = Array.from({ length: 1_000 })
  const deep = levels.reduce<object>(inner => ({ '': inner }), {})
  const many = (count: number, given: Partial<PatchOperation> & { op: string }) =>
    Array.from({ length: count }, () => operation(given))
  const shifts = many(3_000, { op: 'remove', path: '/list/0' })
  const rows: [claim: string, target: object, operations: PatchOperation[]][] = [
    ['items that move up', long, shifts],
    ['keys of paths', deep, many(5_000, { op: 'test', path: '/'.repeat(1_000), value: {} })],
    ['values that are read', long, many(100, { op: 'test', path: '/list', value: long.list })],
    ['operations', {}, many(500_000, { op: 'test', path: '/a' })],
  ]
  for (const [claim, target, operations] of rows) {
    const patched = applyJsonPatch(target, operations)
    t.match(patched, tooMuch, claim)
    t.ok(patched.work < 270 * 2 ** 20, claim)
  }
  const [few, some] = [shifts.slice(0, 2), shifts.slice(0, 1)]
  t.match(applyJsonPatch(long, some, { mostWork: 150_000 }), { ok: true })
  t.match(applyJsonPatch(long, few, { mostWork: 150_000 }), { ...tooMuch, at: 1 })
  t.match(applyJsonPatch({}, some, { mostWork: -1 }), { ...tooMuch, at: 0 })
  t.end()
})

t.test('a value is copied when its turn comes, and only where its work is allowed', t => {
  const copied: unknown[] = []
  const copy = (value: unknown): unknown => {
    copied.push(value)
    return `${String(value)}!`
  }
  const operations = [
    operation({ op: 'add', path: '/a', value: 'first' }),
    operation({ op: 'replace', path: '/a', value: 'second' }),
    operation({ op: 'test', path: '/a', value: 'second' }),
    operation({ op: 'remove', path: '/none' }),
    operation({ op: 'add', path: '/b', value: 'never' }),
  ]
  t.match(applyJsonPatch({}, operations, { copy }), { ok: false, at: 3 })
  t.strictSame(copied.splice(0), ['first', 'second', 'second'])
  const large = operation({ op: 'add', path: '/a', value: 'x'.repeat(2_000) })
  t.match(applyJsonPatch({}, [large], { copy, mostWork: 2_000 }), { ok: false, at: 0 })
  t.strictSame(copied, [])
  t.end()
})
