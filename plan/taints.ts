// SPDX-License-Identifier: Apache-2.0
import type { NodeView, Taint } from '../core/node.js'
import type { OwnTaint } from './options.js'
import { NOTHING, type NodePlan, type PatchOperation } from './patch.js'

/** Two taints are the same one to Kubernetes if key and effect agree. */
export const isSameTaint = (a: OwnTaint, b: OwnTaint): boolean =>
  a.key === b.key && a.effect === b.effect

const isEqual = (a: OwnTaint, b: OwnTaint): boolean =>
  isSameTaint(a, b) && (a.value ?? '') === (b.value ?? '')

/** `timeAdded` belongs to NoExecute only: the control plane counts tolerations from it. */
const dated = (taint: OwnTaint, at: string): Taint => ({
  key: taint.key,
  ...(taint.value === undefined ? {} : { value: taint.value }),
  effect: taint.effect,
  ...(taint.effect === 'NoExecute' ? { timeAdded: at } : {}),
})

/** What should change in a node's taints. */
export interface TaintChange {
  /** Whether a present taint is to go. */
  readonly unwanted: (taint: Taint) => boolean
  readonly wanted: readonly OwnTaint[]
  /** RFC 3339, for `timeAdded`. */
  readonly at: string
}

/**
 * A JSON patch of `/spec/taints`: the list is atomic, so that a merge with one taint would wipe out the others. It
 * removes from the end, since each removal shifts what follows, and touches no foreign taint. A node without taints
 * has no such field at all.
 */
export const planTaints = (node: NodeView, change: TaintChange): NodePlan => {
  const added = change.wanted.filter(want => !node.taints.some(taint => isEqual(taint, want)))
  const goes = (taint: Taint): boolean =>
    change.unwanted(taint) || added.some(want => isSameTaint(taint, want))
  const removals: PatchOperation[] = []
  node.taints.forEach((taint, place) => {
    if (goes(taint)) removals.unshift({ op: 'remove', path: `/spec/taints/${place}` })
  })
  const fresh = added.map(want => dated(want, change.at))
  const additions: PatchOperation[] =
    node.taints.length === 0 && fresh.length > 0
      ? [{ op: 'add', path: '/spec/taints', value: fresh }]
      : fresh.map(value => ({ op: 'add', path: '/spec/taints/-', value }))
  const changes = [...removals, ...additions]
  if (changes.length === 0) return NOTHING
  const guard: PatchOperation = {
    op: 'test',
    path: '/metadata/resourceVersion',
    value: node.resourceVersion,
  }
  return { kind: 'taints', patch: { type: 'json', operations: [guard, ...changes] } }
}
