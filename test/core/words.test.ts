// SPDX-License-Identifier: Apache-2.0
// core: names, errors, parsers, rosters, chance, log.
import fc from '../../testkit/properties.js'
import * as v from 'valibot'
import t from 'tap'
import {
  CredentialsError,
  EdgeHealthError,
  InvalidInputError,
  KubeStatusError,
  KubeUnreachableError,
  ListenError,
  PeerUnreachableError,
  reasonOf,
  show,
  TimeoutError,
  WithheldError,
} from '../../core/errors.js'
import { id64, parseNodeName, parseZoneName, type NodeName } from '../../core/ids.js'
import { silentLog } from '../../core/log.js'
import { parseJson, parseWith } from '../../core/parse.js'
import { jitter, shuffle, systemRandom } from '../../core/random.js'
import { isRosterOf, makeRoster } from '../../core/roster.js'
import { seededRandom } from '../../testkit/seeded-random.js'

t.test('node names are RFC 1123 subdomains', t => {
  for (const name of ['a', 'edge-1', '10.0.0.7', 'a.b-c', 'x'.repeat(253)])
    t.equal(parseNodeName(name), name)
  for (const bad of ['', 'A', '-a', 'a-', '.a', 'a_b', 'a b', 'x'.repeat(254), 7, null, undefined])
    t.throws(() => parseNodeName(bad), { code: 'INVALID_INPUT', thing: 'node name', value: bad })
  t.end()
})

t.test('zone names are printable and may be empty', t => {
  for (const name of ['', 'zone a/1', '~', 'x'.repeat(1024)]) t.equal(parseZoneName(name), name)
  for (const bad of ['a\n', 'ü', 'x'.repeat(1025), 7, undefined])
    t.throws(() => parseZoneName(bad), { code: 'INVALID_INPUT', thing: 'zone name' })
  t.end()
})

t.test('id64 is the head of SHA-256, big endian', t => {
  t.equal(id64(''), 0xe3b0c44298fc1c14n)
  t.equal(id64('abc'), 0xba7816bf8f01cfean)
  t.end()
})

t.test('a value in a message is one short line', t => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const cases: [value: unknown, text: string][] = [
    ['a\nb', '"a\\nb"'],
    [{ a: 1 }, '{"a":1}'],
    [undefined, 'undefined'],
    [10n, '10'],
    [circle, '[object Object]'],
    ['x'.repeat(100), `"${'x'.repeat(79)}…`],
  ]
  for (const [value, text] of cases) t.equal(show(value), text)
  t.end()
})

t.test('each error carries its code, its name and its fields', t => {
  const cause = new Error('connect ECONNREFUSED')
  const status = { status: 429, reason: 'TooManyRequests', message: '', retryAfterMs: 1_000 }
  const cases: [error: EdgeHealthError, want: object][] = [
    [
      new InvalidInputError('port', 'must be a number', 'x', { cause }),
      {
        code: 'INVALID_INPUT',
        name: 'InvalidInputError',
        message: 'port must be a number, got "x"',
        thing: 'port',
        rule: 'must be a number',
        value: 'x',
        cause,
      },
    ],
    [new TimeoutError(5), { code: 'TIMEOUT', message: 'no answer within 5 ms', ms: 5 }],
    [
      new PeerUnreachableError('b', 'refused', { cause }),
      { code: 'PEER_UNREACHABLE', message: 'peer b unreachable: refused', peer: 'b', cause },
    ],
    [
      new KubeStatusError('GET /api', status),
      {
        code: 'KUBE_STATUS',
        message: 'GET /api: 429 TooManyRequests',
        status: 429,
        reason: 'TooManyRequests',
        retryAfterMs: 1_000,
      },
    ],
    [
      new KubeStatusError('PATCH', { status: 409, reason: 'Conflict', message: 'try again' }),
      { message: 'PATCH: 409 Conflict: try again', retryAfterMs: undefined },
    ],
    [
      new KubeUnreachableError('GET /api', 'refused', { cause }),
      { code: 'KUBE_UNREACHABLE', message: 'GET /api: refused', cause },
    ],
    [
      new WithheldError('PATCH /api', 'it changed'),
      { code: 'WITHHELD', message: 'PATCH /api: not sent, it changed' },
    ],
    [new CredentialsError('no token', { cause }), { code: 'CREDENTIALS', message: 'no token' }],
    [
      new ListenError('10.0.0.1:51005', 'in use', { cause }),
      { code: 'LISTEN', message: 'cannot listen on 10.0.0.1:51005: in use', cause },
    ],
  ]
  for (const [error, want] of cases) {
    t.ok(error instanceof EdgeHealthError)
    t.match(error, want)
  }
  t.end()
})

t.test('the one line of a failure', t => {
  const inner = new Error('ECONNREFUSED')
  const cases: [error: unknown, want: string][] = [
    ['just text', '"just text"'],
    [new Error('plain'), 'plain'],
    [new RangeError(''), 'RangeError'],
    [new Error('outer', { cause: inner }), 'outer (ECONNREFUSED)'],
    [new Error('outer: ECONNREFUSED', { cause: inner }), 'outer: ECONNREFUSED'],
    [new Error('outer', { cause: 7 }), 'outer (7)'],
  ]
  for (const [error, want] of cases) t.equal(reasonOf(error), want)
  t.end()
})

t.test('input is parsed once, and refused with path, rule and value', t => {
  const schema = v.object({
    data: v.object({ port: v.pipe(v.number(), v.maxValue(10, 'must be at most 10')) }),
  })
  t.strictSame(parseWith(schema, 'thing', { data: { port: 5 } }), { data: { port: 5 } })
  const cases: [value: unknown, message: string][] = [
    [{ data: { port: 'x' } }, 'thing: data.port must be number, got "x"'],
    [{ data: { port: 11 } }, 'thing: data.port must be at most 10, got 11'],
    [7, 'thing must be Object, got 7'],
  ]
  for (const [value, message] of cases)
    t.throws(() => parseWith(schema, 'thing', value), { code: 'INVALID_INPUT', message })
  t.throws(
    () =>
      parseWith(
        v.custom(() => false),
        'thing',
        1,
      ),
    { message: 'thing must be unknown, got 1' },
  )
  const wordless = v.custom(() => false)
  t.throws(() => parseWith({ ...wordless, expects: null as never }, 'thing', 1), {
    message: /^thing must be /,
  })
  t.strictSame(parseJson('file', '{"a":[1]}'), { a: [1] })
  t.throws(() => parseJson('file', '{'), {
    code: 'INVALID_INPUT',
    message: 'file must be JSON, got "{"',
    cause: { name: 'SyntaxError' },
  })
  t.end()
})

const nameOf = (text: string): NodeName => parseNodeName(text)
const members = (...names: string[]) =>
  names.map((name, index) => ({ name: nameOf(name), address: `10.0.0.${index + 1}` }))
const zone = parseZoneName('z')

t.test('a roster is the same on all agents, whatever the order of the list', t => {
  const list = members('a', 'b', 'c')
  const one = makeRoster(zone, nameOf('a'), list)
  const other = makeRoster(zone, nameOf('b'), [...list].reverse())
  t.equal(one.hash, other.hash)
  t.strictSame(one.members, other.members)
  t.ok(one.members.every((member, i) => i === 0 || one.members[i - 1]!.id < member.id))
  t.equal(one.members[one.self]?.name, 'a')
  t.equal(other.members[other.self]?.name, 'b')
  for (const [index, { name, id, address }] of one.members.entries()) {
    t.equal(one.indexOf(name), index)
    t.equal(one.indexOfId(id), index)
    t.equal(one.indexOfAddress(address), index)
  }
  t.equal(one.indexOf('z'), undefined)
  t.equal(one.indexOfId(0n), undefined)
  t.equal(one.indexOfAddress('10.0.0.9'), undefined)
  t.strictSame(one.sharersOf(0), [])
  const twins = makeRoster(zone, nameOf('a'), [
    ...members('a', 'b'),
    { name: nameOf('c'), address: list[1]!.address },
  ])
  t.equal(twins.indexOfAddress(list[1]!.address), undefined, 'FA6: an address of two is nobody')
  t.equal(twins.hasAddress(list[1]!.address), true, 'but members have it')
  t.equal(twins.hasAddress('10.0.0.9'), false)
  t.strictSame(twins.sharersOf(twins.indexOf('b')!), ['c'])
  t.ok(Object.isFrozen(one) && Object.isFrozen(one.members))
  t.not(makeRoster(parseZoneName('y'), nameOf('a'), list).hash, one.hash, 'another zone')
  t.not(makeRoster(zone, nameOf('a'), members('a', 'b')).hash, one.hash, 'another member')
  t.end()
})

t.test('a roster holds the own node, and each name once', t => {
  t.throws(() => makeRoster(zone, nameOf('x'), members('a', 'b')), {
    message: 'roster must contain the own node x, got ["b","a"]',
  })
  t.throws(() => makeRoster(zone, nameOf('a'), []), { code: 'INVALID_INPUT' })
  t.throws(() => makeRoster(zone, nameOf('a'), members('a', 'b', 'b')), {
    message: /must name each node once/,
  })
  t.end()
})

t.test('a roster goes on while zone, own node, names and addresses are the same', t => {
  const list = members('a', 'b')
  const one = makeRoster(zone, nameOf('a'), list)
  const moved = [list[0]!, { ...list[1]!, address: '10.0.0.9' }]
  const another = [list[0]!, { ...list[1]!, name: nameOf('c') }]
  t.ok(isRosterOf(one, zone, nameOf('a'), [...list].reverse()), 'in any order')
  t.notOk(isRosterOf(one, parseZoneName('y'), nameOf('a'), list), 'another zone')
  t.notOk(isRosterOf(one, zone, nameOf('b'), list), 'another self')
  t.notOk(isRosterOf(one, zone, nameOf('a'), members('a')), 'fewer')
  t.notOk(isRosterOf(one, zone, nameOf('a'), members('a', 'b', 'c')), 'more')
  t.notOk(isRosterOf(one, zone, nameOf('a'), moved), 'another address')
  t.notOk(isRosterOf(one, zone, nameOf('a'), another), 'another name')
  t.end()
})

t.test('chance', t => {
  for (let i = 0; i < 100; i++) {
    const n = systemRandom.below(3)
    t.ok(Number.isInteger(n) && n >= 0 && n < 3)
  }
  t.equal(systemRandom.below(1), 0)
  t.not(systemRandom.bits64(), systemRandom.bits64())
  t.ok(systemRandom.bits64() < 2n ** 64n)
  const least = { ...systemRandom, below: () => 0 }
  const most = { ...systemRandom, below: (n: number) => n - 1 }
  t.equal(jitter(least, 10_000, 0.1), 9_000)
  t.equal(Math.round(jitter(most, 10_000, 0.1)), 11_000)
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.nat(), (list, seed) => {
      const before = [...list]
      const mixed = shuffle(seededRandom(seed), list)
      const sorted = (some: number[]): string => some.toSorted((a, b) => a - b).join()
      return sorted(mixed) === sorted(list) && before.join() === list.join()
    }),
  )
  const random = seededRandom(1)
  const firsts = new Set(Array.from({ length: 50 }, () => shuffle(random, [1, 2, 3])[0]))
  t.equal(firsts.size, 3, 'each may come first')
  t.end()
})

t.test('the silent log takes everything and says nothing', t => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    t.doesNotThrow(() => silentLog[level]('message', { a: 1 }))
  t.end()
})
