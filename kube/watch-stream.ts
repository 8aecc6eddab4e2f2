// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import {
  InvalidInputError,
  KubeStatusError,
  KubeUnreachableError,
  reasonOf,
} from '../core/errors.js'
import type { Exchange } from './exchange.js'
import { LineCutter } from './lines.js'
import { parseWatchEvent, type WatchEvent } from './watch-event.js'

/** Something came that is no watch event: what follows cannot be trusted, so the next step is a full list. */
export class BrokenStreamError extends Error {}

/** No byte came for too long. */
export class IdleError extends Error {}

/** One open watch. */
export interface WatchStream {
  readonly what: string
  readonly answer: Exchange
  readonly clock: Clock
  readonly idleMs: number
  /** False ends the watch. */
  readonly take: (event: WatchEvent) => boolean
}

const MAX_LINE_BYTES = 8 * 1024 * 1024

/** Destroys the answer when it is not fed for `idleMs`. */
class Watchdog {
  readonly #stream: WatchStream
  #fedAt: number
  #cancel: () => void
  bite: IdleError | undefined

  constructor(stream: WatchStream) {
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
    answer.response.destroy(this.bite)
  }
}

const parseLine = (what: string, line: string): WatchEvent => {
  try {
    return parseWatchEvent(what, line)
  } catch (error) {
    if (error instanceof InvalidInputError) throw new BrokenStreamError(reasonOf(error))
    throw error
  }
}

const read = async (stream: WatchStream, watchdog: Watchdog): Promise<void> => {
  const cutter = new LineCutter(MAX_LINE_BYTES)
  for await (const chunk of stream.answer.body as AsyncIterable<Buffer>) {
    watchdog.feed()
    for (const line of cutter.push(chunk)) {
      if (!stream.take(parseLine(stream.what, line))) return
    }
  }
  if (cutter.pending > 0)
    throw new BrokenStreamError(`a line was cut off after ${cutter.pending} bytes`)
}

/**
 * Read a watch to its end; its connection is gone then.
 * @returns when the server ended it or `take` did.
 * @throws KubeStatusError (an ERROR event), BrokenStreamError, IdleError, KubeUnreachableError (the connection broke).
 */
export const readWatch = async (stream: WatchStream): Promise<void> => {
  const watchdog = new Watchdog(stream)
  try {
    await read(stream, watchdog)
  } catch (error) {
    if (watchdog.bite !== undefined) throw watchdog.bite
    if (error instanceof RangeError) throw new BrokenStreamError(error.message)
    if (error instanceof KubeStatusError || error instanceof BrokenStreamError) throw error
    throw new KubeUnreachableError(`watch of ${stream.what}`, reasonOf(error), { cause: error })
  } finally {
    watchdog.end()
    await stream.answer.end()
  }
}
