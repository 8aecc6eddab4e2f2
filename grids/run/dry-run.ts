// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { groupBy } from '../../core/group-by.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ApplyOperation, Decision } from '../model/decide.js'
import type { UnitFailure } from '../model/status.js'
import { Executor } from './executor.js'
import { WriteLimiter } from './write-limiter.js'

/** The apiserver's opinion on what would be written. */
export interface ServerVerdict {
  readonly refusals: readonly UnitFailure[]
  /** Why some of it was not checked; undefined when all was. */
  readonly unchecked: string | undefined
}

const AT_ONCE = 8
/** HTTP statuses that say nothing about the object: no right to write, or a webhook without support for dry runs. */
const SAYS_NOTHING: ReadonlySet<number | undefined> = new Set([400, 403])

const groupKey = ({ child, templateKey }: ApplyOperation): string =>
  `${child.kind} ${templateKey ?? ''}`

/** Checks one child per template by a dry run, as the controller does before it applies many. Changes nothing. */
export class DryRunner {
  readonly #executor: Executor

  constructor(client: Pick<ResourceClient, 'apply' | 'patch' | 'delete'>, clock: Clock) {
    this.#executor = new Executor({ client, limiter: new WriteLimiter(clock, AT_ONCE) })
  }

  /** Rejects only for a bug: a server that cannot be reached has checked nothing. */
  async verdictOn({ operations }: Decision, signal: AbortSignal): Promise<ServerVerdict> {
    const applies = operations.filter(operation => operation.kind === 'apply')
    const groups = [...groupBy(applies, groupKey).values()]
    const verdicts = await Promise.all(groups.map(([first]) => this.#ask(first!, signal)))
    return {
      refusals: verdicts.flatMap(({ refusals }) => refusals),
      unchecked: verdicts.find(({ unchecked }) => unchecked !== undefined)?.unchecked,
    }
  }

  async #ask(operation: ApplyOperation, signal: AbortSignal): Promise<ServerVerdict> {
    const order = { guard: () => undefined, signal, isDryRun: true }
    const outcome = await this.#executor.run(operation, order)
    if (outcome.kind === 'done') return { refusals: [], unchecked: undefined }
    const { message } = outcome
    if (outcome.kind !== 'refused' || SAYS_NOTHING.has(outcome.status))
      return { refusals: [], unchecked: message }
    const { reason } = outcome
    return { refusals: [{ unit: operation.child.unit, reason, message }], unchecked: undefined }
  }
}
