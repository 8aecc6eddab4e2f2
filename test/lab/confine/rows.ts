// SPDX-License-Identifier: Apache-2.0
// The table of writes: who, what, and what must become of it.
import type { Before, Sent, Writer } from './bed.js'
import {
  ancient,
  APPLY,
  beginLease,
  beginNode,
  condition,
  configMap,
  CUT,
  dead,
  entry,
  elsewhere,
  event,
  EVENTS,
  FAR,
  type Given,
  held,
  IDENTITY,
  iso,
  JSON_PATCH,
  lease,
  LEASES,
  MANAGER,
  marks,
  MERGE,
  metadata,
  micro,
  newNode,
  NODES,
  operations,
  patch,
  peerHealth,
  renew,
  statusOf,
  token,
} from './requests.js'

/** Who refuses: RBAC, a policy by what follows `edge-health-` in its name, or nobody. */
export type Refuser =
  | 'nobody'
  | 'rights'
  | 'agent-nodes'
  | 'agent-leases'
  | 'agent-events'
  | 'agent-others'
  | 'wrapper-writes'
  | 'webhook-writes'
  | 'bridge-writes'
  /** The token is not believed. */
  | 'authentication'

/** One write of the table. */
export interface Row {
  readonly what: string
  readonly refusedBy: Refuser
  /** @default 'agent' */
  readonly by?: Writer
  /** Of a Node that is made for this row; a Node that was there is named in the path. @default 'plain' */
  readonly before?: Before
  /** One request after the other; what is judged is the last, and all before it must pass. */
  readonly sends: (node: string, now: number) => readonly Sent[]
}

const one =
  (make: (node: string, now: number) => Sent): Row['sends'] =>
  (node, now) => [make(node, now)]

const vouchedMarks = {
  labels: { 'edge-health/vouched': 'true' },
  annotations: { 'edge-health/reason': 'because' },
}
const noMarks = {
  annotations: { nodeunhealth: null, 'edge-health/reason': null },
  labels: { 'edge-health/vouched': null },
}

/** What agents do. */
const ALLOWED: readonly Row[] = [
  ['a Node is marked dead', 'plain', dead],
  ['… the marks go', 'condemned', (n: string, now: number) => marks(n, { ...noMarks, conditions: peerHealth(now, 'True', 'PeersReachNode') })],
  ['a Node is marked as vouched for, with the label', 'plain', (n: string, now: number) => marks(n, { ...vouchedMarks, conditions: peerHealth(now, 'True', 'CloudLinkCut') })],
  ['… the marks go', 'vouched', (n: string, now: number) => marks(n, { ...noMarks, conditions: peerHealth(now, 'True', 'PeersReachNode') })],
  ['… the label alone goes', 'vouched', (n: string) => marks(n, { labels: { 'edge-health/vouched': null } })],
  ['a vouched Node dies', 'vouched', (n: string, now: number) => marks(n, { labels: { 'edge-health/vouched': null }, annotations: { nodeunhealth: 'yes', 'edge-health/reason': 'dead' }, conditions: peerHealth(now, 'False', 'PeersCannotReach') })],
  ['a Node that left is not judged', 'condemned', (n: string, now: number) => marks(n, { ...noMarks, conditions: peerHealth(now, 'Unknown', 'NotJudged') })],
  ['a time one second ahead', 'plain', (n: string, now: number) => dead(n, now + 1_000)],
  ['our taint comes', 'plain', (n: string) => operations(n, { op: 'add', path: '/spec/taints/-', value: CUT })],
  ['our taint goes', 'vouched', (n: string) => operations(n, { op: 'test', path: '/spec/taints/1/key', value: CUT.key }, { op: 'remove', path: '/spec/taints/1' })],
  ['Ready Unknown becomes True, since peers vouch', 'silent', (n: string, now: number) => statusOf(n, { conditions: [condition('Ready', 'True', 'PeersVouch', iso(now))] })],
  ['a Lease is renewed', 'plain', (n: string, now: number) => renew(n, micro(now))],
  ['… one second ahead', 'plain', (n: string, now: number) => renew(n, micro(now, 1_000))],
  ['a patch that changes nothing', 'plain', (n: string) => marks(n, {})],
  ['annotations through the Node itself', 'plain', (n: string) => metadata(n, { annotations: { 'edge-health/reason': 'because' } })],
  ['its own identity comes', 'plain', () => metadata('writer', { annotations: { [IDENTITY]: 'key' } })],
  ['… and goes', 'plain', () => metadata('writer', { annotations: { [IDENTITY]: null } })],
  ['a patch of its own Node that changes nothing', 'plain', () => metadata('writer', {})],
  ['an Event about a Node', 'plain', (_: string, now: number) => event('Node', 'edge-health-agent', 'writer', now)],
  ['a Node is read', 'plain', (n: string) => ({ method: 'GET', path: `${NODES}/${n}` })],
  ['a Node that many wrote is marked dead', 'busy', dead],
  ['a Lease that many wrote is renewed', 'busy', (n: string, now: number) => renew(n, micro(now))],
  ['a write without a word of time by a dry run', 'plain', (n: string) => metadata(n, { annotations: { nodeunhealth: 'yes' } }, `${MANAGER}&dryRun=All`)],
].map(([what, before, make]) => ({ what, before, refusedBy: 'nobody', sends: one(make as never) }) as Row) // prettier-ignore

type Short = readonly [what: string, make: (node: string, now: number) => Sent, before?: Before]

const refused = (refusedBy: Refuser, rows: readonly Short[], by?: Writer): readonly Row[] =>
  rows.map(([what, make, before = 'plain']) => ({
    ...{ what, before, refusedBy, sends: one(make) },
    ...(by === undefined ? {} : { by }),
  }))

const ALLOWED_STEPS: readonly Row[] = [
  {
    ...{ what: 'our taint first, marks after it', refusedBy: 'nobody' },
    sends: (node, now) => [
      operations(node, { op: 'add', path: '/spec/taints/-', value: CUT }),
      dead(node, now),
    ],
  },
  {
    ...{ what: 'managedFields begin, and a Node is marked dead', refusedBy: 'nobody' },
    ...{ before: 'unstamped', sends: (node, now) => [beginNode(node), dead(node, now)] },
  },
  {
    ...{ what: '… and a Lease is renewed', refusedBy: 'nobody', before: 'unstamped' },
    sends: (node, now) => [beginLease(node), renew(node, micro(now))],
  },
]

const REFUSED_NODES = refused('agent-nodes', [
  ['a label', n => metadata(n, { labels: { zone: 'b' } })],
  ['a label goes', n => metadata(n, { labels: { zone: null } })],
  ['a role by label', n => metadata(n, { labels: { 'node-role.kubernetes.io/control-plane': '' } })],
  ['edge-health/vouched without the marks', n => marks(n, { labels: { 'edge-health/vouched': 'true' } })],
  ['edge-health/vouched=yes', (n, now) => marks(n, { labels: { 'edge-health/vouched': 'yes' }, conditions: peerHealth(now, 'True', 'CloudLinkCut') })],
  ['edge-health/vouched on a condemned Node', (n, now) => marks(n, { labels: { 'edge-health/vouched': 'true' }, conditions: peerHealth(now, 'True', 'CloudLinkCut') }), 'condemned'],
  ['another label of our prefix', n => metadata(n, { labels: { 'edge-health/other': 'x' } })],
  ['an annotation', n => marks(n, { annotations: { foreign: 'y' } })],
  ['an annotation goes', n => marks(n, { annotations: { foreign: null } })],
  ['another annotation of our prefix', n => marks(n, { annotations: { 'edge-health/other': 'x' } })],
  ["another Node's identity", n => metadata(n, { annotations: { [IDENTITY]: 'key' } })],
  ['nodeunhealth=no', n => marks(n, { annotations: { nodeunhealth: 'no' } })],
  ['a reason of 5000 characters', n => marks(n, { annotations: { 'edge-health/reason': 'x'.repeat(5_000) } })],
  ['a finalizer', n => metadata(n, { finalizers: ['example.com/held'] })],
  ['an owner', n => metadata(n, { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] })],
  ['cordoned', n => patch(`${NODES}/${n}`, MERGE, { spec: { unschedulable: true } })],
  ['a provider', n => patch(`${NODES}/${n}`, MERGE, { spec: { providerID: 'x://y' } })],
  ['a foreign taint comes', n => operations(n, { op: 'add', path: '/spec/taints/-', value: { key: 'example.com/x', effect: 'NoSchedule' } })],
  ['a foreign taint goes', n => operations(n, { op: 'remove', path: '/spec/taints/0' })],
  ['all taints go', n => patch(`${NODES}/${n}`, MERGE, { spec: { taints: null } }), 'silent'],
  ['foreign taints change places', n => operations(n, { op: 'move', from: '/spec/taints/0', path: '/spec/taints/2' }), 'silent'],
  ['our taint, NoExecute', n => operations(n, { op: 'add', path: '/spec/taints/-', value: { ...CUT, effect: 'NoExecute' } })],
  ['unreachable:NoExecute goes', n => operations(n, { op: 'remove', path: '/spec/taints/2' }), 'silent'],
  ['unreachable:NoSchedule goes', n => operations(n, { op: 'remove', path: '/spec/taints/1' }), 'silent'],
  ['unreachable:NoExecute comes', n => operations(n, { op: 'add', path: '/spec/taints/-', value: { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' } })],
  ['another condition', (n, now) => statusOf(n, { conditions: [condition('MemoryPressure', 'True', 'x', iso(now))] })],
  ['a new condition', (n, now) => statusOf(n, { conditions: [condition('Mine', 'True', 'x', iso(now))] })],
  ['Ready True becomes False', (n, now) => statusOf(n, { conditions: [condition('Ready', 'False', 'x', iso(now))] })],
  ['Ready Unknown becomes False', (n, now) => statusOf(n, { conditions: [condition('Ready', 'False', 'PeersVouch', iso(now))] }), 'silent'],
  ['Ready Unknown becomes True for another reason', (n, now) => statusOf(n, { conditions: [condition('Ready', 'True', 'KubeletReady', iso(now))] }), 'silent'],
  ['the heartbeat of Ready True', (n, now) => statusOf(n, { conditions: [condition('Ready', 'True', 'PeersVouch', iso(now))] })],
  ['Ready goes', n => patch(`${NODES}/${n}/status`, JSON_PATCH, [{ op: 'remove', path: '/status/conditions/1' }])],
  ['Ready of a Node that is condemned with the same write', (n, now) => marks(n, { annotations: { nodeunhealth: 'yes' }, conditions: [condition('Ready', 'True', 'PeersVouch', iso(now))] }), 'silent'],
  ['PeerHealth twice', (n, now) => patch(`${NODES}/${n}/status`, JSON_PATCH, [1, 2].map(() => ({ op: 'add', path: '/status/conditions/-', value: peerHealth(now, 'True', 'PeersReachNode')[0] })))],
  ['Ready with times of 2099', n => statusOf(n, { conditions: [condition('Ready', 'True', 'PeersVouch', FAR)] }), 'silent'],
  ['Ready with a heartbeat of 2099', (n, now) => statusOf(n, { conditions: [{ ...condition('Ready', 'True', 'PeersVouch', iso(now)), lastHeartbeatTime: FAR }] }), 'silent'],
  // In whole seconds: at 3 s the next one may have begun before the write is stamped.
  ['PeerHealth 3.5 s ahead', (n, now) => dead(n, now + 3_500)],
  ['PeerHealth 5 s ahead', (n, now) => dead(n, now + 5_000)],
  ['PeerHealth since 2099', (n, now) => marks(n, { conditions: [{ ...peerHealth(now, 'True', 'PeersReachNode')[0], lastTransitionTime: FAR }] })],
  ['capacity', n => statusOf(n, { capacity: { cpu: '400' } })],
  ['allocatable', n => statusOf(n, { allocatable: { cpu: '0' } })],
  ['an address', n => statusOf(n, { addresses: [{ type: 'InternalIP', address: '10.0.0.9' }] })],
  ['the versions of its programs', n => statusOf(n, { nodeInfo: { kubeletVersion: 'v0.0.1' } })],
  ['the port of its kubelet', n => statusOf(n, { daemonEndpoints: { kubeletEndpoint: { Port: 1 } } })],
  ['its images', n => statusOf(n, { images: [{ names: ['x'], sizeBytes: 1 }] })],
  ['as another field manager', (n, now) => dead(n, now, 'fieldManager=other')],
  ['marks go as another field manager', n => marks(n, { annotations: { nodeunhealth: null } }, 'fieldManager=other'), 'condemned'],
  ['as no field manager', (n, now) => dead(n, now, 'pretty=true')],
  ['managedFields of another', n => metadata(n, { managedFields: [{ ...entry('Update', '', 'other'), apiVersion: 'v1', fieldsV1: { 'f:metadata': { 'f:labels': {} } } }] })],
  ['a time on a Node without managedFields', dead, 'unstamped'],
  ["managedFields as the apiserver's own", n => ancient(`${NODES}/${n}`)],
  ['… of 2099', n => ancient(`${NODES}/${n}`, { time: FAR })],
  ['… of 2099, of a Node that many wrote', n => operations(n, { op: 'test', path: '/metadata/managedFields/0/manager', value: 'ancient-changes' }, { op: 'replace', path: '/metadata/managedFields/0/time', value: FAR }), 'busy'],
  ['server-side apply', (n, now) => patch(`${NODES}/${n}/status`, APPLY, { apiVersion: 'v1', kind: 'Node', metadata: { name: n }, status: { conditions: peerHealth(now, 'True', 'PeersReachNode') } }, `${MANAGER}&force=true`)],
]) // prettier-ignore

const REFUSED_OWN = refused('agent-nodes', [
  ['its own Node is marked dead', (_, now) => dead('writer', now)],
  ['its own Node is vouched for', (_, now) => marks('writer', { ...vouchedMarks, conditions: peerHealth(now, 'True', 'CloudLinkCut') })],
  ['its own PeerHealth', (_, now) => marks('writer', { conditions: peerHealth(now, 'True', 'PeersReachNode') })],
  ['its own Ready', (_, now) => statusOf('writer', { conditions: [condition('Ready', 'True', 'PeersVouch', iso(now))] })],
  ['our taint on its own Node', () => operations('writer', { op: 'add', path: '/spec/taints/-', value: CUT })],
  ['a label of its own Node', () => metadata('writer', { labels: { zone: 'b' } })],
  ['another annotation of its own Node', () => metadata('writer', { annotations: { foreign: 'y' } })],
]) // prettier-ignore

const REFUSED_LEASES = refused('agent-leases', [
  ["its own node's Lease", (_, now) => renew('writer', micro(now))],
  ['a Lease of 2099', n => renew(n, micro(Date.parse(FAR)))],
  ['nothing of a Lease, as another field manager', n => lease(n, {}, 'fieldManager=other')],
  ['a Lease is renewed as another field manager', (n, now) => renew(n, micro(now), 'fieldManager=other')],
  ['a Lease 3 s ahead', (n, now) => renew(n, micro(now, 3_000))],
  ['a Lease 5 s ahead', (n, now) => renew(n, micro(now, 5_000))],
  ['a Lease goes back', (n, now) => renew(n, micro(now, -60_000))],
  ['a Lease loses its time', n => lease(n, { spec: { renewTime: null } })],
  ["a Lease's holder", n => lease(n, { spec: { holderIdentity: 'other' } })],
  ["a Lease's duration", n => lease(n, { spec: { leaseDurationSeconds: 3_600 } })],
  ['since when it is held', (n, now) => lease(n, { spec: { acquireTime: micro(now) } })],
  ["a Lease's transitions", n => lease(n, { spec: { leaseTransitions: 7 } })],
  ["a Lease's label", n => lease(n, { metadata: { labels: { given: 'y' } } })],
  ["a Lease's annotation", n => lease(n, { metadata: { annotations: { x: 'y' } } })],
  ["a Lease's owner", n => lease(n, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'x', uid: 'x' }] } })],
  ['2099 with a forged stamp of another operation', n => lease(n, { metadata: { managedFields: [entry('Apply', '')] }, spec: { renewTime: micro(Date.parse(FAR)) } })],
  ['2099 with a forged stamp of another subresource', n => lease(n, { metadata: { managedFields: [entry('Update', 'status')] }, spec: { renewTime: micro(Date.parse(FAR)) } })],
  ['2099 with a forged stamp of this very kind', n => lease(n, { metadata: { managedFields: [entry('Update', '')] }, spec: { renewTime: micro(Date.parse(FAR)) } })],
  ['2099 as another manager, with its forged stamp', n => lease(n, { metadata: { managedFields: [entry('Update', '', 'other')] }, spec: { renewTime: micro(Date.parse(FAR)) } }, 'fieldManager=other')],
  ['2099 as no manager', n => renew(n, micro(Date.parse(FAR)), 'pretty=true')],
  ["a Lease's managedFields as the apiserver's own", n => ancient(`${LEASES}/${n}`)],
  ['… of 2099', n => ancient(`${LEASES}/${n}`, { time: FAR })],
  ['a Lease without managedFields is renewed', (n, now) => renew(n, micro(now)), 'unstamped'],
  ['managedFields are taken away', n => lease(n, { metadata: { managedFields: [{}] } })],
]) // prettier-ignore

const forgeFirst = (what: string, last: (node: string) => Sent): Row => ({
  ...{ what, refusedBy: 'agent-leases' },
  sends: node => [lease(node, { metadata: { managedFields: [entry('Update', '')] } }), last(node)],
})
const applied = (node: string): Sent =>
  patch(
    `${LEASES}/${node}`,
    APPLY,
    {
      ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: node } },
      spec: { renewTime: micro(Date.parse(FAR)) },
    },
    `${MANAGER}&force=true`,
  )

/** First an entry of 2099 as its own, which is there then for others to have that time from. */
const buried = (node: string): readonly Sent[] => {
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { 'f:foreign': {} } } }
  const at = { operation: 'Update', apiVersion: 'v1', time: FAR, fieldsType: 'FieldsV1', fieldsV1 }
  const own = { manager: 'edge-health-agent', ...at }
  const others = Array.from({ length: 9 }, (_, i) => ({
    ...{ manager: 'ancient-changes', subresource: `s${i}`, ...at },
  }))
  const path = '/metadata/managedFields'
  return [
    operations(node, { op: 'add', path: `${path}/-`, value: own }),
    operations(node, { op: 'replace', path, value: [own, ...others] }),
  ]
}

const REFUSED_STEPS: readonly Row[] = [
  {
    ...{ what: 'managedFields begin, and then 2099', refusedBy: 'agent-nodes' },
    ...{ before: 'unstamped', sends: node => [beginNode(node), dead(node, Date.parse(FAR))] },
  },
  {
    ...{ what: '… of a Lease', refusedBy: 'agent-leases', before: 'unstamped' },
    sends: node => [beginLease(node), renew(node, micro(Date.parse(FAR)))],
  },
  {
    ...{ what: 'stamps of 2099 under which honest ones are the oldest', refusedBy: 'agent-nodes' },
    ...{ before: 'busy', sends: buried },
  },
  forgeFirst('a forged stamp first, then 2099', node => renew(node, micro(Date.parse(FAR)))),
  forgeFirst('a forged stamp first, then 2099 by server-side apply', applied),
]

/** Writes about others, of which the token's own Node is no part. */
const OF_OTHERS = ['a Node is marked dead', 'a Lease is renewed']

const REFUSED_TOKENS: readonly Row[] = [
  ...refused('agent-nodes', [['a Node is marked dead', dead]], 'agent, unbound'),
  ...refused('agent-leases', [['a Lease is renewed', (n, now) => renew(n, micro(now))]], 'agent, unbound'),
  ...refused('agent-events', [['an Event', (_, now) => event('Node', 'edge-health-agent', 'writer', now)]], 'agent, unbound'),
  { ...ALLOWED[0]!, by: 'agent, bound to the Node' },
  ...refused('agent-nodes', [['its own Node is marked dead', (_, now) => dead('writer', now)]], 'agent, bound to the Node'),
  ...refused('agent-leases', [["its own node's Lease", (_, now) => renew('writer', micro(now))]], 'agent, bound to the Node'),
  ...refused('agent-nodes', [['the identity of the new Node', () => metadata('again', { annotations: { [IDENTITY]: 'key' } })]], 'agent of an earlier Node'),
  ...refused('agent-leases', [['the Lease of the new Node', (_, now) => renew('again', micro(now))]], 'agent of an earlier Node'),
  // A policy has the uid in the token, and no way to ask for the Node of that name but where that is what is written. The token
  // ends with its Pod, which whoever deletes a Node must delete, too: docs/security.md, What remains.
  { what: 'an Event about a Node', refusedBy: 'nobody', by: 'agent of an earlier Node', sends: one((_, now) => event('Node', 'edge-health-agent', 'again', now)) },
  ...ALLOWED.filter(({ what }) => OF_OTHERS.includes(what)).map(row => ({ ...row, by: 'agent of an earlier Node' as const })),
] // prettier-ignore

const REFUSED_EVENTS = refused('agent-events', [
  ['an Event about a Pod', (_, now) => event('Pod', 'edge-health-agent', 'writer', now)],
  ['an Event with a finalizer', (_, now) => held(event('Node', 'edge-health-agent', 'writer', now))],
  ["an Event in a controller's name", (_, now) => event('Node', 'node-controller', 'writer', now)],
  ["an Event in another agent's name", (_, now) => event('Node', 'edge-health-agent', 'other', now)],
]) // prettier-ignore

/** Beyond their roles: RBAC refuses. */
export const BEYOND_RIGHTS: readonly Row[] = [
  ...refused('rights', [
    ['a Node is deleted', n => ({ method: 'DELETE', path: `${NODES}/${n}` })],
    ['a Node is made', () => newNode],
    ['a Lease is deleted', n => ({ method: 'DELETE', path: `${LEASES}/${n}` })],
    ['a ConfigMap is made', () => configMap('row-')],
    ["its kubelet is asked through the apiserver", n => ({ method: 'GET', path: `${NODES}/${n}/proxy/pods` })],
  ]),
  ...refused('rights', [
    ['a Node is marked dead', dead],
    ['a Lease is renewed', (n, now) => renew(n, micro(now))],
  ], 'wrapper'),
] // prettier-ignore

/** The same and more, when somebody has made both accounts cluster-admin: the policies refuse. */
export const AS_ADMIN: readonly Row[] = [
  ...refused('agent-nodes', [
    ['a Node is deleted', n => ({ method: 'DELETE', path: `${NODES}/${n}` })],
    ['a Node is made', () => newNode],
  ]),
  ...refused('agent-leases', [
    ['a Lease is deleted', n => ({ method: 'DELETE', path: `${LEASES}/${n}` })],
    ['a Lease that is no node’s is renewed', (_, now) => elsewhere(renew('elsewhere', micro(now)))],
    ['a Lease of another kind is made', () => ({ method: 'POST', path: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases', body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'row' } } })],
  ]),
  ...refused('agent-events', [
    ['an Event elsewhere', (_, now) => elsewhere(event('Node', 'edge-health-agent', 'writer', now))],
    ['Events are deleted', () => ({ method: 'DELETE', path: EVENTS })],
    ['an Event through the older API', () => ({ method: 'POST', path: '/api/v1/namespaces/default/events', body: { apiVersion: 'v1', kind: 'Event', metadata: { generateName: 'row-' }, involvedObject: { kind: 'Node', name: 'writer' }, reason: 'x', message: 'x', type: 'Normal', source: { component: 'node-controller' } } })],
  ]),
  ...refused('agent-others', [
    ['a ConfigMap is made', () => configMap('row-')],
    ['a token of another account', () => token('edge-health-wrapper')],
    ['its kubelet is asked through the apiserver', n => ({ method: 'GET', path: `${NODES}/${n}/proxy/pods` })],
    ['a Service is deleted', () => ({ method: 'DELETE', path: '/api/v1/namespaces/default/services/kubernetes' })],
  ]),
  ...refused('wrapper-writes', [
    ['a Node is marked dead', dead],
    ['a Lease is renewed', (n, now) => renew(n, micro(now))],
    ['an Event', (_, now) => event('Node', 'edge-health-agent', 'writer', now)],
    ['a ConfigMap is made', () => configMap('row-')],
    ["a token of the agent's account", () => token('edge-health-agent')],
  ], 'wrapper'),
] // prettier-ignore

/** What no policy can keep from whoever has the right: policies are not asked about policies. */
export const UNGUARDED: readonly Row[] = [
  {
    ...{ what: 'its own policy is deleted, by dry run', refusedBy: 'nobody' },
    sends: () => [
      {
        method: 'DELETE',
        path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/edge-health-agent-nodes?dryRun=All',
      },
    ],
  },
]

/** What the deployed roles and policies together make of writes. */
export const ROWS: readonly Row[] = [
  ...ALLOWED,
  ...ALLOWED_STEPS,
  ...REFUSED_NODES,
  ...REFUSED_OWN,
  ...REFUSED_LEASES,
  ...REFUSED_STEPS,
  ...REFUSED_TOKENS,
  ...REFUSED_EVENTS,
  ...BEYOND_RIGHTS,
]

/** With a prefix before all names: their Nodes have it, too. */
export const RENAMED: readonly Row[] = [
  ...refused('agent-nodes', [
    ['a label', n => metadata(n, { labels: { zone: 'b' } })],
    ['its own Node is marked dead', (_, now) => dead('shop-writer', now)],
  ]),
  ...refused('agent-leases', [["its own node's Lease", (_, now) => renew('shop-writer', micro(now))]]),
  ...refused('agent-events', [['an Event about a Pod', (_, now) => event('Pod', 'edge-health-agent', 'shop-writer', now)]]),
  ...ALLOWED.slice(0, 5),
] // prettier-ignore

const withTaint = (effect: string, more: Given = {}) => (n: string): Sent =>
  operations(n, { op: 'add', path: '/spec/taints/-', value: { key: 'example.com/dead', effect, ...more } }) // prettier-ignore

/** With ../components/vouch-taint. */
export const WITH_VOUCH_TAINT: readonly Row[] = [
  {
    ...{ what: 'unreachable:NoExecute goes', before: 'silent', refusedBy: 'nobody' },
    sends: one(n => operations(n, { op: 'remove', path: '/spec/taints/2' })),
  },
  {
    ...{ what: 'both unreachable taints go', before: 'silent', refusedBy: 'nobody' },
    sends: one(n => operations(n, { op: 'remove', path: '/spec/taints/2' }, { op: 'remove', path: '/spec/taints/1' })), // prettier-ignore
  },
  ...refused('agent-nodes', [
    ['unreachable:NoExecute comes', n => operations(n, { op: 'add', path: '/spec/taints/-', value: { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' } })],
    ['a foreign taint goes', n => operations(n, { op: 'remove', path: '/spec/taints/0' })],
    ['unreachable of its own Node comes', () => operations('writer', { op: 'add', path: '/spec/taints/-', value: { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' } })],
  ]),
] // prettier-ignore

/** With example.com/dead:NoExecute in ownTaints. */
export const WITH_OWN_TAINT: readonly Row[] = [
  {
    ...{ what: 'a dead-taint that the policy names', refusedBy: 'nobody' },
    sends: (n, now) => [withTaint('NoExecute', { timeAdded: iso(now) })(n)],
  },
  ...refused('agent-nodes', [
    ['… since 2099', withTaint('NoExecute', { timeAdded: FAR })],
    ['… with another effect', withTaint('NoSchedule')],
  ]),
]
