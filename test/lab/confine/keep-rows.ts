// SPDX-License-Identifier: Apache-2.0
// deploy/components/keep goes by the apiserver's stamp on a write: whether stamps that somebody forged before change that.
import { mapsAt } from '../../../core/json-at.js'
import type { Sent } from './bed.js'
import { untilSo } from './policies.js'
import { condition, FAR, iso, JSON_PATCH, metadata, NODES, patch } from './requests.js'
import type { Scene } from './scene.js'

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const KEY = 'node.kubernetes.io/unreachable'
const TAINT = { spec: { taints: [{ key: KEY, effect: 'NoExecute' }] } }

/** An entry of managedFields of 2099. */
const forged = (node: string, manager: string): Sent => {
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { 'f:foreign': {} } } }
  const kind = { operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' }
  const value = { manager, time: FAR, ...kind, fieldsV1 }
  const add = { op: 'add', path: '/metadata/managedFields/-', value }
  return patch(`${NODES}/${node}`, JSON_PATCH, [add])
}

interface Case {
  readonly what: string
  readonly isKept: boolean
  /** When peers said that they vouch. */
  readonly ageMs?: number
  readonly by?: 'agent' | 'admin'
  /** The node controller has written the Node in this very second. */
  readonly isTwice?: boolean
  /** What is sent before the node controller puts its taint on, and must pass. */
  readonly sends?: (node: string) => readonly Sent[]
}

const CASES: readonly Case[] = [
  { what: 'a Node that peers vouch for is kept', isKept: true },
  { what: 'by a word of a minute ago it is not', isKept: false, ageMs: 60_000 },
  {
    ...{ what: 'it is, although its token stamped it with 2099', isKept: true, by: 'agent' },
    sends: node => [forged(node, 'edge-health-agent')],
  },
  {
    ...{ what: '… and an administrator as somebody else', isKept: true, by: 'admin' },
    sends: node => [forged(node, 'other'), forged(node, 'ancient-changes')],
  },
  {
    ...{ what: '… by a word of a minute ago it is not', isKept: false, ageMs: 60_000, by: 'agent' },
    sends: node => [forged(node, 'edge-health-agent')],
  },
  {
    ...{ what: 'without managedFields it is not, and may be written', isKept: false, by: 'admin' },
    sends: node => [metadata(node, { managedFields: [{}] })],
  },
  {
    ...{ what: 'it is, when the node controller writes twice in a second', isKept: true },
    isTwice: true,
  },
  {
    ...{ what: '… and its token stamped it with 2099', isKept: true, by: 'agent', isTwice: true },
    sends: node => [forged(node, 'edge-health-agent')],
  },
  {
    ...{ what: '… by a word of a minute ago it is not', isKept: false, ageMs: 60_000, by: 'agent' },
    ...{ isTwice: true, sends: node => [forged(node, 'edge-health-agent')] },
  },
]

/** @returns what is not as it must be */
const troubleOf = async (
  { plane, bed, signal }: Scene,
  { isKept, ageMs = 0, by = 'agent', isTwice = false, sends = () => [] }: Case,
): Promise<string | undefined> => {
  const { admin } = plane
  const node = await bed.anyNode('plain')
  const at = iso(Date.now(), -ageMs)
  const conditions = [
    condition('Ready', 'Unknown', 'NodeStatusUnknown', at),
    condition('PeerHealth', 'True', 'CloudLinkCut', at),
  ]
  await admin.patch(`${NODES}/${node}/status`, 'strategic-merge', { status: { conditions } }, signal) // prettier-ignore
  for (const sent of sends(node)) {
    const { status, message } = await bed.send(by, sent)
    if (status !== 200) return `a forged stamp is refused: ${status} ${message}`
  }
  const path = `${NODES}/${node}?fieldManager=node-controller`
  const label = { metadata: { labels: { once: 'x' } } }
  if (isTwice) await admin.patch(path, 'strategic-merge', label, signal)
  const after = await admin.patch(path, 'strategic-merge', TAINT, signal)
  const isTainted = mapsAt(after, 'spec', 'taints').some(({ key }) => key === KEY)
  return isTainted === isKept ? `the taint is ${isKept ? 'on' : 'off'}` : undefined
}

/** With `folder`, deploy/base beside vouch-taint and keep, where the apiserver serves MutatingAdmissionPolicies. */
export const playKeep = async (seams: Scene, folder: string): Promise<void> => {
  const { plane, table, say, signal } = seams
  const served = await plane.admin.get(ADMISSION, signal)
  if (!mapsAt(served, 'resources').some(({ name }) => name === 'mutatingadmissionpolicies')) {
    say('deploy/components/keep: not played, this Kubernetes has no MutatingAdmissionPolicies')
    return
  }
  await plane.kubectl(['apply', '-k', folder])
  say('with deploy/components/keep:')
  // It takes a second or two to bite.
  await untilSo(() => troubleOf(seams, CASES[0]!), signal)
  for (const each of CASES) {
    const trouble = await troubleOf(seams, each)
    if (trouble === undefined) say(`  ok     ${each.what}`)
    else table.failed(`${each.what}: ${trouble}`)
  }
  await plane.kubectl(['delete', '-k', 'deploy/components/keep'])
  await plane.kubectl(['apply', '-k', 'deploy/base'])
}
