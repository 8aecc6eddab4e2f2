// SPDX-License-Identifier: Apache-2.0
import fc from '../../testkit/properties.js'
import t from 'tap'
import type { KubeObject } from '../../sandbox/api/object.js'
import { jsonPatch } from '../../sandbox/api/patch-json.js'
import { mergePatch } from '../../sandbox/api/patch-merge.js'
import { strategicPatch } from '../../sandbox/api/patch-strategic.js'
import { parseFieldSelector, parseLabelSelector } from '../../sandbox/api/selector.js'
import { Refusal } from '../../kube/server/status.js'
import { Store } from '../../sandbox/api/store.js'

type Map = Record<string, unknown>

/** The status of the refusal that some work ends in. */
const refusal = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return error instanceof Refusal ? error.status : error
  }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const json = fc.jsonValue({ maxDepth: 4 }).map(plain)
const map = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
  .map(value => plain(value) as Map)

t.test('merge patch: the examples of RFC 7386', t => {
  const cases: [target: unknown, patch: unknown, want: unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [target, patch, want] of cases)
    t.strictSame(mergePatch(target, patch), want, JSON.stringify([target, patch]))
  t.end()
})

t.test('merge patch: properties', t => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = JSON.stringify([target, patch])
      const once = mergePatch(target, patch)
      t.strictSame(mergePatch(once, patch), once, 'twice is once')
      return JSON.stringify([target, patch]) === before
    }),
  )
  fc.assert(fc.property(map, target => t.strictSame(mergePatch(target, {}), target)))
  const patch = JSON.parse('{"__proto__":{"polluted":true}}') as unknown
  t.ok(Object.hasOwn(mergePatch({}, patch) as object, '__proto__'), 'a key like any other')
  t.equal(({} as Map)['polluted'], undefined)
  t.end()
})

t.test('JSON patch: all or nothing, and never in place', t => {
  fc.assert(
    fc.property(map, map, (target, value) => {
      const before = JSON.stringify(target)
      const good = jsonPatch(target, [{ op: 'add', path: '/~0~1', value }]) as Map
      t.strictSame(good['~/'], value)
      const back = jsonPatch(target, [
        { op: 'add', path: '/new', value },
        { op: 'move', from: '/new', path: '/other' },
        { op: 'test', path: '/other', value },
        { op: 'replace', path: '', value: target },
      ])
      t.strictSame(back, target)
      const failing = [
        { op: 'add', path: '/a', value: 1 },
        { op: 'test', path: '/a', value: 2 },
      ]
      t.equal(
        refusal(() => jsonPatch(target, failing)),
        422,
      )
      return JSON.stringify(target) === before
    }),
    { numRuns: 300 },
  )
  t.equal(
    refusal(() => jsonPatch({}, { op: 'add' })),
    400,
  )
  t.equal(
    refusal(() => jsonPatch({}, Array(10_001).fill({ op: 'test', path: '/a', value: null }))),
    413,
  )
  t.equal(
    refusal(() => jsonPatch({}, [{ op: 'add', path: 'a', value: 1 }])),
    422,
  )
  t.end()
})

const KEYS = {
  'status.conditions': 'type',
  'metadata.finalizers': '',
  'a.list': 'name',
  'a.list.inner': 'id',
}

t.test('strategic patch: without lists it is a merge patch', t => {
  const noLists = fc
    .dictionary(
      fc.stringMatching(/^[a-z]$/),
      fc.oneof(fc.integer(), fc.dictionary(fc.stringMatching(/^[a-z]$/), fc.integer())),
    )
    .map(value => plain(value) as Map)
  fc.assert(
    fc.property(noLists, noLists, (target, patch) =>
      t.strictSame(strategicPatch(target, patch, KEYS), mergePatch(target, patch)),
    ),
  )
  t.end()
})

t.test('strategic patch: a merged list has each key once', t => {
  const items = fc
    .uniqueArray(fc.record({ type: fc.constantFrom('a', 'b', 'c', 'd'), status: fc.nat(3) }), {
      selector: item => item.type,
    })
    .map(list => plain(list) as Map[])
  fc.assert(
    fc.property(items, items, (old, patch) => {
      const target = { status: { conditions: old } }
      const result = strategicPatch(target, { status: { conditions: patch } }, KEYS)
      const { conditions } = result['status'] as { conditions: Map[] }
      const keys = conditions.map(item => item['type'])
      t.equal(new Set(keys).size, keys.length)
      for (const item of patch)
        t.strictSame(
          conditions.find(other => other['type'] === item['type']),
          item,
        )
      for (const item of old)
        if (!patch.some(other => other['type'] === item['type'])) t.ok(conditions.includes(item))
    }),
  )
  t.end()
})

t.test('strategic patch: nested lists and directives', t => {
  const target = { a: { list: [{ name: 'x', inner: [{ id: 1, v: 'a' }, { id: 2 }] }], keep: 1 } }
  const cases: [why: string, patch: Map, want: Map][] = [
    [
      'items merge inside items',
      { a: { list: [{ name: 'x', inner: [{ id: 1, v: 'b' }] }] } },
      { a: { list: [{ name: 'x', inner: [{ id: 1, v: 'b' }, { id: 2 }] }], keep: 1 } },
    ],
    ['a map can be replaced', { a: { $patch: 'replace', n: 1 } }, { a: { n: 1 } }],
    [
      'an item can be deleted',
      { a: { list: [{ name: 'x', $patch: 'delete' }] } },
      { a: { list: [], keep: 1 } },
    ],
    [
      'deleting what is not there is nothing',
      { a: { list: [{ name: 'q', $patch: 'delete' }] } },
      target,
    ],
    ['only what is retained stays', { a: { $retainKeys: ['keep'] } }, { a: { keep: 1 } }],
  ]
  for (const [why, patch, want] of cases)
    t.strictSame(strategicPatch(target, patch, KEYS), want, why)
  t.throws(() => strategicPatch(target, { a: { list: [{ v: 1 }] } }, KEYS), Refusal)
  t.end()
})

const object = (labels: Record<string, string>, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n', uid: '', resourceVersion: '1', creationTimestamp: '', labels },
  ...more,
})

t.test('label selectors', t => {
  const cases: [selector: string, labels: Record<string, string>, want: boolean][] = [
    ['', {}, true],
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['a=', { a: '' }, true],
    ['x.io/a=b, c!=d', { 'x.io/a': 'b' }, true],
    ['a in (b, c),d notin (e)', { a: 'c', d: 'f' }, true],
    ['a in (b,)', { a: '' }, true],
    ['a>5', { a: '6' }, true],
    ['a<5', { a: '6' }, false],
    ['a<5', { a: 'x' }, false],
    ['constructor', {}, false],
    ['constructor!=x', {}, true],
  ]
  for (const [selector, labels, want] of cases)
    t.equal(
      parseLabelSelector(selector)(object(labels)),
      want,
      `${selector} ${JSON.stringify(labels)}`,
    )
  for (const broken of [',', 'a,', 'a in b', 'a==b==c', '(', 'a in (b', '-a', 'a=b c', 'é'])
    t.equal(
      refusal(() => parseLabelSelector(broken)),
      400,
      `${broken} is refused`,
    )
  const label = fc.constantFrom('a', 'b')
  fc.assert(
    fc.property(fc.dictionary(label, label), label, label, (labels, key, value) => {
      const one = object(labels)
      const says = (selector: string): boolean => parseLabelSelector(selector)(one)
      t.equal(says(`${key}=${value}`), !says(`${key}!=${value}`))
      t.equal(says(`${key} in (${value})`), !says(`${key} notin (${value})`))
      t.equal(says(key), !says(`!${key}`))
    }),
  )
  t.end()
})

t.test('field selectors', t => {
  const paths = { 'spec.clusterIP': 'spec.clusterIP', flag: 'spec.flag=false' }
  const says = (selector: string, spec: object): boolean =>
    parseFieldSelector(selector, paths)(object({}, { spec }))
  t.ok(says('spec.clusterIP!=None', { clusterIP: '10.0.0.1' }))
  t.notOk(says('spec.clusterIP!=None', { clusterIP: 'None' }))
  t.ok(says('spec.clusterIP!=None', {}))
  t.ok(says('flag=false,spec.clusterIP==', {}), 'an absent flag is false')
  t.ok(says(String.raw`spec.clusterIP=a\,b`, { clusterIP: 'a,b' }), 'commas may be escaped')
  t.equal(
    refusal(() => says('constructor=x', {})),
    400,
  )
  t.end()
})

t.test('the store knows how things were', t => {
  const step = fc.record({ name: fc.constantFrom('a', 'b', 'c'), isGone: fc.boolean() })
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 30 }),
      fc.integer({ min: 1, max: 40 }),
      (steps, keep) => {
        const store = new Store(keep)
        const seen: [version: number, names: string[]][] = [[store.version, []]]
        for (const { name, isGone } of steps) {
          const old = store.get('nodes', undefined, name)
          if (!isGone)
            store.put('nodes', { ...object({}), metadata: { ...object({}).metadata, name } })
          else if (old !== undefined) store.remove('nodes', old)
          seen.push([store.version, store.list('nodes').map(one => one.metadata.name)])
        }
        let isKnown = false
        for (const [version, names] of seen) {
          const then = store.listAt('nodes', undefined, version)
          if (then !== undefined)
            t.strictSame(
              then.map(one => one.metadata.name),
              names,
            )
          t.notOk(isKnown && then === undefined, 'what is remembered has no holes')
          isKnown = then !== undefined
          t.equal(store.eventsAfter('nodes', version) === undefined, then === undefined)
        }
        t.ok(isKnown, 'the present is always known')
      },
    ),
  )
  t.end()
})
