// SPDX-License-Identifier: Apache-2.0
// Texts that `grids plan` and `grids explain` share.
import type { Operation } from '../grids/model/decide.js'
import type { Hold } from '../grids/model/guard.js'
import { heldMessage } from '../grids/model/status.js'
import { GONE_ANNOTATION } from '../grids/model/marks.js'
import type { Judged } from '../grids/run/snapshot.js'

export interface HoldView extends Omit<Hold, 'token'> {
  readonly message: string | undefined
}

const WHY = {
  'never-applied': 'we have never applied it',
  'not-ours': 'a field is not ours',
  'not-wanted': 'a field is no longer wanted',
  changed: 'somebody changed it',
} as const

/** What would be done, in words. */
export const verbOf = (operation: Operation): string => {
  switch (operation.kind) {
    case 'apply': {
      const { target, drift, takeover, handOver } = operation
      const first = takeover === undefined ? '' : "take over from SuperEdge's controller, "
      const hand = handOver === undefined ? '' : `hand over replicas (${handOver}), `
      if (target.kind === 'new') return 'create'
      const what = target.kind === 'adopted' ? 'adopt' : 'update'
      const why =
        drift === undefined
          ? ''
          : ` (${WHY[drift.cause]}${drift.path === '' ? '' : `: ${drift.path}`})`
      return `${first}${hand}${what}${why}`
    }
    case 'mark':
      return operation.since === undefined
        ? `remove ${GONE_ANNOTATION}: its unit is back`
        : `mark: its unit has had no nodes since ${new Date(operation.since).toISOString()}`
    case 'delete':
      return operation.why === 'unit-gone'
        ? 'delete: its unit has had no nodes for the grace period'
        : 'delete: it is no longer wanted'
  }
}

/** Units that are held. `message` is the controller's, since only the controller knows the token that confirms the removal. */
export const holdView = ({ record, decision }: Judged): HoldView | undefined => {
  if (decision?.hold === undefined) return undefined
  const { reason, units, total } = decision.hold
  const message = heldMessage(record.status)
  return { reason, units, total, message }
}

/** Whether the grid is invalid, or some of its units failed. */
export const hasTrouble = ({ record, decision }: Judged): boolean =>
  !record.reading.ok || (decision?.failures.length ?? 0) > 0
