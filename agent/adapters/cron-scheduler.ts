// SPDX-License-Identifier: Apache-2.0
import { createTask, type ScheduledTask } from 'node-cron'
import type { Clock } from '../../core/clock.js'
import type { Random } from '../../core/random.js'
import type { Scheduler } from '../ports/scheduler.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** Rounds of all agents fall on the same second of the wall clock; each agent is up to this share of a period behind. */
const SPREAD = 0.1

/**
 * A period as a cron expression with seconds, where one means the same (10 s: each tenth second of a minute).
 * @returns undefined for a period that divides neither a minute nor an hour.
 */
export const cronOf = (periodMs: number): string | undefined => {
  const seconds = periodMs / SECOND
  if (Number.isInteger(seconds) && seconds >= 1 && seconds < 60 && 60 % seconds === 0)
    return `*/${seconds} * * * * *`
  const minutes = periodMs / MINUTE
  if (Number.isInteger(minutes) && minutes >= 1 && 60 % minutes === 0)
    return `0 */${minutes} * * * *`
  return undefined
}

/**
 * How long until the task is due. node-cron reads the wall clock, so a step could put the next slot hours away or
 * make it replay each slot in between: we take only the next slot from it, wait on the monotonic clock, and never
 * longer than one period.
 */
const untilDue = (task: ScheduledTask | undefined, periodMs: number, wall: number): number => {
  const next = task?.getNextRuns(1)[0]?.getTime()
  return next === undefined ? periodMs : Math.min(Math.max(next - wall, 0), periodMs)
}

/** The stages' scheduler: node-cron says when, the monotonic clock waits. */
export const makeCronScheduler = (clock: Clock, random: Random): Scheduler => {
  // Drawn once: stages of one period run together, and a process that sleeps is woken for both of them once.
  const phase = random.below(1_000) / 1_000
  const every: Scheduler['every'] = (name, periodMs, signal, round) => {
    if (signal.aborted) return
    const expression = cronOf(periodMs)
    const task = expression === undefined ? undefined : createTask(expression, round, { name })
    const run = async (): Promise<void> => {
      await (task === undefined ? round() : task.execute())
      arm()
    }
    let cancel = (): void => undefined
    const arm = (): void => {
      if (signal.aborted) return
      const spread = periodMs * SPREAD * phase
      cancel = clock.after(untilDue(task, periodMs, clock.wall()) + spread, () => void run())
    }
    signal.addEventListener(
      'abort',
      () => {
        cancel()
        void task?.destroy()
      },
      { once: true },
    )
    arm()
  }
  return { every }
}
