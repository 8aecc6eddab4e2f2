// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { StageName, StageStatus } from '../../core/stage.js'

/** A stage's rounds and their outcomes. */
export interface StageRunner {
  readonly status: StageStatus
  /** One round. Never rejects: a failure is the stage's status. A round that still runs is not started again. */
  run(): Promise<void>
}

/**
 * Keep track of one stage: rounds, the last outcome, and a log line when the outcome changes.
 * @param round does the work and says in words what it did; throws when it could not.
 */
export const makeStageRunner = (
  name: StageName,
  round: () => Promise<string> | string,
  seams: { readonly clock: Clock; readonly log: Logger },
): StageRunner => {
  let status: StageStatus = {
    name,
    state: 'waiting',
    rounds: 0,
    lastAt: null,
    detail: 'not yet run',
  }
  let running: Promise<void> | undefined

  const settle = (state: 'ok' | 'failing', detail: string): void => {
    if (state === 'failing' && detail !== status.detail)
      seams.log.warn('stage fails', { stage: name, detail })
    if (state === 'ok' && status.state === 'failing')
      seams.log.info('stage works again', { stage: name })
    status = { ...status, state, detail, lastAt: new Date(seams.clock.wall()).toISOString() }
  }
  const once = async (): Promise<void> => {
    status = { ...status, rounds: status.rounds + 1 }
    try {
      settle('ok', await round())
    } catch (error) {
      settle('failing', reasonOf(error))
    }
  }
  return {
    get status() {
      return status
    },
    run: () => {
      running ??= once().finally(() => {
        running = undefined
      })
      return running
    },
  }
}
