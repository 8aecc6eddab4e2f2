// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../core/clock.js'
import { TimeoutError } from '../../core/errors.js'

/** A call from its start until its connection is closed or free again, and whoever may cut it short. */
export class RequestLifetime {
  readonly #abort = new AbortController()
  readonly #clearDeadline: () => void
  readonly #unlink: () => void
  #end: () => void = () => undefined
  /** Who ended it before its time; undefined while nobody did. */
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
    // Many calls may share a caller's signal, and each leaves it when it ends: that is no leak to warn of.
    setMaxListeners(0, caller)
    caller.addEventListener('abort', forward, { once: true })
    if (caller.aborted) forward()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** The deadline no longer counts: the answer has begun and may go on for as long as it likes. */
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
    this.#abort.abort(reason)
  }
}
