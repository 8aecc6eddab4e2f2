// SPDX-License-Identifier: Apache-2.0
// What a run does, drawn from a seed. {ns} and {side} stand for a namespace and an ending of each side's own.
import type { Random } from '../../../../core/random.js'
import {
  drawName,
  drawObject,
  KINDS,
  pick,
  RESOURCES,
  type Resource,
  statusOf,
  withLongNumbers,
} from './objects.js'
import type { RawCall } from './raw-call.js'

/** A write that begins with reading the object, on each side through its own door. */
export interface Rewrite {
  readonly resource: Resource
  readonly name: string
  /** `put` changes a label; `put back` sends what was read; the others name the version that was read. */
  readonly how:
    'put' | 'put back' | 'merge patch' | 'json patch' | 'json patch with version' | 'delete'
  readonly form: 'json' | 'protobuf'
}

export type Step =
  | { readonly kind: 'call'; readonly what: string; readonly call: RawCall }
  | { readonly kind: 'rewrite'; readonly what: string; readonly rewrite: Rewrite }
  /** Sent to the wrapper alone, and broken off. */
  | { readonly kind: 'broken off'; readonly what: string; readonly call: RawCall }
  /** No HTTP at all, to the wrapper alone. */
  | { readonly kind: 'noise'; readonly what: string; readonly bytes: Buffer }
  | { readonly kind: 'health'; readonly what: string; readonly node: string }

/** Nodes on which endpoints run; the wrapper runs on the first. */
export const PLACES = ['n-0', 'n-1', 'n-2', 'n-3'] as const

export const JSON_TYPE = 'application/json'
export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf'

const maybe = (random: Random, percent: number): boolean => random.below(100) < percent

const ACCEPTS = [
  ...[JSON_TYPE, JSON_TYPE, JSON_TYPE, PROTOBUF_TYPE, PROTOBUF_TYPE],
  `${PROTOBUF_TYPE},${JSON_TYPE}`,
  `${JSON_TYPE};as=Table;v=v1;g=meta.k8s.io,${JSON_TYPE}`,
  `${JSON_TYPE};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io`,
  `${PROTOBUF_TYPE};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`,
  ...[
    'application/yaml',
    'application/cbor',
    '*/*',
    'text/html',
    '',
    'a',
    ',,;q=2',
    'application/*;q=0.1',
  ],
]

const QUERIES = [
  ...[
    '',
    '',
    '',
    '',
    '',
    'limit=1',
    'limit=2',
    'limit=0',
    'limit=-1',
    'limit=a',
    'limit=9999999999999999999',
  ],
  ...[
    'labelSelector=fuzz%3Dyes',
    'labelSelector=zone',
    'labelSelector=!zone',
    'labelSelector=a%20in%20(',
    'labelSelector=zone+notin+(a,b)',
  ],
  ...[
    'fieldSelector=metadata.name%3Dproxy',
    'fieldSelector=metadata.namespace!%3Ddefault',
    'fieldSelector=no.such%3D1',
    'fieldSelector=%3D',
  ],
  ...['resourceVersion=0', 'resourceVersion=', 'resourceVersion=a', 'resourceVersion=-1'],
  ...[
    'resourceVersion=0&resourceVersionMatch=NotOlderThan',
    'resourceVersionMatch=Exact',
    'resourceVersionMatch=Never&resourceVersion=1',
  ],
  ...[
    'pretty=true',
    'pretty=1',
    'watch=false',
    'watch=0',
    'continue=x',
    'continue=x&resourceVersion=1',
    '%',
    '&&&',
    'a=%zz',
    'timeoutSeconds=a',
    'timeoutSeconds=1',
  ],
  ...['sendInitialEvents=true', 'allowWatchBookmarks=true', 'labelSelector=' + 'a'.repeat(3_000)],
]

const OTHER_PATHS = [
  ...[
    '/',
    '/api',
    '/api/',
    '/api/v1',
    '/apis',
    '/apis/discovery.k8s.io',
    '/apis/discovery.k8s.io/v1',
    '/version',
    '/healthz',
    '/livez',
    '/readyz?verbose',
  ],
  ...[
    '/openapi/v2',
    '/metrics/none',
    '/api/v1/nope',
    '/api/v1/namespaces',
    '/api/v1/namespaces/{ns}',
    '/api/v1/namespaces/{ns}/pods',
  ],
  ...[
    '/api/v1/namespaces/{ns}/pods/none/log',
    '/api/v1/namespaces/proxy/events',
    '/api/v1/namespaces/{ns}/configmaps/proxy',
  ],
  ...[
    '/api/v1/namespaces/{ns}/services/proxy',
    '/api/v1/namespaces/{ns}/services/s-0/status',
    '/api/v1/namespaces/{ns}/services/s-0/none',
  ],
  ...[
    '/api/v1/nodes/n-0/status',
    '/api/v1/nodes/n-0/proxy/',
    '/api/v1/nodes/none',
    '/api/v1/nodes//',
    '//api/v1/nodes',
    '/api/v1/../v1/nodes',
  ],
  ...[
    '/api/v1/%6eodes',
    '/api/v1/nodes%2fn-0',
    '/api/v1/namespaces//services',
    '/api/v1/namespaces/{ns}/services/a%2fb',
    '/api/v1/watch/nodes?timeoutSeconds=1',
  ],
  ...[
    '/apis/discovery.k8s.io/v1beta1/endpointslices',
    '/apis/discovery.k8s.io/v2/endpointslices',
    '/api/v1/endpoints',
    '/api/v1/services',
  ],
  ...[
    '/apis/networking.k8s.io/v1/servicecidrs',
    '/apis/networking.k8s.io/v1/servicecidrs/kubernetes',
    '/constructor',
    '/api/v1/__proto__',
    '/api/v1/namespaces/constructor/services',
  ],
]

const collectionOf = (random: Random, resource: Resource): string => {
  const { path } = KINDS[resource]
  return maybe(random, 40) ? path.replace('/namespaces/{ns}', '') : path
}

const objectPath = (resource: Resource, name: string): string => `${KINDS[resource].path}/${name}`

const drawHeaders = (random: Random): [string, string][] => {
  const headers: [string, string][] = [['Accept', pick(random, ACCEPTS)]]
  if (maybe(random, 3)) headers.push(['Impersonate-User', pick(random, ['admin', 'nobody'])])
  if (maybe(random, 3)) headers.push(['X-Long', 'x'.repeat(pick(random, [100, 6_000]))])
  if (maybe(random, 3))
    headers.push(['Connection', pick(random, ['keep-alive', 'close', 'X-Long', 'Accept'])])
  if (maybe(random, 3))
    headers.push(['Accept-Encoding', pick(random, ['gzip', 'br', 'identity;q=0'])])
  if (maybe(random, 2)) headers.push(['Expect', '100-continue'])
  return headers
}

const withQuery = (path: string, query: string): string =>
  query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`

const drawRead = (random: Random): Step => {
  const method = pick(random, ['GET', 'GET', 'GET', 'GET', 'GET', 'HEAD', 'OPTIONS'])
  const resource = pick(random, RESOURCES)
  const draw = random.below(100)
  const path =
    draw < 45
      ? collectionOf(random, resource)
      : draw < 80
        ? objectPath(resource, drawName(random, resource))
        : pick(random, OTHER_PATHS)
  const body = maybe(random, 3) ? '{"a":1}' : undefined
  const call = {
    method,
    target: withQuery(path, pick(random, QUERIES)),
    headers: drawHeaders(random),
    body,
  }
  return { kind: 'call', what: draw < 80 ? `read ${resource}` : 'read something else', call }
}

const BODIES = [
  '',
  '{',
  '[]',
  'null',
  '{"kind":"Service"}',
  '\u0000\u0001',
  'k8s\u0000garbage',
  '{"metadata":{"resourceVersion":"7"}}',
]

const PATCHES = [
  ['application/merge-patch+json', '{"metadata":{"labels":{"patched":"NUMBER"}}}'],
  ['application/merge-patch+json', '{"metadata":{"annotations":null}}'],
  ['application/strategic-merge-patch+json', '{"metadata":{"labels":{"patched":"NUMBER"}}}'],
  [
    'application/json-patch+json',
    '[{"op":"add","path":"/metadata/labels/patched","value":"NUMBER"}]',
  ],
  ['application/json-patch+json', '[{"op":"test","path":"/metadata/name","value":"none"}]'],
  ['application/merge-patch+json', '{"metadata":{"resourceVersion":"1"}}'],
  ['application/merge-patch+json', '{'],
  ['text/plain', 'x'],
] as const

const drawWrite = (random: Random): Step => {
  const resource = pick(random, RESOURCES)
  const name = drawName(random, resource)
  const text = withLongNumbers(JSON.stringify(drawObject(random, resource, name)))
  const type = (value: string): [string, string] => ['Content-Type', value]
  const headers = drawHeaders(random)
  const dryRun = maybe(random, 10) ? 'dryRun=All' : ''
  const collection = KINDS[resource].path
  const path = objectPath(resource, name)
  const step = (what: string, call: RawCall): Step => ({
    kind: 'call',
    what: `${what} ${resource}`,
    call,
  })
  const draw = random.below(100)
  if (draw < 40) {
    const body = maybe(random, 5) ? pick(random, BODIES) : text
    const call = { method: 'POST', target: withQuery(collection, dryRun), body }
    return step('create', { ...call, headers: [...headers, type(JSON_TYPE)] })
  }
  if (draw < 50) {
    const target = withQuery(path, dryRun)
    return step('put without version', {
      method: 'PUT',
      target,
      headers: [...headers, type(JSON_TYPE)],
      body: text,
    })
  }
  if (draw < 60 && resource === 'nodes') {
    const { apiVersion, kind } = KINDS[resource]
    const status = JSON.stringify({
      apiVersion,
      kind,
      metadata: { name },
      status: statusOf(random),
    })
    const call = { method: 'PATCH', target: `${path}/status`, body: withLongNumbers(status) }
    return step('status of', {
      ...call,
      headers: [...headers, type('application/strategic-merge-patch+json')],
    })
  }
  if (draw < 70) {
    const target = `${path}?fieldManager=fuzz${maybe(random, 50) ? '&force=true' : ''}`
    return step('apply', {
      method: 'PATCH',
      target,
      headers: [...headers, type('application/apply-patch+yaml')],
      body: text,
    })
  }
  if (draw < 85) {
    const [patchType, body] = pick(random, PATCHES)
    const filled = body.replace('NUMBER', String(random.below(5)))
    return step('patch', {
      method: 'PATCH',
      target: withQuery(path, dryRun),
      headers: [...headers, type(patchType)],
      body: filled,
    })
  }
  if (draw < 97) {
    const body = pick(random, [
      undefined,
      undefined,
      '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}',
      '{',
      '{"preconditions":{"uid":"none"}}',
    ])
    return step('delete', {
      method: 'DELETE',
      target: withQuery(path, dryRun),
      headers: [...headers, type(JSON_TYPE)],
      body,
    })
  }
  const call = {
    method: pick(random, ['FOO', 'TRACE', 'LINK', 'get']),
    target: path,
    headers,
    body: undefined,
  }
  return step('odd method on', call)
}

const drawRewrite = (random: Random): Step => {
  const resource = pick(random, [
    'nodes',
    'services',
    'endpoints',
    'endpointslices',
    'endpointslices',
    'configmaps',
  ] as const)
  const how = pick(random, [
    'put',
    'put',
    'put back',
    'merge patch',
    'json patch',
    'delete',
  ] as const)
  const form =
    how === 'put back' || how === 'delete' ? pick(random, ['json', 'protobuf'] as const) : 'json'
  const rewrite: Rewrite = { resource, name: drawName(random, resource), how, form }
  return { kind: 'rewrite', what: `read, then ${how} ${resource}`, rewrite }
}

const drawUpgrade = (random: Random): Step => {
  const upgrade = pick(random, ['h2c', 'websocket', 'SPDY/3.1', 'TLS/1.0', 'foo, websocket', ''])
  const target = pick(random, [
    '/api/v1/nodes',
    '/api/v1/namespaces/{ns}/services',
    '/api/v1/namespaces/{ns}/pods/none/exec?command=x',
  ])
  const headers: [string, string][] = [
    ['Accept', JSON_TYPE],
    ['Connection', pick(random, ['Upgrade', 'upgrade, HTTP2-Settings', 'keep-alive'])],
    ['Upgrade', upgrade],
    ['HTTP2-Settings', 'AAMAAABkAAQAAP__'],
  ]
  return {
    kind: 'call',
    what: 'upgrade',
    call: { method: 'GET', target, headers, body: undefined },
  }
}

const drawBrokenOff = (random: Random): Step => {
  const base = pick(random, [drawRead, drawWrite, drawUpgrade])(random)
  if (base.kind !== 'call') return base
  const watch: RawCall = {
    ...base.call,
    method: 'GET',
    target: `${pick(random, ['/api/v1/nodes', '/api/v1/services'])}?watch=1`,
    body: undefined,
  }
  const long = { ...base.call, method: 'POST', body: 'x'.repeat(random.below(400_000)) }
  const call = pick(random, [base.call, watch, long])
  const after = pick(random, ['sent', 'received'] as const)
  return {
    kind: 'broken off',
    what: `broken off: ${after}`,
    call: { ...call, breakOff: { after, bytes: random.below(after === 'sent' ? 600 : 2_000) } },
  }
}

const drawNoise = (random: Random): Step => {
  const lines = [
    'GET / HTTP/9.9\r\n\r\n',
    'GET /api/v1/nodes HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    'POST /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n',
    `GET /${'a'.repeat(70_000)} HTTP/1.1\r\n\r\n`,
    '\r\n\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'POST /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  ]
  const bytes = maybe(random, 50)
    ? Buffer.from(pick(random, lines))
    : Buffer.from(Array.from({ length: random.below(400) }, () => random.below(256)))
  return { kind: 'noise', what: 'noise', bytes }
}

/** One step of a run. */
export const drawStep = (random: Random): Step => {
  const draw = random.below(100)
  if (draw < 32) return drawRead(random)
  if (draw < 68) return drawWrite(random)
  if (draw < 82) return drawRewrite(random)
  if (draw < 86) return drawUpgrade(random)
  if (draw < 93) return drawBrokenOff(random)
  if (draw < 96) return drawNoise(random)
  return { kind: 'health', what: 'health', node: pick(random, PLACES) }
}
