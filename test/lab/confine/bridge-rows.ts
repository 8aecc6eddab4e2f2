// SPDX-License-Identifier: Apache-2.0
// What the bridge's account writes for edges, and what it is refused.
import type { Sent } from './bed.js'
import { configMap, MERGE, STRATEGIC } from './requests.js'
import type { Refuser, Row } from './rows.js'

const DRY = 'dryRun=All'
const NODES = '/api/v1/nodes'
/** A Node that has the label of edges. */
export const EDGE = 'bridged-edge'
const PODS = '/api/v1/namespaces/default/pods'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const OWN_LEASES = '/apis/coordination.k8s.io/v1/namespaces/edge-system/leases'
const CONFIG_MAPS = '/api/v1/namespaces/edge-system/configmaps'
const SECRETS = '/api/v1/namespaces/kubeedge/secrets'
const LABEL = { 'node-role.kubernetes.io/edge': '' }

const post = (path: string, body: object): Sent => ({
  method: 'POST',
  path: `${path}?${DRY}`,
  body,
})
const patch = (path: string, body: object, type = MERGE): Sent => ({
  ...{ method: 'PATCH', type, body, path: `${path}?${DRY}` },
})
const remove = (path: string): Sent => ({ method: 'DELETE', path: `${path}?${DRY}` })

const node = (name: string, metadata: object, more: object = {}): object => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name, ...metadata }, ...more },
})
const onEdge = (body: object): Sent => patch(`${NODES}/${EDGE}`, body)
const status = (body: object): Sent => patch(`${NODES}/${EDGE}/status`, body, STRATEGIC)
const mirror = (
  spec: object,
  annotations: object = { 'kubernetes.io/config.mirror': 'x' },
  more: object = {},
): Sent =>
  post(PODS, {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: `static-${EDGE}`, annotations, ...more },
    spec: {
      nodeName: EDGE,
      enableServiceLinks: false,
      containers: [{ name: 'c', image: 'i' }],
      ...spec,
    },
  })
const owner = (apiVersion: string, kind: string, name: string): object => ({
  ownerReferences: [{ apiVersion, kind, name, uid: 'x', controller: true }],
})
const lease = (name: string, holderIdentity = name, path = LEASES): Sent =>
  post(path, {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } },
    spec: { holderIdentity, leaseDurationSeconds: 40 },
  })
const secret = (name: string, path = SECRETS, more: object = {}): Sent =>
  post(path, { apiVersion: 'v1', kind: 'Secret', metadata: { name }, ...more })
const token = (ref: object | undefined): Sent =>
  post('/api/v1/namespaces/edge-system/serviceaccounts/edge-health-bridge/token', {
    ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
    spec: ref === undefined ? {} : { boundObjectRef: ref },
  })
const event = (kind: string): Sent =>
  post('/api/v1/namespaces/default/events', {
    ...{ apiVersion: 'v1', kind: 'Event', metadata: { name: 'row' } },
    involvedObject: { kind, name: 'x', ...(kind === 'Node' ? {} : { namespace: 'default' }) },
  })
const peers = { type: 'PeerHealth', status: 'False', reason: 'x', message: 'x' }

const rows = (refusedBy: Refuser, list: readonly (readonly [what: string, sent: Sent])[]): readonly Row[] => list.map(([what, sent]) => ({ what, refusedBy, by: 'bridge', sends: () => [sent] })) // prettier-ignore

/** Of these the bridge lets its edges have some, and its account none more. */
const REFUSED: readonly (readonly [what: string, sent: Sent])[] = [
  ['a Node that is no edge', post(NODES, node('row', {}))],
  ['a Node with the marks of its peers', post(NODES, node('row', { labels: LABEL, annotations: { nodeunhealth: 'yes' } }))],
  ['a Node of the control plane', post(NODES, node('row', { labels: { ...LABEL, 'node-role.kubernetes.io/control-plane': '' } }))],
  ['a label of Kubernetes', onEdge({ metadata: { labels: { 'example.kubernetes.io/x': 'y' } } })],
  ['a label goes', onEdge({ metadata: { labels: { 'node-role.kubernetes.io/edge': null } } })],
  ["the peers' word", onEdge({ metadata: { annotations: { 'edge-health/reason': 'x' } } })],
  ['… as a condition', status({ status: { conditions: [peers] } })],
  ['taints', onEdge({ spec: { taints: [] } })],
  ['cordoned', onEdge({ spec: { unschedulable: true } })],
  ['a Node that is no edge says that it is well', patch(`${NODES}/writer/status`, { status: { phase: 'Running' } })],
  ['a Pod', mirror({}, {})],
  ['a mirror with a Secret', mirror({ volumes: [{ name: 'v', secret: { secretName: 's' } }] })],
  ['a mirror that a ReplicaSet owns', mirror({}, undefined, owner('apps/v1', 'ReplicaSet', 'x'))],
  ["a mirror that another's Node owns", mirror({}, undefined, owner('v1', 'Node', 'writer'))],
  ['a Pod of an edge that nobody deleted', remove(`${PODS}/bridged-pod`)],
  ['a label by the status of a Pod', patch(`${PODS}/bridged-pod/status`, { metadata: { labels: { a: 'b' } } })],
  ['a Lease in the name of another', lease('row', 'other')],
  ['a ConfigMap of ours', configMap('edge-health-x')],
  ['a ConfigMap of ours goes', remove(`${CONFIG_MAPS}/bridged-config`)],
  ['a token that ends with nothing', token(undefined)],
  ['an Event about something else', event('ConfigMap')],
  ['another Secret', secret('row')],
  ['a token in a Secret', secret('tokensecret', SECRETS, { type: 'kubernetes.io/service-account-token', metadata: { name: 'tokensecret', annotations: { 'kubernetes.io/service-account.name': 'default' } } })],
] // prettier-ignore

/** With its own rights. */
export const BRIDGE: readonly Row[] = [
  ...rows('bridge-writes', REFUSED),
  ...rows('nobody', [
    ['a Node of an edge', post(NODES, node('row', { labels: { ...LABEL, shop: 'x' } }))],
    ['… is well', status({ status: { conditions: [{ type: 'Ready', status: 'True', reason: 'EdgeReady', message: 'x' }] } })],
    ['… has a label of its own', onEdge({ metadata: { labels: { shop: 'y' }, annotations: { shop: 'z' } } })],
    ['the Lease of a node', lease('row')],
    ['a mirror of its own Pod', mirror({})],
    ['… owned by its Node', mirror({}, undefined, owner('v1', 'Node', EDGE))],
    ['a Pod runs', patch(`${PODS}/bridged-pod/status`, { status: { phase: 'Running' } })],
    ['an Event about a Node', event('Node')],
    ['what an edge holds', post(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bridge-record-x' } })],
    ['… which goes with its Node', remove(`${CONFIG_MAPS}/bridge-record-bridged`)],
    ['an authority', secret('casecret')],
    ['a token for new edges', secret('tokensecret')],
    ['a Secret is read', { method: 'GET', path: '/api/v1/namespaces/edge-system/secrets' }],
  ]),
  ...rows('rights', [
    ['a Node is deleted', remove(`${NODES}/${EDGE}`)],
    ['a Lease is deleted', remove(`${LEASES}/writer`)],
    ['another Lease of ours', lease('edge-health-grids', 'x', '/apis/coordination.k8s.io/v1/namespaces/default/leases')],
    ['the authority is replaced', patch(`${SECRETS}/casecret`, { data: {} })],
    ['a Deployment', post('/apis/apps/v1/namespaces/default/deployments', {})],
  ]),
] // prettier-ignore

/** When somebody has made it cluster-admin: the policy refuses. */
export const BRIDGE_AS_ADMIN: readonly Row[] = rows('bridge-writes', [
  ...REFUSED,
  ['a Node is deleted', remove(`${NODES}/${EDGE}`)],
  ['a Lease is deleted', remove(`${LEASES}/writer`)],
  ['another Lease of ours', lease('edge-health-grids', 'x', OWN_LEASES)],
  ['a Secret anywhere', secret('tokensecret', '/api/v1/namespaces/default/secrets')],
  ['a role', post('/apis/rbac.authorization.k8s.io/v1/clusterroles', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'row' } })],
]) // prettier-ignore
