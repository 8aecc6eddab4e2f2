// SPDX-License-Identifier: Apache-2.0
// Whatever a client asks for: an answer of the API, a Status, or it is upstream's to answer. Never a crash.
import type { IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import fc from '../../../testkit/properties.js'
import { node, opened, openedList, PROTOBUF, service, slice, startReads } from '../wrapper-world.js'
import { encodeToken } from '../../../kube/server/continue-token.js'
import { RESOURCES } from '../../../wrapper/store/resources.js'
import { openEnvelope } from '../../../wrapper/wire/envelope.js'
import { FrameReader } from '../../../wrapper/wire/frames.js'

type World = Awaited<ReturnType<typeof startReads>>

const PRINTABLE = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map(String.fromCharCode) })
const LATIN = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0xa0, max: 0xff }))
    .map(code => String.fromCharCode(code)),
})

const PATHS = [
  '/api/v1/nodes',
  '/api/v1/nodes/a',
  '/api/v1/services',
  '/api/v1/namespaces/default/services',
  '/api/v1/namespaces/default/services/web',
  '/api/v1/namespaces/x/endpoints',
  '/api/v1/endpoints',
  '/apis/discovery.k8s.io/v1/endpointslices',
  '/apis/discovery.k8s.io/v1beta1/endpointslices',
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1',
  '/apis/discovery.k8s.io/v1beta1/namespaces/default/endpointslices/none',
  '/apis/networking.k8s.io/v1/servicecidrs',
]
const SEGMENTS = [
  ...[
    'api',
    'apis',
    'v1',
    'v1beta1',
    'namespaces',
    'default',
    'discovery.k8s.io',
    'watch',
    'status',
  ],
  ...['nodes', 'services', 'endpoints', 'endpointslices', 'servicecidrs', 'networking.k8s.io'],
  ...['', '.', '..', '%', '%2F', '%zz', '%00', 'a', 'web', 'constructor', '__proto__', 'toString'],
]

const path = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...PATHS) },
  { weight: 2, arbitrary: fc.array(fc.constantFrom(...SEGMENTS)).map(all => `/${all.join('/')}`) },
  { weight: 1, arbitrary: PRINTABLE.map(text => `/${text}`) },
)

const STREAM = `${PROTOBUF};stream=watch`
const MIN_VERSION = 1_767_225_600_000_000
const KEYS = [
  ...['watch', 'limit', 'continue', 'resourceVersion', 'resourceVersionMatch', 'timeoutSeconds'],
  ...[
    'sendInitialEvents',
    'allowWatchBookmarks',
    'labelSelector',
    'fieldSelector',
    'pretty',
    '__proto__',
  ],
]
const WORDS = [
  ...['', '0', '1', '-1', 'true', 'false', 'yes', '2', '3.5', '1e3', ' 1', '9'.repeat(30)],
  ...['Exact', 'NotOlderThan', 'exact', String(MIN_VERSION), String(2 ** 63), '5'],
  ...[
    'a=b',
    'a!=b',
    'a in (b,c)',
    'a notin (',
    '!a',
    'a,b',
    ',',
    'a==',
    'kubernetes.io/x',
    'a>1',
    'a<x',
  ],
  ...[
    'metadata.name=a',
    'metadata.namespace=default',
    'spec.clusterIP!=None',
    'spec.type=',
    '=',
    '\\,',
  ],
  ...['a'.repeat(64), 'ä', '\u0000', '𝄞'],
  encodeToken({ version: MIN_VERSION, after: 'a' }),
  encodeToken({ version: 0, after: '' }),
  encodeToken({ version: 5, after: 'default/web' }),
  Buffer.from('{"rv":-1,"start":"a"}').toString('base64url'),
  Buffer.from('{"rv":1,"start":["a"]}').toString('base64url'),
  Buffer.from('[]').toString('base64url'),
  Buffer.from('null').toString('base64url'),
]
const pair = fc.tuple(
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...KEYS) }, fc.string()),
  fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...WORDS) }, fc.string({ unit: 'binary' })),
)
/** As clients ask. */
const QUERIES = [
  'watch=1&resourceVersion=5',
  'watch=true&allowWatchBookmarks=true&timeoutSeconds=400&resourceVersion=0',
  'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
  'limit=500&resourceVersion=0',
  'resourceVersion=5&resourceVersionMatch=Exact',
]
const query = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...QUERIES) },
  {
    weight: 6,
    arbitrary: fc.array(pair, { maxLength: 5 }).map(pairs => new URLSearchParams(pairs).toString()),
  },
  { weight: 1, arbitrary: PRINTABLE },
)

const TYPES = [
  ...[
    'application/json',
    PROTOBUF,
    'application/yaml',
    '*/*',
    'application/*',
    'text/*',
    'text/html',
  ],
  ...['', '/', 'constructor', 'application', 'APPLICATION/JSON', STREAM],
]
const PARAMS = [
  ...['q=0', 'q=1', 'q=0.5', 'q=7', 'q=-1', 'q=x', 'q', '=', 'stream=watch', 'charset=utf-8'],
  ...[
    'as=Table',
    'as=PartialObjectMetadata',
    'as=PartialObjectMetadataList',
    'as=x',
    'g=meta.k8s.io',
  ],
  ...['g=', 'v=v1', 'v=v1beta1', 'v=v9', '__proto__=1'],
]
const clause = fc
  .tuple(fc.constantFrom(...TYPES), fc.array(fc.constantFrom(...PARAMS), { maxLength: 4 }))
  .map(parts => parts.flat().join(';'))
const accept = fc.option(
  fc.oneof(
    { weight: 5, arbitrary: fc.array(clause, { maxLength: 4 }).map(all => all.join(', ')) },
    LATIN,
  ),
  { nil: undefined },
)
const encoding = fc.option(
  fc.constantFrom('gzip', 'gzip;q=0', '*', 'br, gzip;q=0.1', ';', 'identity'),
  {
    nil: undefined,
  },
)

const asked = fc.record({
  path,
  query,
  accept,
  encoding,
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'PUT'),
})
type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never

const readAll = async (response: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of response as AsyncIterable<Buffer>) parts.push(part)
  const bytes = Buffer.concat(parts)
  return response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
}

interface Body {
  readonly kind: string
  readonly apiVersion: string
  readonly type?: string
  readonly object?: Body
  readonly [field: string]: unknown
}

/** What a body of ours says, whatever it is written in. */
const bodyOf = (type: string, bytes: Buffer): Body => {
  if (type === 'application/json') return JSON.parse(bytes.toString()) as Body
  if (type === STREAM) {
    const [frame, ...more] = new FrameReader(1 << 20).push(bytes)
    if (more.length > 0) throw new Error('an error is one event')
    return { type: frame!.type, object: opened(frame!.body) } as unknown as Body
  }
  if (type !== PROTOBUF) throw new Error(`a body of type ${type}`)
  const isList = openEnvelope(bytes).kind.endsWith('List')
  return (isList ? openedList(bytes) : opened(bytes)) as unknown as Body
}

const isStatus = (body: Body, code: number | undefined): boolean =>
  body.kind === 'Status' &&
  body.apiVersion === 'v1' &&
  body['status'] === 'Failure' &&
  typeof body['message'] === 'string' &&
  body['message'] !== '' &&
  (code === undefined ? Number(body['code']) >= 400 : body['code'] === code)

const KINDS = /^(Node|Service|Endpoints|EndpointSlice|ServiceCIDR)(List)?$/

const isOpen = (world: World): boolean =>
  RESOURCES.some(resource => world.reads.watches.openOf(resource) > 0)

/** @returns what kind of answer it was. @throws when it is none. */
const judge = async (world: World, response: IncomingMessage): Promise<string> => {
  const { statusCode: code = 0, headers } = response
  const type = headers['content-type'] ?? ''
  if (isOpen(world)) {
    response.destroy()
    while (isOpen(world)) await world.clock.advance(1)
    if (code === 200 && (type === 'application/json' || type === STREAM)) return 'watch'
    throw new Error(`a watch with ${code} and ${type}`)
  }
  const body = bodyOf(type, await readAll(response))
  if (code !== 200) {
    const isBug = code < 400 || body['message'] === 'internal error'
    if (isBug || !isStatus(body, code)) throw new Error(JSON.stringify(body))
    return 'refused'
  }
  if (body.type === 'ERROR' && isStatus(body.object!, undefined)) return 'error event'
  const [, , list] = KINDS.exec(body.kind) ?? []
  if (!KINDS.test(body.kind)) throw new Error(JSON.stringify(body))
  return list === undefined ? 'object' : 'list'
}

const worlds = async (t: Test): Promise<readonly World[]> => {
  // Short, as time is moved on in small steps.
  const reads = { fillMs: 20, versionMs: 20 }
  const filled = await startReads(t, { reads })
  filled.fill({
    nodes: [node('a', { zone: '1' }), node('b')],
    services: Array.from({ length: 1_000 }, (_, i) => service(i === 0 ? 'web' : `s${i}`)),
    endpointslices: [slice('web-1', 'web', ['a', 'b'])],
  })
  const waiting = await startReads(t, { reads })
  waiting.store.absent('servicecidrs')
  return [filled, waiting]
}

/** Time moves on until there is an answer. */
const patiently = async <T>(world: World, asking: Promise<T>): Promise<T> => {
  const over = new AbortController()
  void asking.finally(() => over.abort())
  while (!over.signal.aborted) await world.clock.advance(1)
  return asking
}

t.test('any path, query and Accept header is answered, or passed on', async t => {
  const both = await worlds(t)
  const seen = new Map<string, number>()
  const ask = async (nth: number, { path, query, accept, encoding, method }: Asked) => {
    const world = both[nth]!
    const passed = world.passed.length
    const url = query === '' ? path : `${path}?${query}`
    const headers = {
      ...(accept === undefined ? {} : { accept }),
      ...(encoding === undefined ? {} : { 'accept-encoding': encoding }),
    }
    const response = await patiently(world, world.open(url, headers, method))
    response.on('error', () => undefined)
    if (world.passed.length === passed) return judge(world, response)
    response.resume()
    return world.passed.at(-1) === `${method} ${url}` ? 'passed' : 'passed something else'
  }
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(0, 0, 0, 1), asked, async (nth, asked) => {
      const kind = await ask(nth, asked)
      seen.set(kind, (seen.get(kind) ?? 0) + 1)
    }),
    { numRuns: 1_000 },
  )
  const kinds = ['error event', 'list', 'object', 'passed', 'refused', 'watch']
  t.strictSame([...seen.keys()].sort(), kinds, 'all sorts of answers were seen')
  for (const { log } of both) t.strictSame(log.lines, [], 'and nothing to complain of')
})
