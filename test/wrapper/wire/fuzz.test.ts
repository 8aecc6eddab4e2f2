// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { openEnvelope, splitList } from '../../../wrapper/wire/envelope.js'
import { pruneEndpoints, readEndpoints } from '../../../wrapper/wire/endpoints.js'
import { FrameReader, watchFrame } from '../../../wrapper/wire/frames.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import type { JsonMap } from '../../../wrapper/wire/kinds.js'
import { localRewrite } from '../../../wrapper/wire/local-rewrite.js'
import { readAnnotation, readLabels, readMeta, withVersion } from '../../../wrapper/wire/meta.js'
import { readUnschedulable } from '../../../wrapper/wire/node.js'
import {
  isScalar,
  messageOf,
  type Field,
  type Message,
  type Shape,
} from '../../../wrapper/wire/schema.js'
import { readService } from '../../../wrapper/wire/service.js'
import { Sink } from '../../../wrapper/wire/sink.js'
import { pruneSlice, readSlice } from '../../../wrapper/wire/slice.js'
import { toJson } from '../../../wrapper/wire/to-json.js'
import { asV1beta1 } from '../../../wrapper/wire/v1beta1.js'
import { WireError } from '../../../wrapper/wire/wire-error.js'
import fc from '../../../testkit/properties.js'
import { realBodies } from '../real-bodies.js'

const SHAPES: readonly Shape[] = [
  'Node',
  'Service',
  'Endpoints',
  'EndpointSlice',
  'EndpointSliceV1beta1',
  'ServiceCIDR',
  'Status',
  'ListMeta',
]

/** What `work` gives; undefined when it refuses with a WireError; any other error is a finding. */
const orRefusal = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch (error) {
    if (error instanceof WireError) return undefined
    throw error
  }
}

const READERS: readonly ((bytes: Uint8Array) => unknown)[] = [
  readMeta,
  readLabels,
  bytes => readAnnotation(bytes, 'topologyKeys'),
  readUnschedulable,
  readService,
  bytes => readSlice(bytes).endpoints.map(({ address }) => address),
  bytes => readEndpoints(bytes).endpoints.map(({ address }) => address),
  bytes => splitList(bytes).items.map(item => item.length),
]
const WRITERS: readonly ((bytes: Uint8Array) => Uint8Array)[] = [
  bytes => withVersion(bytes, '1'),
  bytes => pruneSlice(bytes, (_, at) => at % 2 === 0),
  bytes => pruneEndpoints(bytes, (_, at) => at % 2 === 0),
  bytes => localRewrite('EndpointSlice', bytes, { address: '::1', port: 1 }),
  asV1beta1,
]

/** An empty message of two bytes becomes an object with names: this much larger, and no larger. */
const boundOf = (bytes: Uint8Array): number => 100 * bytes.length + 10_000

/** Feed the bytes to everything. */
const tryAll = (bytes: Uint8Array): boolean => {
  for (const read of READERS) orRefusal(() => read(bytes))
  for (const write of WRITERS) {
    const written = orRefusal(() => write(bytes))
    if (written !== undefined && written.length > boundOf(bytes)) return false
  }
  for (const shape of SHAPES) {
    const json = orRefusal(() => toJson(shape, bytes))
    if (json !== undefined && JSON.stringify(json).length > boundOf(bytes)) return false
    // What was understood can be written, and is understood again.
    if (json !== undefined) toJson(shape, orRefusal(() => fromJson(shape, json)) ?? bytes)
  }
  return true
}

const opened = realBodies.bodies.map(({ protobuf }) => openEnvelope(protobuf).raw)

t.test('corrupt bodies are parsed or refused, nothing else', t => {
  const spoil = fc.record({
    raw: fc.constantFrom(...opened),
    flips: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
    end: fc.option(fc.nat()),
    inserted: fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 12 })),
  })
  fc.assert(
    fc.property(spoil, ({ raw, flips, end, inserted: [place, more] }) => {
      const bytes = Buffer.from(end === null ? raw : raw.subarray(0, end % (raw.length + 1)))
      if (bytes.length > 0) for (const [at, byte] of flips) bytes[at % bytes.length] = byte
      const at = place % (bytes.length + 1)
      return tryAll(Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]))
    }),
    { numRuns: 600 },
  )
  t.end()
})

t.test('random bytes', t => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), tryAll), { numRuns: 600 })
  t.end()
})

t.test('spoiled envelopes and frames', t => {
  const body = realBodies.bodies[0]!.protobuf
  const frame = watchFrame('ADDED', body)
  fc.assert(
    fc.property(fc.nat(frame.length - 1), fc.nat(255), (at, byte) => {
      const spoiled = Uint8Array.from(frame)
      spoiled[at] = byte
      const frames = orRefusal(() => new FrameReader(2 ** 20).push(spoiled)) ?? []
      for (const { body } of frames) orRefusal(() => openEnvelope(body))
      return frames.length <= 1
    }),
    { numRuns: 2000 },
  )
  t.end()
})

t.test('a million empty endpoints', t => {
  const bytes = new Uint8Array(2_000_000)
  for (let at = 0; at < bytes.length; at += 2) bytes[at] = 0x12
  t.equal(readSlice(bytes).endpoints.length, 1_000_000)
  t.equal(pruneSlice(bytes, () => false).length, 0)
  t.end()
})

const text = fc.string({ minLength: 1, maxLength: 8 })
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'zone'))
const time = fc
  .date({
    min: new Date('0001-01-02T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  })
  .map(date => `${date.toISOString().slice(0, 19)}Z`)
const int32 = fc.integer().filter(value => value !== 0)
const SIMPLE: Readonly<Record<Extract<Field['type'], string>, fc.Arbitrary<unknown>>> = {
  string: text,
  bool: fc.constant(true),
  int32,
  int64: fc.maxSafeInteger().filter(value => value !== 0),
  Time: time,
  Quantity: fc.constantFrom('100m', '8Gi', '0'),
  IntOrString: fc.oneof(int32, text),
  FieldsV1: fc.dictionary(text, fc.constant({}), { noNullPrototype: true }),
}

/** A field as the apiserver may write it: undefined where it would leave it out. */
const fieldOf = ({ type, form, absence }: Field): fc.Arbitrary<unknown> => {
  const one = typeof type === 'string' ? SIMPLE[type] : objectOf(type)
  if (form === 'list') {
    const absent = absence === 'always' ? null : undefined
    return fc.array(one, { maxLength: 2 }).map(list => (list.length === 0 ? absent : list))
  }
  if (form === 'map')
    return fc
      .array(fc.tuple(key, one), { maxLength: 3 })
      .map(pairs => (pairs.length === 0 ? undefined : Object.fromEntries(pairs)))
  const isOptional = absence === 'pointer' || absence === 'omitzero'
  return isOptional || (absence === 'omitempty' && isScalar(type))
    ? fc.option(one, { nil: undefined })
    : one
}

const objectOf = (message: Message): fc.Arbitrary<JsonMap> =>
  fc
    .tuple(...message.fields.map(fieldOf))
    .map(values =>
      Object.fromEntries(
        message.fields
          .map(({ name }, at) => [name, values[at]] as const)
          .filter(([, value]) => value !== undefined),
      ),
    )

t.test('any object of any kind comes back from its bytes', t => {
  for (const shape of SHAPES)
    fc.assert(
      fc.property(objectOf(messageOf(shape)), json => {
        const bytes = fromJson(shape, json)
        t.strictSame(toJson(shape, bytes), json, shape)
        return Buffer.compare(fromJson(shape, toJson(shape, bytes)), bytes) === 0
      }),
      { numRuns: 40 },
    )
  t.end()
})

t.test('JSON that is no such object is refused', t => {
  const rows: [why: string, shape: Shape, json: JsonMap, rule: RegExp][] = [
    ['text', 'Node', { metadata: { name: 7 } }, /ObjectMeta.name must be text/],
    [
      'a truth value',
      'Node',
      { spec: { unschedulable: 'yes' } },
      /unschedulable must be true or false/,
    ],
    [
      'a whole number',
      'Node',
      { metadata: { generation: 1.5 } },
      /generation must be a whole number/,
    ],
    [
      'a whole number that is text',
      'Node',
      { metadata: { generation: '1' } },
      /generation must be a whole number/,
    ],
    [
      'a port of 33 bits',
      'Service',
      { spec: { ports: [{ port: 2 ** 31 }] } },
      /port must fit 32 bits/,
    ],
    [
      'a port of minus 33 bits',
      'Service',
      { spec: { ports: [{ port: -(2 ** 31) - 1 }] } },
      /port must fit 32 bits/,
    ],
    [
      'a target port',
      'Service',
      { spec: { ports: [{ targetPort: true }] } },
      /targetPort must be a whole number/,
    ],
    [
      'a time',
      'Node',
      { metadata: { creationTimestamp: 'yesterday' } },
      /creationTimestamp must be a time/,
    ],
    [
      'a day that is none',
      'Node',
      { metadata: { creationTimestamp: '2026-13-01T00:00:00Z' } },
      /must be a time/,
    ],
    ['a quantity', 'Node', { status: { capacity: { cpu: true } } }, /capacity must be text/],
    ['a list', 'Endpoints', { subsets: {} }, /subsets must be a list/],
    ['a map', 'Node', { metadata: { labels: [] } }, /labels must be an object/],
    ['an object', 'Node', { metadata: 'x' }, /metadata must be an object/],
    ['an object in a list', 'Endpoints', { subsets: [null] }, /subsets must be an object/],
  ]
  for (const [why, shape, json, rule] of rows)
    t.throws(() => fromJson(shape, json), { name: 'WireError', message: rule }, why)
  t.end()
})

t.test('JSON that clients may write differently from the apiserver', t => {
  const again = (shape: Shape, json: JsonMap): JsonMap => toJson(shape, fromJson(shape, json))
  t.match(again('Node', { status: { capacity: { cpu: 4, memory: '' } } }), {
    status: { capacity: { cpu: '4', memory: '0' } },
  })
  t.match(again('Node', { metadata: { creationTimestamp: '2026-01-02T03:04:05.678+02:00' } }), {
    metadata: { creationTimestamp: '2026-01-02T01:04:05Z' },
  })
  const odd = '"\\\n\u0001\u007fé\u2028😀'
  t.match(again('Node', { metadata: { labels: { [odd]: odd } } }), {
    metadata: { labels: { [odd]: odd } },
  })
  t.strictSame(again('Node', { metadata: null, kind: 'Node', surprise: 1 })['metadata'], {})
  t.strictSame(again('Node', { metadata: { creationTimestamp: null } })['metadata'], {})
  t.end()
})

t.test('protobuf that Go would write differently', t => {
  const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')
  const isWireError = { name: 'WireError' }
  t.match(
    toJson('Node', hex('0a03 0a0161 0a03 1a0162')),
    { metadata: { name: 'a', namespace: 'b' } },
    'one message twice',
  )
  t.throws(() => toJson('Node', hex('0a 06 8a01 03 3a01 7b')), isWireError, 'a truncated entry')
  // metadata.managedFields[0].fieldsV1.raw
  t.throws(() => toJson('Node', hex('0a 09 8a01 06 3a04 0a02 7b7b')), /fieldsV1 must be JSON/)
  t.match(toJson('Node', hex('0a 05 8a01 02 3a00')), {
    metadata: { managedFields: [{ fieldsV1: null }] },
  })
  const created = (seconds: number): Uint8Array =>
    new Sink(0).message(1, meta => meta.message(8, time => time.number(1, seconds))).take()
  for (const [seconds, creationTimestamp] of [
    [253_402_300_800, '10000-01-01T00:00:00Z'],
    [-62_135_596_801, '0000-12-31T23:59:59Z'],
  ] as const)
    t.match(toJson('Node', created(seconds)), { metadata: { creationTimestamp } })
  t.strictSame(toJson('Node', created(-62_135_596_800))['metadata'], {}, 'the zero time of Go')
  // A label without a value, a capacity without one, and a port of 33 bits.
  t.match(toJson('Node', hex('0a 05 5a 03 0a01 61  1a 05 0a 03 0a01 62')), {
    metadata: { labels: { a: '' } },
    status: { capacity: { b: '0' } },
  })
  t.match(
    toJson('Node', hex('1a 05 0a 03 0a01 62  0a 05 5a 03 0a01 61')),
    { metadata: { labels: { a: '' } }, status: { capacity: { b: '0' } } },
    'fields in another order',
  )
  t.strictSame(
    toJson('Node', hex('0a 07 5a 05 0a 03 61ff62'))['metadata'],
    { labels: { 'a\ufffdb': '' } },
    'text that is no UTF-8',
  )
  t.match(toJson('Service', hex('12 08 0a 06 18 8180808010')), { spec: { ports: [{ port: 1 }] } })
  t.end()
})
