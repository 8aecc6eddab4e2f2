// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { EventRecorder } from './event-recorder.js'
import type { Informer } from './informer.js'
import type { Lead, LeaderElection } from './leader-election.js'

/** The parts of a controller. */
export interface ControllerParts {
  /** By their names in logs. */
  readonly informers: Readonly<
    Record<string, Pick<Informer<unknown>, 'start' | 'synced' | 'stop' | 'status'>>
  >
  /** Undefined: the only process, which need not be elected. */
  readonly election?: Pick<LeaderElection, 'run'> | undefined
  /**
   * The controller's work, called in each term after the informers have synced. It must end soon after the signal aborts.
   */
  readonly lead: Lead
  readonly events?: Pick<EventRecorder, 'stop'> | undefined
  /** Closes the connections to the apiserver; called last. */
  readonly close: () => Promise<void>
}

export interface ControllerSeams {
  readonly clock: Clock
  readonly log: Logger
}

export interface ControllerOptions {
  /**
   * Time limit of a graceful stop: the work's end, release of the Lease, last Events, connections.
   * @default 20_000
   */
  readonly stopMs?: number
}

/** An informer that has not synced is logged at this interval. */
const SYNC_PATIENCE_MS = 30_000
/** Shares of the time limit of a stop. */
const WORK_SHARE = 0.6
const EVENTS_SHARE = 0.2

/** Wait for work up to a time limit. @returns whether it ended; rejects as it does */
const endsWithin = async (clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> => {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  void work.then(end, end)
  const isLate = await sleep(clock, ms, ended.signal)
  if (!isLate) await work
  return !isLate
}

const allSynced = async (
  { informers }: ControllerParts,
  { clock, log }: ControllerSeams,
  signal: AbortSignal,
): Promise<void> => {
  const all = Promise.all(Object.values(informers).map(informer => informer.synced))
  const ready = new AbortController()
  const end = (): void => ready.abort()
  void all.then(end)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  while (await sleep(clock, SYNC_PATIENCE_MS, ready.signal))
    for (const [what, { status }] of Object.entries(informers))
      if (!status.isSynced) log.warn('not listed yet', { what, error: status.trouble })
  signal.removeEventListener('abort', end)
}

/** Run the work. Resolves when it has ended, or has not ended in time after a stop. Rejects as it does. */
const work = async (
  { election, lead }: ControllerParts,
  { clock, log }: ControllerSeams,
  patienceMs: number,
  signal: AbortSignal,
): Promise<void> => {
  const running = election === undefined ? lead(signal) : election.run(signal, lead)
  const stopped = new Promise<void>(resolve => {
    const stop = (): void => resolve()
    signal.addEventListener('abort', stop, { once: true })
    // When the work ends by itself, remove the listener.
    void running.then(stop, stop).finally(() => signal.removeEventListener('abort', stop))
  })
  await stopped
  if (!(await endsWithin(clock, patienceMs, running)))
    log.error('the work did not end in time', { afterMs: patienceMs })
}

/**
 * Run a controller until the signal aborts or its work ends: start informers, stand for election, lead. A stop goes the
 * other way: the work ends, the Lease is released, the last Events are sent, informers and connections are closed. What
 * does not end in time is abandoned. Rejects with what the work rejects with.
 */
export const runController = async (
  parts: ControllerParts,
  seams: ControllerSeams,
  signal: AbortSignal,
  { stopMs = 20_000 }: ControllerOptions = {},
): Promise<void> => {
  const { clock, log } = seams
  const informers = Object.values(parts.informers)
  try {
    for (const informer of informers) informer.start()
    await allSynced(parts, seams, signal)
    if (!signal.aborted) await work(parts, seams, stopMs * WORK_SHARE, signal)
  } finally {
    const end = new AbortController()
    const cancel = clock.after(stopMs * EVENTS_SHARE, () => end.abort())
    await parts.events?.stop(end.signal)
    cancel()
    const closing = Promise.all(informers.map(informer => informer.stop())).then(parts.close)
    const closeMs = stopMs * (1 - WORK_SHARE - EVENTS_SHARE)
    if (!(await endsWithin(clock, closeMs, closing)))
      log.error('connections did not close in time', { afterMs: closeMs })
  }
}
