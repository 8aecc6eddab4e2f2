// SPDX-License-Identifier: Apache-2.0
import { uptime } from 'node:os'
import { TimeoutError } from './errors.js'

/** The only source of time. Decisions use `now`; `wall` is for what people and other programs read. */
export interface Clock {
  /** Milliseconds since an arbitrary start; never steps, never goes back. Stands still while the machine sleeps. */
  now(): number
  /** Milliseconds since the machine started, in steps of 10; goes on while it sleeps, but not while it is a paused VM. */
  boot(): number
  /** Milliseconds since the epoch, as the machine believes; may step either way. */
  wall(): number
  /** Call `wake` once, `ms` from now. The returned function cancels it and may be called at any time, twice too. */
  after(ms: number, wake: () => void): () => void
}

/** Timers of Node.js take no more: a longer one fires at once. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * A timer of any length. What is due at once runs when the events that are there have been handled: a timer of Node.js
 * lasts a millisecond at least, for which an idle process would go to sleep and be woken again.
 * @throws RangeError for NaN: it would fire at once, again and again
 */
const after = (ms: number, wake: () => void): (() => void) => {
  if (Number.isNaN(ms)) throw new RangeError('a timer must be a number of milliseconds, got NaN')
  if (ms <= 0) {
    const immediate = setImmediate(wake)
    return () => clearImmediate(immediate)
  }
  let timer: NodeJS.Timeout
  const start = (left: number): void => {
    const rest = left - LONGEST_MS
    timer = rest > 0 ? setTimeout(() => start(rest), LONGEST_MS) : setTimeout(wake, left)
  }
  start(ms)
  return () => clearTimeout(timer)
}

/** The machine's clock. Its timers keep the process alive until they fire or are cancelled. */
export const systemClock: Clock = {
  // As performance.now(), which would load Node's perf_hooks (0.2 MiB) and takes longer: this one is called often.
  now: () => process.uptime() * 1_000,
  boot: () => uptime() * 1000,
  wall: () => Date.now(),
  after,
}

/**
 * Wait for `ms`, or until `signal` aborts.
 * @returns true when the time has passed, false when cut short. Never rejects.
 */
export const sleep = (clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> =>
  new Promise(resolve => {
    if (signal.aborted) {
      resolve(false)
      return
    }
    const cut = (): void => {
      cancel()
      resolve(false)
    }
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', cut)
      resolve(true)
    })
    signal.addEventListener('abort', cut, { once: true })
  })

/** Wait until `signal` aborts. Never rejects. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/**
 * Run `work` with a signal that aborts after `ms` or with the outer `signal`, whichever is first.
 * The work must honour its signal: this function waits for it to end.
 * @throws TimeoutError when the time ran out and the work failed because of it; else whatever `work` throws.
 */
export const withTimeout = async <T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const inner = new AbortController()
  const forward = (): void => inner.abort(signal.reason)
  // Made only when it is needed: an error takes down the whole stack.
  const cancel = clock.after(ms, () => inner.abort(new TimeoutError(ms)))
  signal.addEventListener('abort', forward, { once: true })
  if (signal.aborted) forward()
  let error: unknown
  try {
    return await work(inner.signal)
  } catch (thrown) {
    error = thrown
  } finally {
    cancel()
    signal.removeEventListener('abort', forward)
  }
  throw inner.signal.aborted ? inner.signal.reason : error
}
