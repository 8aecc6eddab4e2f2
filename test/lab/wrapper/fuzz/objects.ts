// SPDX-License-Identifier: Apache-2.0
// Objects as odd as a kube-apiserver takes them.
import type { Random } from '../../../../core/random.js'
import type { Json } from '../../../../sandbox/api-client.js'

export const KINDS = {
  nodes: { path: '/api/v1/nodes', apiVersion: 'v1', kind: 'Node' },
  services: { path: '/api/v1/namespaces/{ns}/services', apiVersion: 'v1', kind: 'Service' },
  endpoints: { path: '/api/v1/namespaces/{ns}/endpoints', apiVersion: 'v1', kind: 'Endpoints' },
  endpointslices: {
    path: '/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices',
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
  },
  configmaps: { path: '/api/v1/namespaces/{ns}/configmaps', apiVersion: 'v1', kind: 'ConfigMap' },
} as const

export type Resource = keyof typeof KINDS
export const RESOURCES = Object.keys(KINDS) as readonly Resource[]

/** Names that also mean something else in a path are names all the same. */
const NAMES: Readonly<Record<Resource, readonly string[]>> = {
  nodes: ['n-0{side}', 'n-1{side}', 'proxy{side}', 'status{side}', 'n-4{side}'],
  services: ['s-0', 's-1', 'proxy', 'status', 's-empty', 's-bad', 'watch'],
  endpoints: ['s-0', 's-1', 'log', 'proxy', 's-empty'],
  endpointslices: ['e-0', 'e-1', 'e-2', 'e-3', 'proxy', 'exec', 'status'],
  configmaps: ['c-0', 'proxy', 'log'],
}

export const pick = <T>(random: Random, list: readonly T[]): T => list[random.below(list.length)]!

export const drawName = (random: Random, resource: Resource): string =>
  pick(random, NAMES[resource])

const maybe = (random: Random, percent: number): boolean => random.below(100) < percent

const STRANGE = [
  '',
  ' ',
  'ä€😀',
  '"\\\n\t\r\u0000\u001f\u2028',
  '</script>&<>',
  '9223372036854775807',
  'x'.repeat(5_000),
  '{"a":[1e999]}',
]

const TIMES = [
  '0001-01-01T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '0000-12-31T23:59:59Z',
  '9999-12-31T23:59:59Z',
  '1969-12-31T23:59:59Z',
  '2026-02-28T23:59:60Z',
  '2026-01-01T00:00:00+14:00',
  '2026-01-01T00:00:00.123456789Z',
  null,
]

const metadataOf = (random: Random, resource: Resource, name: string): Json => {
  const labels: Record<string, string> = { fuzz: 'yes' }
  if (maybe(random, 30)) labels['zone'] = pick(random, ['a', 'b', ''])
  const annotations: Record<string, string> = {}
  for (let i = random.below(3); i > 0; i--) annotations[`note-${i}`] = pick(random, STRANGE)
  if (maybe(random, 3))
    for (let i = 0; i < 200; i++) annotations[`many-${i}`] = String(i).repeat(20)
  // Each Service keeps its sort of topology, since a list that cannot be read keeps the last one that could.
  if (resource === 'services' && /^s-[01]$/.test(name) && maybe(random, 60))
    annotations['topologyKeys'] = pick(random, ['["zone"]', '["kubernetes.io/hostname"]', '["*"]'])
  if (resource === 'services' && name === 's-bad') annotations['topologyKeys'] = '[zone'
  if (resource === 'endpointslices' && maybe(random, 85))
    labels['kubernetes.io/service-name'] = pick(random, NAMES.services)
  return {
    name,
    labels,
    annotations,
    ...(maybe(random, 3) ? { finalizers: ['edge-health.test/kept'] } : {}),
    ...(maybe(random, 3)
      ? { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'none', uid: 'none' }] }
      : {}),
  }
}

const nodeName = (random: Random): Json =>
  maybe(random, 15) ? {} : { nodeName: pick(random, ['n-0', 'n-1', 'n-2', 'n-3', 'nowhere']) }

const conditionsOf = (random: Random): Json | undefined =>
  maybe(random, 10)
    ? undefined
    : {
        ...(maybe(random, 80) ? { ready: maybe(random, 80) } : {}),
        ...(maybe(random, 60) ? { serving: maybe(random, 80) } : {}),
        ...(maybe(random, 40) ? { terminating: maybe(random, 20) } : {}),
      }

const sliceOf = (random: Random): Json => {
  const addressType = pick(random, ['IPv4', 'IPv4', 'IPv4', 'IPv6', 'FQDN'])
  const address = (i: number): string =>
    addressType === 'IPv4'
      ? `10.60.${i % 200}.${1 + random.below(200)}`
      : addressType === 'IPv6'
        ? `fd00::${i + 1}:${1 + random.below(200)}`
        : `host-${i}.example`
  const endpoint = (i: number): Json => ({
    addresses: [address(i)],
    conditions: conditionsOf(random),
    ...nodeName(random),
    ...(maybe(random, 20) ? { hostname: `h-${i}` } : {}),
    ...(maybe(random, 20) ? { zone: 'a', hints: { forZones: [{ name: 'a' }] } } : {}),
    ...(maybe(random, 20)
      ? { targetRef: { kind: 'Pod', name: `p-${i}`, uid: pick(random, ['u', '']) } }
      : {}),
  })
  const count = maybe(random, 3) ? 100 : random.below(6)
  const ports = [
    { name: 'http', port: 8_080, protocol: 'TCP' },
    { name: '', port: 53, protocol: 'UDP', appProtocol: 'kubernetes.io/h2c' },
    { name: 'any' },
  ]
  return {
    addressType,
    endpoints:
      count === 0 && maybe(random, 50)
        ? null
        : Array.from({ length: count }, (_, i) => endpoint(i)),
    ports: maybe(random, 10) ? null : ports.slice(0, 1 + random.below(ports.length)),
  }
}

const endpointsOf = (random: Random): Json => {
  const address = (i: number): Json => ({
    ip: `10.50.${i}.${1 + random.below(200)}`,
    ...nodeName(random),
  })
  const subset = (nth: number): Json => ({
    addresses: Array.from({ length: 1 + random.below(4) }, (_, i) => address(10 * nth + i)),
    ...(maybe(random, 20) ? { notReadyAddresses: [address(10 * nth + 9)] } : {}),
    ports: [{ name: `http-${nth}`, port: 8_080 + nth, protocol: 'TCP' }],
  })
  return { subsets: Array.from({ length: random.below(3) }, (_, nth) => subset(nth)) }
}

const serviceOf = (random: Random, name: string): Json => ({
  spec: {
    ports: [
      { name: 'http', port: 80 + random.below(5), targetPort: pick(random, [8_080, 'http']) },
      ...(maybe(random, 30) ? [{ name: 'metrics', port: 9_090, appProtocol: 'http' }] : []),
    ],
    ...(name === 's-1' ? { clusterIP: 'None' } : {}),
    ...(maybe(random, 20)
      ? {
          sessionAffinity: 'ClientIP',
          sessionAffinityConfig: { clientIP: { timeoutSeconds: pick(random, [1, 86_400]) } },
        }
      : {}),
    selector: maybe(random, 50) ? { app: pick(random, STRANGE.slice(0, 1)) } : null,
  },
})

const nodeOf = (random: Random): Json => ({
  spec: {
    ...(maybe(random, 20) ? { unschedulable: true } : {}),
    ...(maybe(random, 20) ? { taints: [{ key: 'fuzz', value: '', effect: 'NoSchedule' }] } : {}),
  },
  status: statusOf(random),
})

/** What a kubelet would say of itself, in times that no kubelet has. */
export const statusOf = (random: Random): Json => ({
  conditions: ['Ready', 'Fuzz'].map(type => ({
    type,
    status: pick(random, ['True', 'False', 'Unknown']),
    lastHeartbeatTime: pick(random, TIMES),
    lastTransitionTime: pick(random, TIMES),
    reason: 'Fuzz',
    message: pick(random, STRANGE),
  })),
  capacity: { cpu: pick(random, ['1', '100m', '9223372036854775807']), memory: '1Ki' },
  addresses: [{ type: 'InternalIP', address: pick(random, ['10.0.0.1', 'fd00::1']) }],
  images: Array.from({ length: random.below(20) }, (_, i) => ({
    names: [`image-${i}`],
    sizeBytes: pick(random, [0, 1, 2 ** 53 - 1]),
  })),
})

const contentOf = (random: Random, resource: Resource, name: string): Json => {
  switch (resource) {
    case 'nodes':
      return nodeOf(random)
    case 'services':
      return serviceOf(random, name)
    case 'endpoints':
      return endpointsOf(random)
    case 'endpointslices':
      return sliceOf(random)
    case 'configmaps':
      return { data: { text: pick(random, STRANGE) } }
  }
}

/** One object; the apiserver may still refuse it. */
export const drawObject = (random: Random, resource: Resource, name: string): Json => {
  const { apiVersion, kind } = KINDS[resource]
  return {
    ...{ apiVersion, kind, metadata: metadataOf(random, resource, name) },
    ...contentOf(random, resource, name),
  }
}

/** A number with more digits than a double holds, where the API has an int64. */
export const withLongNumbers = (text: string): string =>
  text.replaceAll(`"sizeBytes":${2 ** 53 - 1}`, '"sizeBytes":9223372036854775807')
