// SPDX-License-Identifier: Apache-2.0
// Requests as agents make them, and as thieves of their tokens would.
import { firstStamp } from '../../../agent/adapters/first-stamp.js'
import type { Sent } from './bed.js'

export const MANAGER = 'fieldManager=edge-health-agent'
export const STRATEGIC = 'application/strategic-merge-patch+json'
export const MERGE = 'application/merge-patch+json'
export const JSON_PATCH = 'application/json-patch+json'
export const APPLY = 'application/apply-patch+yaml'
export const NODES = '/api/v1/nodes'
export const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
export const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'
export const FAR = '2099-01-01T00:00:00Z'
export const IDENTITY = 'edge-health/identity'
export const CUT = { key: 'edge-health/cloud-link-cut', effect: 'NoSchedule' }

export const iso = (now: number, aheadMs = 0): string =>
  `${new Date(now + aheadMs).toISOString().slice(0, 19)}Z`
export const micro = (now: number, aheadMs = 0): string =>
  new Date(now + aheadMs).toISOString().replace('Z', '000Z')

export const patch = (path: string, type: string, body: unknown, query = MANAGER): Sent => ({
  ...{ method: 'PATCH', type, body },
  path: `${path}?${query}`,
})

export type Given = Readonly<Record<string, unknown>>

export const condition = (type: string, status: string, reason: string, at: string): Given => ({
  ...{ type, status, reason, message: 'because' },
  ...{ lastHeartbeatTime: at, lastTransitionTime: at },
})

interface Marks {
  readonly annotations?: Readonly<Record<string, string | null>>
  readonly labels?: Readonly<Record<string, string | null>>
  readonly conditions?: readonly Given[]
}

/** Through the status, as agents do. */
export const marks = (node: string, { conditions, ...metadata }: Marks, query?: string): Sent =>
  patch(
    `${NODES}/${node}/status`,
    STRATEGIC,
    { metadata, ...(conditions === undefined ? {} : { status: { conditions } }) },
    query,
  )

export const dead = (node: string, now: number, query?: string): Sent =>
  marks(
    node,
    {
      annotations: { nodeunhealth: 'yes', 'edge-health/reason': 'because' },
      conditions: [condition('PeerHealth', 'False', 'PeersCannotReach', iso(now))],
    },
    query,
  )
export const peerHealth = (now: number, status: string, reason: string): readonly Given[] => [
  condition('PeerHealth', status, reason, iso(now)),
]
export const metadata = (node: string, change: Given, query?: string): Sent =>
  patch(`${NODES}/${node}`, MERGE, { metadata: change }, query)
export const operations = (node: string, ...list: readonly Given[]): Sent =>
  patch(`${NODES}/${node}`, JSON_PATCH, list)
export const statusOf = (node: string, status: Given): Sent =>
  patch(`${NODES}/${node}/status`, STRATEGIC, { status })
export const renew = (node: string, renewTime: string, query?: string): Sent =>
  patch(`${LEASES}/${node}`, MERGE, { spec: { renewTime } }, query)
export const lease = (node: string, body: Given, query?: string): Sent =>
  patch(`${LEASES}/${node}`, MERGE, body, query)
export const event = (kind: string, controller: string, instance: string, now: number): Sent => ({
  method: 'POST',
  path: `${EVENTS}?${MANAGER}`,
  body: {
    ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event' },
    metadata: { generateName: 'row-', namespace: 'default' },
    ...{ eventTime: micro(now), reportingController: controller, reportingInstance: instance },
    ...{ action: 'Condemn', reason: 'PeersCondemned', type: 'Warning', note: 'because' },
    regarding: {
      apiVersion: 'v1',
      kind,
      name: 'writer',
      namespace: kind === 'Pod' ? 'default' : '',
    },
  },
})
/** The same with a finalizer. */
export const held = ({ body, ...sent }: Sent): Sent => {
  const { metadata, ...more } = body as { readonly metadata: Given }
  return { ...sent, body: { ...more, metadata: { ...metadata, finalizers: ['example.com/held'] } } }
}
/** The same in kube-system. */
export const elsewhere = ({ path, body, ...sent }: Sent): Sent => ({
  ...sent,
  path: path.replace(/namespaces\/[a-z-]+/, 'namespaces/kube-system'),
  body: JSON.parse(
    JSON.stringify(body).replace('"namespace":"default"', '"namespace":"kube-system"'),
  ),
})
export const entry = (
  operation: string,
  subresource: string,
  manager = 'edge-health-agent',
): Given => ({
  ...{ manager, operation, apiVersion: 'coordination.k8s.io/v1', time: FAR },
  ...(subresource === '' ? {} : { subresource }),
  ...{ fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { 'f:renewTime': {} } } },
})

/** Another entry beside those that are there: the first one's, as the apiserver's for what it has merged. */
export const ancient = (path: string, change: Given = {}): Sent =>
  patch(path, JSON_PATCH, [
    { op: 'copy', from: '/metadata/managedFields/0', path: '/metadata/managedFields/0' },
    ...Object.entries({ manager: 'ancient-changes', ...change }).map(([key, value]) => ({
      ...{ op: 'replace', path: `/metadata/managedFields/0/${key}`, value },
    })),
  ])

const first = (path: string, group: string, resource: string): Sent => {
  const type = { group, version: 'v1', resource, parse: () => undefined }
  return patch(path, MERGE, firstStamp(type, undefined).body)
}
/** The first entry of managedFields where there is none, as agents give it. */
export const beginNode = (node: string): Sent => first(`${NODES}/${node}`, '', 'nodes')
export const beginLease = (node: string): Sent =>
  first(`${LEASES}/${node}`, 'coordination.k8s.io', 'leases')

const CONFIG_MAPS = '/api/v1/namespaces/edge-system/configmaps'
export const configMap = (name: string): Sent => ({
  ...{ method: 'POST', path: CONFIG_MAPS },
  body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: name } },
})
export const service = (name: string): Sent => ({
  ...{ method: 'POST', path: `/api/v1/namespaces/default/services?fieldManager=edge-health-grids` },
  body: { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 1 }] } },
})
/** Of a program that has one in its own namespace. */
export const ownLease = (name: string): Sent => ({
  ...{ method: 'POST', path: '/apis/coordination.k8s.io/v1/namespaces/edge-system/leases' },
  body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec: {} },
})
export const newNode: Sent = {
  ...{ method: 'POST', path: NODES },
  body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'new' } },
}
export const token = (account: string): Sent => ({
  method: 'POST',
  path: `/api/v1/namespaces/edge-system/serviceaccounts/${account}/token`,
  body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
})
