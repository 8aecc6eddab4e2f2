// SPDX-License-Identifier: Apache-2.0
import type { Operation } from '../model/decide.js'
import type { ChildKind } from '../model/grid.js'
import type { Rollout } from '../model/rollout.js'
import type { ChildState } from '../model/status.js'

/** The rollout of a child whose controller has not seen it yet. */
const unseen = (kind: ChildKind): Rollout => ({
  ...{ isUpdated: false, isReady: false },
  state: kind === 'Deployment' ? { replicas: 0, readyReplicas: 0 } : {},
})

/** The children's states once these operations are done, before a watch has reported them. */
export const statesAfter = (
  states: readonly ChildState[],
  done: readonly Operation[],
): readonly ChildState[] => {
  const byName = new Map(states.map(state => [state.name, state]))
  for (const operation of done) {
    if (operation.kind !== 'apply') continue
    const { kind, name, unit } = operation.child
    if (kind === 'Service' && unit !== undefined) continue
    const before = byName.get(name)?.rollout ?? unseen(kind)
    const rollout = kind === 'Service' ? undefined : { ...before, isUpdated: false }
    byName.set(name, { unit, name, isApplied: true, rollout })
  }
  return [...byName.values()]
}
