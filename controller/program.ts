// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { EventRecorder } from './event-recorder.js'
import type { Informer } from './informer.js'
import type { Lead, LeaderElection } from './leader-election.js'

/** What a controller is made of. */
export interface ControllerParts {
  /** By what each is called in logs. */
  readonly informers: Readonly<
    Record<string, Pick<Informer<unknown>, 'start' | 'synced' | 'stop' | 'status'>>
  >
  /** Undefined: this process works alone, and need not be elected. */
  readonly election?: Pick<LeaderElection, 'run'> | undefined
  /**
   * Its work, in each term anew, over informers that are synced. What fills a queue and runs it ends it here when the signal
   * aborts.
   */
  readonly lead: Lead
  readonly events?: Pick<EventRecorder, 'stop'> | undefined
  /** The last thing: the connections to the apiserver. */
  readonly close: () => Promise<void>
}

export interface ControllerSeams {
  readonly clock: Clock
  readonly log: Logger
}

export interface ControllerOptions {
  /**
   * How long a graceful stop may take in all: the work and giving back the Lease, the last Events, the connections.
   * @default 20_000
   */
  readonly stopMs?: number
}

/** An informer that is not synced for so long is logged, and again after as long. */
const SYNC_PATIENCE_MS = 30_000
/** Parts of the time to stop. */
const WORK_SHARE = 0.6
const EVENTS_SHARE = 0.2

/** Wait for something, but not for ever; whether it ended. Rejects as it does. */
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

/** Resolves when the work has ended, or was stopped long ago and did not. Rejects as it does. */
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
    // What ends by itself takes the listener along.
    void running.then(stop, stop).finally(() => signal.removeEventListener('abort', stop))
  })
  await stopped
  if (!(await endsWithin(clock, patienceMs, running)))
    log.error('the work did not end in time', { afterMs: patienceMs })
}

/**
 * Run a controller until the signal aborts or its work ends by itself: informers, then the election, then the work; and on the
 * way back the work ends first, then the Lease is given back, the last Events are sent, the informers and connections end.
 * What does not end in time is left behind. Rejects with what the work rejects with.
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
