// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../core/clock.js'
import { TimeoutError } from '../../core/errors.js'

/**
 * A call from its start until its connection is closed or free again; it ends early when the caller, the deadline
 * or the client aborts it.
 */
export class RequestLifetime {
  readonly #aborting = new AbortController()
  readonly #clearDeadline: () => void
  readonly #unlink: () => void
  #end: () => void = () => undefined
  /** What aborted it; undefined if nothing did. */
  cutBy: 'caller' | 'deadline' | 'close' | undefined
  /** Resolves at `end`. */
  readonly ended = new Promise<void>(resolve => {
    this.#end = resolve
  })

  constructor(clock: Clock, timeoutMs: number, caller: AbortSignal) {
    const forward = (): void => this.#cut('caller', caller.reason)
    this.#clearDeadline = clock.after(timeoutMs, () =>
      this.#cut('deadline', new TimeoutError(timeoutMs)),
    )
    this.#unlink = () => caller.removeEventListener('abort', forward)
    // Many calls may share a caller's signal, and each removes its listener when it ends: no leak that Node.js
    // should warn of.
    setMaxListeners(0, caller)
    caller.addEventListener('abort', forward, { once: true })
    if (caller.aborted) forward()
  }

  get signal(): AbortSignal {
    return this.#aborting.signal
  }

  /** Cancel the deadline: the response has begun and may go on for any time. */
  clearDeadline(): void {
    this.#clearDeadline()
  }

  /** The other side fell silent. */
  silence(ms: number): void {
    this.#cut('deadline', new Error(`nothing heard for ${ms} ms`))
  }

  /** The client is being closed. */
  close(): void {
    this.#cut('close', new Error('closed'))
  }

  end(): void {
    this.#clearDeadline()
    this.#unlink()
    this.#end()
  }

  #cut(by: NonNullable<RequestLifetime['cutBy']>, reason: unknown): void {
    if (this.cutBy !== undefined) return
    this.cutBy = by
    this.#aborting.abort(reason)
  }
}
