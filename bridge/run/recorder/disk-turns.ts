// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { TimeoutError } from '../../../core/errors.js'

/** Longest time of one access. A disk may be slow for a moment; one whose server or controller is gone never answers. */
const ACCESS_MS = 5_000
/**
 * Accesses at a time. Each occupies one of the four threads that Node.js has for files and names: if the disk hangs, the
 * others remain for the rest of the process.
 */
const AT_A_TIME = 2

interface Access {
  readonly name: string
  readonly start: () => Promise<unknown>
  readonly fail: () => void
}

/** Accesses to files of a disk that may hang. One that hangs cannot be ended: it keeps its turn until it ends by itself. */
export class DiskTurns {
  readonly #clock: Clock
  readonly #queue: Access[] = []
  #running = 0
  /** Those that took too long and are not over. */
  readonly #hung = new Set<Access>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Accesses to one file must be one after the other. While one hangs, others to that file fail at once, since it may still
   * change the file; when all turns hang, all fail at once.
   * @throws TimeoutError; else whatever `work` throws
   */
  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push({
        name,
        start: () => work().then(resolve, reject),
        fail: () => reject(new TimeoutError(ACCESS_MS)),
      })
      this.#next()
    })
  }

  #next(): void {
    if (this.#hung.size >= AT_A_TIME) for (const { fail } of this.#queue.splice(0)) fail()
    while (this.#running < AT_A_TIME) {
      const access = this.#queue.shift()
      if (access === undefined) return
      if ([...this.#hung].some(({ name }) => name === access.name)) access.fail()
      // Never rejects.
      else void this.#run(access)
    }
  }

  async #run(access: Access): Promise<void> {
    this.#running++
    const cancel = this.#clock.after(ACCESS_MS, () => {
      this.#hung.add(access)
      access.fail()
      this.#next()
    })
    await access.start()
    cancel()
    this.#hung.delete(access)
    this.#running--
    this.#next()
  }
}
