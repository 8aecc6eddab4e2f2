// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import { expired, Refusal } from '../../kube/server/status.js'
import { servedBytes, type Stored } from '../store/stored.js'
import type { ChangeCursor } from '../store/change-cursor.js'
import type { Row } from '../store/resources.js'
import { bookmarkBytes, type Format } from './formats.js'
import type { Frames } from './frames.js'
import type { Pump, Pumped } from './pump.js'

/** A watch as it begins. */
export interface Beginning {
  /** What is shown first, as ADDED. */
  readonly state: readonly Stored[]
  /** Whether a bookmark says where the state ends. */
  readonly isMarked: boolean
  readonly reader: ChangeCursor
}

/** How a watch goes on. */
export interface WatchPlan {
  readonly row: Row
  readonly format: Format
  readonly bookmarks: boolean
  readonly bookmarkMs: number
  /** Until the server ends it. */
  readonly lastsMs: number
}

/** What a watch works with. */
export interface WatchSeams {
  readonly clock: Clock
  readonly pump: Pump
  readonly frames: Frames
  /** Told once, when it is over. */
  readonly onEnd: (session: WatchSession) => void
  /** Told before that when an object could not be told to the client. */
  readonly onFailure: (trouble: string) => void
}

/** Events that one watcher writes before it is another's turn. */
const PER_TURN = 64
/** Bytes that wait for a slow reader in our memory; the rest stays in the table's history. */
const MOST_UNREAD = 128 * 1024
/** For the last words to a client that does not read. */
const LAST_WORDS_MS = 5_000

/** Whether a watcher's own words failed it: those of an object that no JSON can be made of, for example. */
const untold = (key: string, error: unknown): Refusal =>
  new Refusal(500, 'InternalError', `${key} cannot be told: ${reasonOf(error)}`)

const overtaken = (version: number): Refusal =>
  expired(`too old resource version: ${version} (the watch fell behind)`)

/** One watch stream. It has no queue: what its client does not take in time is forgotten, and then it ends with a 410. */
export class WatchSession implements Pumped {
  readonly #response: ServerResponse
  readonly #plan: WatchPlan
  readonly #seams: WatchSeams
  readonly #reader: ChangeCursor
  #state: readonly Stored[]
  readonly #cancels = new Set<() => void>()
  #shown = 0
  /** The object that is being told. */
  #telling = ''
  #owesMark: boolean
  #owesBookmark = false
  #isOver = false
  events = 0
  /** Whether the client was too slow. */
  wasOvertaken = false

  /** Takes over the response, whose head is not sent yet. */
  constructor(response: ServerResponse, begin: Beginning, plan: WatchPlan, seams: WatchSeams) {
    this.#response = response
    this.#reader = begin.reader
    this.#state = begin.state
    this.#plan = plan
    this.#seams = seams
    this.#owesMark = begin.isMarked
    response.writeHead(200, {
      'Content-Type': plan.format.streamType,
      'Cache-Control': 'no-cache, private',
    })
    // As `flushHeaders`, which would spell the bytes of the Warning anew, as UTF-8.
    response.write('', 'latin1')
    response.on('drain', () => seams.pump.wake(this))
    response.once('close', () => this.#release())
    this.#after(plan.lastsMs, () => this.end())
    if (plan.bookmarks) this.#scheduleBookmark()
    seams.pump.add(this)
  }

  /** Never throws: what cannot be told ends this watch, and no other. */
  turn(): boolean {
    if (this.#isOver) return false
    try {
      return this.#write()
    } catch (error) {
      const refusal = untold(`${this.#plan.row.resource} ${this.#telling}`, error)
      this.#seams.onFailure(refusal.said)
      return this.#endWith(refusal)
    }
  }

  #write(): boolean {
    for (let n = 0; n < PER_TURN; n++) {
      if (this.#reader.isLost) return this.#fallBehind()
      if (this.#response.writableLength >= MOST_UNREAD) return false
      const frame = this.#next()
      if (frame === undefined) return false
      this.#response.write(frame)
    }
    return true
  }

  /** End the stream in good order. */
  end(): void {
    if (this.#isOver) return
    this.#release()
    this.#response.end()
    const cancel = this.#seams.clock.after(LAST_WORDS_MS, () => this.#response.destroy())
    this.#response.once('close', cancel)
  }

  #fallBehind(): false {
    this.wasOvertaken = true
    return this.#endWith(overtaken(this.#reader.version))
  }

  #endWith(refusal: Refusal): false {
    this.#response.write(this.#plan.format.error(refusal))
    this.end()
    return false
  }

  #next(): Uint8Array | undefined {
    const reader = this.#reader
    const { format, row } = this.#plan
    const record = this.#state[this.#shown++]
    if (record !== undefined) {
      this.#telling = record.key
      this.events++
      return format.event('ADDED', servedBytes(record))
    }
    // The state is told: it must not stay alive as long as the watch does.
    this.#state = []
    if (this.#owesMark) {
      this.#owesMark = false
      return format.event('BOOKMARK', bookmarkBytes(row, reader.version, true))
    }
    const seen = reader.next()
    if (seen !== undefined) {
      this.#telling = seen.record.key
      this.events++
      return this.#seams.frames.of(seen, format)
    }
    if (!this.#owesBookmark) return undefined
    this.#owesBookmark = false
    return format.event('BOOKMARK', bookmarkBytes(row, reader.version, false))
  }

  #scheduleBookmark(): void {
    this.#after(this.#plan.bookmarkMs, () => {
      this.#owesBookmark = true
      this.#seams.pump.wake(this)
      this.#scheduleBookmark()
    })
  }

  #after(ms: number, wake: () => void): void {
    const cancel = this.#seams.clock.after(ms, () => {
      this.#cancels.delete(cancel)
      wake()
    })
    this.#cancels.add(cancel)
  }

  #release(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
    this.#seams.pump.remove(this)
    this.#seams.onEnd(this)
  }
}
