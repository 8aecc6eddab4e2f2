// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { KubeStatusError, KubeUnreachableError, reasonOf } from '../../core/errors.js'
import { BrokenStreamError, type EventReader } from './codec.js'
import type { OpenResponse } from './open-response.js'
import type { WatchEvent } from './watch-event.js'

/** The server was silent for too long. */
export class IdleError extends Error {}

/** One open watch. */
export interface WatchStream<R> {
  readonly what: string
  readonly answer: OpenResponse
  readonly reader: EventReader<R>
  readonly clock: Clock
  readonly idleMs: number
  /** False ends the watch. */
  readonly take: (event: WatchEvent<R>) => boolean
}

/** Destroys the response when it is not reset for `idleMs`. */
class Watchdog {
  readonly #stream: Pick<WatchStream<never>, 'clock' | 'idleMs' | 'answer'>
  #fedAt: number
  #cancel: () => void
  bite: IdleError | undefined

  constructor(stream: Pick<WatchStream<never>, 'clock' | 'idleMs' | 'answer'>) {
    this.#stream = stream
    this.#fedAt = stream.clock.now()
    this.#cancel = stream.clock.after(stream.idleMs, () => this.#look())
  }

  feed(): void {
    this.#fedAt = this.#stream.clock.now()
  }

  end(): void {
    this.#cancel()
  }

  #look(): void {
    const { clock, idleMs, answer } = this.#stream
    const left = this.#fedAt + idleMs - clock.now()
    if (left > 0) {
      this.#cancel = clock.after(left, () => this.#look())
      return
    }
    this.bite = new IdleError(`nothing heard for ${idleMs} ms`)
    answer.destroy(this.bite)
  }
}

const read = async <R>(stream: WatchStream<R>, watchdog: Watchdog): Promise<void> => {
  const { reader } = stream
  for await (const chunk of stream.answer.body as AsyncIterable<Buffer>) {
    watchdog.feed()
    for (const event of reader.push(chunk)) if (!stream.take(event)) return
  }
  if (reader.pending > 0)
    throw new BrokenStreamError(`an event was cut off after ${reader.pending} bytes`)
}

/**
 * Read a watch until the server or `take` ends it; its connection is closed then.
 * @throws KubeStatusError (an ERROR event), BrokenStreamError, IdleError, KubeUnreachableError (the connection
 * broke).
 */
export const readWatch = async <R>(stream: WatchStream<R>): Promise<void> => {
  const watchdog = new Watchdog(stream)
  try {
    await read(stream, watchdog)
  } catch (error) {
    if (watchdog.bite !== undefined) throw watchdog.bite
    if (error instanceof KubeStatusError || error instanceof BrokenStreamError) throw error
    throw new KubeUnreachableError(`watch of ${stream.what}`, reasonOf(error), { cause: error })
  } finally {
    watchdog.end()
    await stream.answer.end()
  }
}
