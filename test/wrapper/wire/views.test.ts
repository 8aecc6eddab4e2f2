// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { envelope, listChunks, openEnvelope, splitList } from '../../../wrapper/wire/envelope.js'
import { readEndpoints } from '../../../wrapper/wire/endpoints.js'
import { FrameReader, watchFrame, type Frame } from '../../../wrapper/wire/frames.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import type { JsonMap } from '../../../wrapper/wire/kinds.js'
import { readAnnotation, readLabels, readMeta, withVersion } from '../../../wrapper/wire/meta.js'
import type { Shape } from '../../../wrapper/wire/schema.js'
import { readService } from '../../../wrapper/wire/service.js'
import { Sink } from '../../../wrapper/wire/sink.js'
import { readSlice } from '../../../wrapper/wire/slice.js'
import { toJson } from '../../../wrapper/wire/to-json.js'
import { asV1beta1 } from '../../../wrapper/wire/v1beta1.js'
import fc from '../../../testkit/properties.js'
import { realBodies } from '../real-bodies.js'

const isWireError = { name: 'WireError', code: 'MALFORMED_WIRE' }
const real = (name: string): { readonly raw: Uint8Array; readonly json: JsonMap } => {
  const body = realBodies.bodies.find(body => body.name === name)!
  return { raw: openEnvelope(body.protobuf).raw, json: body.json }
}

t.test('metadata', t => {
  for (const { json, protobuf } of realBodies.bodies) {
    const meta = json['metadata'] as Readonly<Record<string, string | object | undefined>>
    if (meta['name'] === undefined) continue
    const read = readMeta(openEnvelope(protobuf).raw)
    t.strictSame(
      {
        ...read,
        labels: { ...Object.fromEntries(read.labels) },
        annotations: { ...Object.fromEntries(read.annotations) },
      },
      {
        name: meta['name'],
        namespace: meta['namespace'] ?? '',
        uid: meta['uid'],
        version: meta['resourceVersion'],
        labels: meta['labels'] ?? {},
        annotations: meta['annotations'] ?? {},
      },
    )
  }
  t.match(readMeta(new Uint8Array(0)), { name: '', version: '', labels: new Map() }, 'none at all')
  const { raw } = real('Node rich')
  t.equal(readLabels(raw).get('zone'), 'a')
  t.equal(readAnnotation(raw, 'empty'), '')
  t.equal(readAnnotation(raw, 'absent'), undefined)
  t.end()
})

t.test('a new version, and no other change', t => {
  const shapes = realBodies.bodies.filter(({ json }) => json['kind'] !== 'Status')
  const version = fc.oneof(fc.nat().map(String), fc.string({ maxLength: 300 }))
  fc.assert(
    fc.property(fc.constantFrom(...shapes), version, ({ protobuf }, version) => {
      const { kind, raw } = openEnvelope(protobuf)
      const changed = withVersion(raw, version)
      const { metadata, ...rest } = toJson(kind as Shape, changed)
      const { resourceVersion, ...others } = metadata as JsonMap
      const { metadata: before, ...restBefore } = toJson(kind as Shape, raw)
      const { resourceVersion: old, ...othersBefore } = before as JsonMap
      t.strictSame([rest, others], [restBefore, othersBefore])
      return (
        (resourceVersion ?? '') === version &&
        Buffer.compare(withVersion(changed, String(old)), raw) === 0
      )
    }),
    { numRuns: 300 },
  )
  const bare = fromJson('Node', { metadata: { name: 'x', uid: 'u', labels: { a: 'b' } } })
  t.equal(readMeta(withVersion(bare, '7')).version, '7')
  t.strictSame(
    Buffer.from(withVersion(bare, '')),
    Buffer.from(bare),
    'an empty one is what Go writes for none',
  )
  // Without the field: it goes where it belongs.
  const without = new Sink(0)
    .message(1, meta =>
      meta
        .text(1, 'x')
        .text(5, 'u')
        .message(11, pair => pair.text(1, 'a')),
    )
    .number(2, 9)
    .take()
  const written = withVersion(without, '7')
  t.strictSame(
    Buffer.from(written),
    Buffer.from(
      new Sink(0)
        .message(1, meta =>
          meta
            .text(1, 'x')
            .text(5, 'u')
            .text(6, '7')
            .message(11, pair => pair.text(1, 'a')),
        )
        .number(2, 9)
        .take(),
    ),
  )
  t.strictSame(readMeta(withVersion(new Uint8Array(0), '7')).version, '7', 'not even metadata')
  const twice = new Sink(0).message(1, meta => meta.text(6, '1').text(6, '2')).take()
  t.throws(() => withVersion(twice, '7'), isWireError, 'two of them')
  t.throws(() => withVersion(Uint8Array.of(8, 1), '7'), isWireError, 'metadata that is none')
  t.end()
})

t.test('a slice', t => {
  const view = readSlice(real('EndpointSlice web-abc').raw)
  t.strictSame([view.service, view.addressType], ['web', 'IPv4'])
  t.strictSame(
    view.endpoints.map(({ address, node, isUsable }) => [address, node, isUsable]),
    [
      ['10.1.0.1', 'rich', true],
      ['10.1.0.2', 'bare', true],
      ['10.1.0.3', undefined, false],
      ['10.1.0.5', 'going', true],
    ],
    'one that terminates and still serves is of use',
  )
  t.equal(readSlice(new Uint8Array(0)).service, undefined)
  t.equal(
    readSlice(real('EndpointSlice names').raw).service,
    undefined,
    'an empty label names no service',
  )
  t.end()
})

t.test('a slice belongs to the service that its label names, not its name', t => {
  const raw = fromJson('EndpointSlice', {
    metadata: { name: 'my-own-name', labels: { 'kubernetes.io/service-name': 'web' } },
  })
  t.equal(readSlice(raw).service, 'web')
  t.equal(
    readSlice(fromJson('EndpointSlice', { metadata: { name: 'web-abcde' } })).service,
    undefined,
  )
  t.end()
})

t.test('a node is what nodeName says, and only without it the label of v1beta1', t => {
  const endpoints = [
    { addresses: ['1'], nodeName: 'real', topology: { 'kubernetes.io/hostname': 'label' } },
    { addresses: ['2'], topology: { 'kubernetes.io/hostname': 'label', zone: 'a' } },
    { addresses: ['3'], nodeName: '', topology: { zone: 'a' } },
  ]
  const raw = fromJson('EndpointSliceV1beta1', { endpoints })
  t.strictSame(
    readSlice(raw).endpoints.map(({ node }) => node),
    ['real', 'label', undefined],
  )
  t.end()
})

t.test('Endpoints', t => {
  const { endpoints } = readEndpoints(real('Endpoints web').raw)
  t.strictSame(
    endpoints.map(({ address, node, isUsable }) => [address, node, isUsable]),
    [
      ['10.1.0.1', 'rich', true],
      ['10.1.0.2', undefined, true],
      ['10.1.0.3', 'bare', false],
      ['10.1.0.4', 'going', true],
    ],
  )
  t.end()
})

t.test('Endpoints of very many addresses', t => {
  const addresses = Array.from({ length: 200_000 }, () => ({ ip: '10.1.0.1' }))
  const raw = fromJson('Endpoints', {
    subsets: [{ addresses }, { addresses: [{ ip: '10.1.0.2' }] }],
  })
  t.equal(readEndpoints(raw).endpoints.length, 200_001)
  t.end()
})

t.test('services and nodes', t => {
  t.strictSame(readService(real('Service headless').raw), {
    topologyKeys: undefined,
    clusterIP: 'None',
    type: 'ClusterIP',
  })
  const made = realBodies.bodies.find(({ name }) => name.startsWith('Service made'))!
  t.match(readService(openEnvelope(made.protobuf).raw), {
    topologyKeys: '["zone"]',
    type: 'ClusterIP',
  })
  t.strictSame(readService(new Uint8Array(0)), { topologyKeys: undefined, clusterIP: '', type: '' })
  t.equal(readLabels(real('Node rich').raw).get('kubernetes.io/hostname'), 'rich')
  t.end()
})

t.test('a v1 slice as v1beta1', t => {
  const { raw, json } = real('EndpointSlice web-abc')
  const endpoints = (json['endpoints'] as readonly JsonMap[]).map(({ zone, ...endpoint }) => {
    const topology = {
      ...(endpoint['nodeName'] === undefined
        ? {}
        : { 'kubernetes.io/hostname': endpoint['nodeName'] }),
      ...(zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone }),
    }
    return Object.keys(topology).length === 0 ? endpoint : { ...endpoint, topology }
  })
  const beta = asV1beta1(raw)
  t.strictSame(
    { kind: json['kind'], apiVersion: json['apiVersion'], ...toJson('EndpointSliceV1beta1', beta) },
    { ...json, endpoints },
  )
  t.strictSame(
    Buffer.from(beta),
    Buffer.from(fromJson('EndpointSliceV1beta1', { ...json, endpoints })),
    'byte for byte as Go would write it',
  )
  const old = fromJson('EndpointSlice', {
    endpoints: [
      {
        addresses: ['1'],
        deprecatedTopology: { z: '1', 'kubernetes.io/hostname': 'old', a: '2' },
        nodeName: 'n',
      },
    ],
  })
  t.match(toJson('EndpointSliceV1beta1', asV1beta1(old)), {
    endpoints: [{ nodeName: 'n', topology: { a: '2', 'kubernetes.io/hostname': 'n', z: '1' } }],
  })
  t.end()
})

t.test('envelopes', t => {
  for (const bytes of ['', 'k8s', 'k8t\0', '{"kind":"Node"}'])
    t.throws(() => openEnvelope(Buffer.from(bytes)), isWireError, `not ${bytes}`)
  t.strictSame(
    { ...openEnvelope(Buffer.from('k8s\0')) },
    { apiVersion: '', kind: '', raw: new Uint8Array(0) },
  )
  const gzipped = new Sink(0).copy(Buffer.from('k8s\0')).text(3, 'gzip').take()
  t.throws(() => openEnvelope(gzipped), isWireError, 'encoded once more')
  const raw = new Uint8Array(300).fill(7)
  const opened = openEnvelope(envelope('v1', 'Node', raw))
  t.strictSame([opened.apiVersion, opened.kind, [...opened.raw]], ['v1', 'Node', [...raw]])
  t.strictSame(splitList(new Uint8Array(0)), {
    version: '',
    continue: '',
    remaining: undefined,
    items: [],
  })
  t.end()
})

t.test('the items of a list are sent unchanged', t => {
  const items = [Uint8Array.of(1), new Uint8Array(200)]
  const chunks = [
    ...listChunks(
      { apiVersion: 'v1', kind: 'NodeList', version: '9', continue: 'c', remaining: 3 },
      items,
    ),
  ]
  t.ok(
    items.every(item => chunks.includes(item)),
    'uncopied',
  )
  const list = splitList(openEnvelope(Buffer.concat(chunks)).raw)
  t.match(list, { version: '9', continue: 'c', remaining: 3 })
  t.strictSame(
    list.items.map(item => [...item]),
    items.map(item => [...item]),
  )
  t.end()
})

t.test('frames, wherever the chunks were cut', t => {
  const bodies = realBodies.bodies.map(({ protobuf }) => protobuf)
  const stream = Buffer.concat(bodies.map(body => watchFrame('MODIFIED', body)))
  const read = (chunks: readonly Uint8Array[]): readonly Frame[] => {
    const reader = new FrameReader(2 ** 20)
    const frames = chunks.flatMap(chunk => [...reader.push(chunk)])
    t.equal(reader.pending, 0)
    return frames
  }
  const split = (places: readonly number[]): Uint8Array[] => {
    const sorted = [0, ...[...places].sort((a, b) => a - b), stream.length]
    return sorted.slice(1).map((end, at) => stream.subarray(sorted[at], end))
  }
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 40 }), places => {
      const frames = read(split(places))
      return (
        frames.length === bodies.length &&
        frames.every(({ body }, at) => Buffer.compare(body, bodies[at]!) === 0)
      )
    }),
  )
  t.equal(read([...stream].map(byte => Uint8Array.of(byte))).length, bodies.length, 'byte by byte')
  t.end()
})

t.test('frames that are refused', t => {
  const reader = new FrameReader(100)
  t.strictSame(reader.push(Uint8Array.of(0, 0)), [])
  t.equal(reader.pending, 2, 'the stream must not end here')
  t.throws(() => reader.push(Uint8Array.of(0, 101)), isWireError, 'too long')
  t.throws(() => new FrameReader(100).push(Uint8Array.of(0, 0, 0, 0)), isWireError, 'empty')
  t.throws(
    () => new FrameReader(100).push(Uint8Array.of(0, 0, 0, 3, 10, 1, 65)),
    isWireError,
    'without an object',
  )
  t.throws(
    () => new FrameReader(100).push(Uint8Array.of(0, 0, 0, 5, 10, 1, 65, 18, 0)),
    isWireError,
    'an object without bytes',
  )
  t.end()
})
