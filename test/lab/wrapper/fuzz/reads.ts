// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../../../core/random.js'
import { drawName, KINDS, pick, RESOURCES, type Resource } from './objects.js'
import { JSON_TYPE, maybe, PROTOBUF_TYPE, type Step } from './step.js'

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

export const objectPath = (resource: Resource, name: string): string =>
  `${KINDS[resource].path}/${name}`

export const drawHeaders = (random: Random): [string, string][] => {
  const headers: [string, string][] = [['Accept', pick(random, ACCEPTS)]]
  if (maybe(random, 3)) headers.push(['Impersonate-User', pick(random, ['admin', 'nobody'])])
  if (maybe(random, 3)) headers.push(['X-Long', 'x'.repeat(pick(random, [100, 6_000]))])
  // A proxy takes away what Connection names, the apiserver does not: nothing that it heeds may be named here.
  if (maybe(random, 3))
    headers.push(['Connection', pick(random, ['keep-alive', 'close', 'X-Long'])])
  if (maybe(random, 3))
    headers.push(['Accept-Encoding', pick(random, ['gzip', 'br', 'identity;q=0'])])
  if (maybe(random, 2)) headers.push(['Expect', '100-continue'])
  return headers
}

export const withQuery = (path: string, query: string): string =>
  query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`

export const drawRead = (random: Random): Step => {
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
