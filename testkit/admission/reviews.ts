// SPDX-License-Identifier: Apache-2.0
// AdmissionReviews as an apiserver of Kubernetes 1.36 sends them, and what they are about.
import { applyJsonPatch } from '../../core/json-patch.js'
import type { JsonMap } from '../../core/json.js'
import { decideReview, type Known, type ReviewPath } from '../../admission/model/decide.js'
import type { Decision } from '../../admission/model/decision.js'
import type { FoundNode } from '../../admission/model/nodes.js'
import { parseReview } from '../../admission/model/review.js'
import { nodeFacts, type KeepRules } from '../../admission/model/standing.js'

/** When the writes under review are stamped. */
export const STAMP = Date.parse('2026-11-22T12:00:00Z')
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

export const UNREACHABLE = 'node.kubernetes.io/unreachable'
export const NO_EXECUTE = { key: UNREACHABLE, effect: 'NoExecute', timeAdded: iso(STAMP) }
export const NO_SCHEDULE = { key: UNREACHABLE, effect: 'NoSchedule', timeAdded: iso(STAMP) }
export const FOREIGN = { key: 'example.com/foreign', effect: 'NoSchedule' }

export const VOUCHED: KeepRules = { mode: 'vouched', freshForMs: 30_000, keepsMarked: false }
export const SUPEREDGE: KeepRules = { ...VOUCHED, mode: 'superedge' }

/** How a Node differs from one that the control plane does not hear and for which its peers vouched 5 s ago. */
export interface NodeOdds {
  readonly name?: string
  readonly ready?: string
  readonly isMarked?: boolean
  readonly word?: { readonly status?: string; readonly reason?: string; readonly agoMs?: number }
  readonly taints?: unknown
  /** The apiserver's stamp on the write. @default STAMP; undefined: none */
  readonly stamp?: number | undefined
}

export const managedFields = (stamp: number | undefined): readonly JsonMap[] =>
  stamp === undefined
    ? []
    : [
        { manager: 'kubelet', operation: 'Update', time: iso(stamp - 60_000) },
        { manager: 'kube-controller-manager', operation: 'Update', time: iso(stamp) },
      ]

export const makeNode = (odds: NodeOdds = {}): JsonMap => {
  const { name = 'n1', ready = 'Unknown', isMarked = false, word = {}, taints } = odds
  const stamp = 'stamp' in odds ? odds.stamp : STAMP
  const { status = 'True', reason = 'CloudLinkCut', agoMs = 5_000 } = word
  return {
    metadata: {
      name,
      annotations: { foreign: 'x', ...(isMarked ? { nodeunhealth: 'yes' } : {}) },
      managedFields: managedFields(stamp),
    },
    spec: { podCIDR: '10.0.0.0/24', taints: taints ?? [FOREIGN, NO_SCHEDULE, NO_EXECUTE] },
    status: {
      conditions: [
        { type: 'MemoryPressure', status: 'Unknown' },
        ...(ready === '' ? [] : [{ type: 'Ready', status: ready }]),
        { type: 'PeerHealth', status, reason, lastHeartbeatTime: iso(STAMP - agoMs) },
      ],
    },
  }
}

const PLACES: Readonly<
  Record<ReviewPath, readonly [group: string, resource: string, sub: string]>
> = {
  '/node-taint': ['', 'nodes', ''],
  '/pod-status': ['', 'pods', 'status'],
  '/endpoint': ['', 'endpoints', ''],
  '/endpointslice': ['discovery.k8s.io', 'endpointslices', ''],
}

const WRITERS: Readonly<Record<ReviewPath, string>> = {
  '/node-taint': 'node-controller',
  '/pod-status': 'node-controller',
  '/endpoint': 'endpoint-controller',
  '/endpointslice': 'endpointslice-controller',
}

/** The object before the write under review: without the entry of that write in managedFields. */
const before = (object: unknown): unknown => {
  const metadata = (object as { readonly metadata?: JsonMap } | null)?.metadata
  const entries = metadata?.['managedFields'] as readonly JsonMap[] | undefined
  if (entries === undefined) return object
  const earlier = entries.filter(({ manager }) => manager !== 'kube-controller-manager')
  return { ...(object as JsonMap), metadata: { ...metadata, managedFields: earlier } }
}

/** A review as it is sent; `more` replaces parts of its request. */
export const makeReview = (
  path: ReviewPath,
  object: unknown,
  oldObject: unknown = object,
  more: JsonMap = {},
): JsonMap => {
  const [group, resource, subResource] = PLACES[path]
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
      kind: { group, version: 'v1', kind: 'Any' },
      resource: { group, version: 'v1', resource },
      ...(subResource === '' ? {} : { subResource, requestSubResource: subResource }),
      requestKind: { group, version: 'v1', kind: 'Any' },
      requestResource: { group, version: 'v1', resource },
      name: 'any',
      ...(resource === 'nodes' ? {} : { namespace: 'shop' }),
      operation: 'UPDATE',
      userInfo: { username: `system:serviceaccount:kube-system:${WRITERS[path]}`, groups: [] },
      object,
      oldObject: before(oldObject),
      dryRun: false,
      options: { kind: 'UpdateOptions', apiVersion: 'meta.k8s.io/v1' },
      ...more,
    },
  }
}

/** What a program knows that heard of these Nodes. */
export const knowing = (
  nodes: readonly NodeOdds[],
  rules: KeepRules = VOUCHED,
  more: Partial<Known> = {},
): Known => {
  const known = new Map(
    nodes.map(odds => {
      const node = nodeFacts(makeNode(odds))
      return [node.name, node]
    }),
  )
  const find = (name: string): FoundNode => {
    const node = known.get(name)
    return node === undefined ? { kind: 'absent' } : { kind: 'known', node }
  }
  const untouched = new Set(['kube-system', 'edge-system'])
  return { rules, find, untouched, serverTime: undefined, ...more }
}

export const decideOn = (path: ReviewPath, review: JsonMap, known: Known): Decision =>
  decideReview(path, parseReview(review), known)

/** The object after a decision; throws when the patch does not apply. */
export const after = (object: unknown, decision: Decision): unknown => {
  if (decision.kind !== 'changed') return object
  const patched = applyJsonPatch(object, decision.patch)
  if (!patched.ok) throw new Error(`operation ${patched.at}: ${patched.trouble}`)
  return patched.value
}

/** A Pod of a node. */
export const makePod = (node: string | undefined, ready: string): JsonMap => ({
  metadata: { name: 'web-0', namespace: 'shop', managedFields: managedFields(STAMP) },
  spec: node === undefined ? {} : { nodeName: node },
  status: {
    conditions: [
      { type: 'Initialized', status: 'True' },
      { type: 'Ready', status: ready },
    ],
  },
})

/** An address of a Pod of this number. */
export const makeAddress = (
  pod: number,
  nodeName: string | undefined,
  more: JsonMap = {},
): JsonMap => ({
  ip: `10.0.0.${pod}`,
  ...(nodeName === undefined ? {} : { nodeName }),
  targetRef: { kind: 'Pod', namespace: 'shop', name: `web-${pod}`, uid: `uid-${pod}` },
  ...more,
})

/** Core Endpoints with one subset. */
export const makeEndpoints = (ready: readonly unknown[], unready: readonly unknown[]): JsonMap => ({
  metadata: { name: 'web', namespace: 'shop', managedFields: managedFields(STAMP) },
  subsets: [
    {
      ...(ready.length === 0 ? {} : { addresses: ready }),
      ...(unready.length === 0 ? {} : { notReadyAddresses: unready }),
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    },
  ],
})

export const makeEndpoint = (
  pod: number,
  nodeName: string | undefined,
  conditions: JsonMap,
): JsonMap => {
  const { ip, ...more } = makeAddress(pod, nodeName)
  return { addresses: [ip], conditions, ...more }
}

export const makeSlice = (endpoints: readonly unknown[]): JsonMap => ({
  metadata: { name: 'web-abc', namespace: 'shop', managedFields: managedFields(STAMP) },
  addressType: 'IPv4',
  endpoints,
  ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
})
