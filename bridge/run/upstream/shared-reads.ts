// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../../core/json.js'

type Read = () => Promise<JsonMap>

interface Running {
  readonly ended: Promise<unknown>
  next: Promise<JsonMap> | undefined
}

/**
 * Shares one read of an object among all who ask at the same time. A request during a read gets the result of the next one,
 * so no answer is older than its request. The apiserver gets one read of an object at a time.
 */
export class SharedReads {
  readonly #running = new Map<string, Running>()

  /** Rejects as `read` does. All callers share the result and must not change it. */
  get(key: string, read: Read): Promise<JsonMap> {
    const running = this.#running.get(key)
    if (running === undefined) return this.#start(key, read)
    return (running.next ??= running.ended.then(() => this.#start(key, read)))
  }

  #start(key: string, read: Read): Promise<JsonMap> {
    const reading = read()
    const running: Running = {
      ended: reading.then(
        () => this.#ended(key, running),
        () => this.#ended(key, running),
      ),
      next: undefined,
    }
    this.#running.set(key, running)
    return reading
  }

  #ended(key: string, { next }: Running): void {
    if (next === undefined) this.#running.delete(key)
  }
}
