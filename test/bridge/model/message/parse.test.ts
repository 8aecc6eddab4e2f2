// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { writeExactJson } from '../../../../core/exact-json.js'
import { InvalidInputError } from '../../../../core/errors.js'
import { frameOf } from '../../../../bridge/model/message/frame.js'
import type { Message } from '../../../../bridge/model/message/message.js'
import { parseMessage } from '../../../../bridge/model/message/parse.js'
import fc from '../../../../testkit/properties.js'

const LEASE_QUERY =
  '{"header":{"msg_id":"7d0a1c58-0001-4000-8000-000000000001","timestamp":1790000000000},"route":{"source":"edged","group":"meta","operation":"query","resource":"kube-node-lease/lease/shop-1"},"content":null}\n'
const ACK =
  '{"header":{"msg_id":"7d0a1c58-0001-4000-8000-000000000002","parent_msg_id":"c0","timestamp":0,"resourceversion":"12","sync":true,"type":"channel"},"route":{"source":"edgecontroller","group":"resource","destination":"x","operation":"response","resource":"shop/configmap/prices"},"content":"OK"}'

t.test('frames as edges write them', t => {
  t.strictSame(parseMessage(LEASE_QUERY), {
    id: '7d0a1c58-0001-4000-8000-000000000001',
    parentId: undefined,
    timestamp: 1_790_000_000_000,
    resourceVersion: undefined,
    source: 'edged',
    group: 'meta',
    operation: 'query',
    resource: 'kube-node-lease/lease/shop-1',
    content: null,
  })
  t.match(parseMessage(ACK), { parentId: 'c0', resourceVersion: '12', content: 'OK' })
  t.notOk('sync' in parseMessage(ACK), 'what nobody reads is left out')
  t.equal(frameOf(parseMessage(LEASE_QUERY)), LEASE_QUERY, 'and written as it was')
  const bare = '{"header":{"msg_id":"a","timestamp":1},"route":{}}'
  t.match(parseMessage(bare), { source: '', group: '', operation: '', resource: '', content: null })
  t.match(
    parseMessage(bare.replace('{}}', '{},"content":"\\u003cb\\u003e"}')),
    { content: '<b>' },
    "Go's escapes are read",
  )
  t.end()
})

const frame = (header: unknown, route: unknown = {}): string =>
  JSON.stringify({ header, route, content: 'a secret' })
const header = { msg_id: 'a', timestamp: 1 }

t.test('an error names the field, the rule and the value', t => {
  const rows: [claim: string, frame: string, message: string][] = [
    ['no JSON', 'ping', 'frame must be JSON, got "text of 4 characters"'],
    ['no object', '[]', 'frame must be an object, got "a list"'],
    ['no header', '{"route":{}}', 'frame: header must be an object, got "undefined"'],
    ['a header that is a list', frame([]), 'frame: header must be an object, got "a list"'],
    ['no route', '{"header":{}}', 'frame: route must be an object, got "undefined"'],
    ['no id', frame({ timestamp: 1 }), 'frame: header.msg_id must be given, got ""'],
    [
      'an id that is none',
      frame({ ...header, msg_id: 7 }),
      'frame: header.msg_id must be text, got "number"',
    ],
    [
      'a long id',
      frame({ ...header, msg_id: 'a'.repeat(129) }),
      `frame: header.msg_id must be at most 128 characters long, got "${'a'.repeat(79)}…`,
    ],
    [
      'a line feed in a parent',
      frame({ ...header, parent_msg_id: 'a\nb' }),
      'frame: header.parent_msg_id must be printable ASCII characters, got "a\\nb"',
    ],
    [
      'a resource of two kilobytes',
      frame(header, { resource: 'a'.repeat(1025) }),
      `frame: route.resource must be at most 1024 characters long, got "${'a'.repeat(79)}…`,
    ],
    [
      'an operation that is a list',
      frame(header, { operation: ['query'] }),
      'frame: route.operation must be text, got "a list"',
    ],
    [
      'no time',
      frame({ msg_id: 'a' }),
      'frame: header.timestamp must be a whole number of milliseconds, not negative, got "undefined"',
    ],
    [
      'half a millisecond',
      frame({ msg_id: 'a', timestamp: 0.5 }),
      'frame: header.timestamp must be a whole number of milliseconds, not negative, got 0.5',
    ],
    [
      'before all time',
      frame({ msg_id: 'a', timestamp: -1 }),
      'frame: header.timestamp must be a whole number of milliseconds, not negative, got -1',
    ],
  ]
  for (const [claim, frame, message] of rows)
    t.throws(() => parseMessage(frame), { message, code: 'INVALID_INPUT' }, claim)
  t.end()
})

const text = (maxLength: number) =>
  fc.string({
    maxLength,
    unit: fc.constantFrom('a', 'Z', '0', '-', '/', ':', ' ', '"', '\\', '<', '&'),
  })
const message: fc.Arbitrary<Message> = fc.record(
  {
    id: text(128).filter(id => id !== ''),
    parentId: fc.option(
      text(128).filter(id => id !== ''),
      { nil: undefined },
    ),
    timestamp: fc.nat(999_999_999_999_999),
    resourceVersion: fc.option(
      text(64).filter(id => id !== ''),
      { nil: undefined },
    ),
    source: text(64),
    group: text(64),
    operation: text(64),
    resource: text(300),
    content: fc.jsonValue({ maxDepth: 5 }),
  },
  { noNullPrototype: true },
)

t.test('what is written is read again, on one line', t => {
  fc.assert(
    fc.property(message, message => {
      const frame = frameOf(message)
      t.equal(frame.indexOf('\n'), frame.length - 1)
      // JSON knows no negative zero.
      const content: unknown = JSON.parse(JSON.stringify(message.content))
      const parsed = parseMessage(frame)
      t.strictSame({ ...parsed, content: null }, { ...message, content: null })
      t.equal(writeExactJson(parsed.content), JSON.stringify(content))
    }),
  )
  t.equal(
    frameOf({ ...parseMessage(ACK), parentId: '', content: undefined }).includes('parent'),
    false,
    'an empty parent is none',
  )
  t.end()
})

t.test('whatever comes, it is a message or a refusal', t => {
  const frames = [LEASE_QUERY, ACK, frame(header, { operation: 'x' })]
  const broken = fc
    .tuple(fc.constantFrom(...frames), fc.nat(400), fc.nat(20), fc.string())
    .map(([frame, at, cut, put]) => frame.slice(0, at) + put + frame.slice(at + cut))
  fc.assert(
    fc.property(fc.oneof(broken, fc.string(), fc.json()), frame => {
      try {
        return typeof parseMessage(frame).id === 'string'
      } catch (error) {
        return error instanceof InvalidInputError && error.message.length < 300
      }
    }),
    { numRuns: 2000 },
  )
  t.end()
})

t.test('numbers of 16 digits and more survive a frame and its answer', t => {
  const pod = '{"spec":{"tolerations":[{"tolerationSeconds":9223372036854775807}]}}'
  const frame = LEASE_QUERY.replace('"content":null', `"content":${pod}`)
  t.match(frame, '9223372036854775807')
  t.equal(frameOf(parseMessage(frame)), frame)
  t.throws(
    () => parseMessage(frame.replace(/"timestamp":\d+/, '"timestamp":12345678901234567')),
    /header.timestamp must be a whole number of milliseconds, not negative, got "string"/,
  )
  t.end()
})
