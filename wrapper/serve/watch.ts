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

/** How a watch begins. */
export interface Beginning {
  /** Objects of which those that it wants are sent first, as ADDED. */
  readonly state: readonly Stored[]
  readonly wants: (record: Stored) => boolean
  /** Whether a bookmark marks the end of the initial state. */
  readonly isMarked: boolean
  readonly reader: ChangeCursor
}

/** How a watch goes on. */
export interface WatchPlan {
  readonly row: Row
  readonly format: Format
  readonly bookmarks: boolean
  readonly bookmarkMs: number
  /** Time until the server ends it. */
  readonly lastsMs: number
}

/** What a watch works with. */
export interface WatchSeams {
  readonly clock: Clock
  readonly pump: Pump
  readonly frames: Frames
  /** Called once, when the watch has ended. */
  readonly onEnd: (session: WatchSession) => void
  /** Called before `onEnd` when an object could not be encoded. */
  readonly onFailure: (trouble: string) => void
}

/** Objects that one watch looks at before the next one has its turn, whether it sends them or not. */
const PER_TURN = 64
/** Most bytes that wait in our memory for a slow client; further changes stay in the table's history. */
const MOST_UNREAD = 128 * 1024
/** Time limit for sending the last event to a client that does not read. */
const LAST_WORDS_MS = 5_000

/** The error of an object that cannot be encoded, such as one that has no JSON form. */
const notEncoded = (key: string, error: unknown): Refusal =>
  new Refusal(500, 'InternalError', `${key} cannot be encoded: ${reasonOf(error)}`)

const overtaken = (version: number): Refusal =>
  expired(`too old resource version: ${version} (the watch fell behind)`)

/** One watch. It has no queue: when changes are forgotten before its client has read them, it ends with a 410. */
export class WatchSession implements Pumped {
  readonly #response: ServerResponse
  readonly #plan: WatchPlan
  readonly #seams: WatchSeams
  readonly #reader: ChangeCursor
  #state: readonly Stored[]
  readonly #wants: (record: Stored) => boolean
  readonly #cancels = new Set<() => void>()
  #shown = 0
  /** Key of the object that is being encoded. */
  #encoding = ''
  #owesMark: boolean
  #owesBookmark = false
  #isOver = false
  events = 0
  /** Whether the client was too slow. */
  wasOvertaken = false

  /** Takes over the response, before its headers are sent. */
  constructor(response: ServerResponse, begin: Beginning, plan: WatchPlan, seams: WatchSeams) {
    this.#response = response
    this.#reader = begin.reader
    this.#state = begin.state
    this.#wants = begin.wants
    this.#plan = plan
    this.#seams = seams
    this.#owesMark = begin.isMarked
    response.writeHead(200, {
      'Content-Type': plan.format.streamType,
      'Cache-Control': 'no-cache, private',
    })
    // Like `flushHeaders`, which would encode the bytes of the Warning header as UTF-8.
    response.write('', 'latin1')
    response.on('drain', () => seams.pump.wake(this))
    response.once('close', () => this.#release())
    this.#after(plan.lastsMs, () => this.end())
    if (plan.bookmarks) this.#scheduleBookmark()
    seams.pump.add(this)
  }

  /** Never throws: an object that cannot be encoded ends this watch and no other. */
  turn(): boolean {
    if (this.#isOver) return false
    try {
      return this.#write()
    } catch (error) {
      const refusal = notEncoded(`${this.#plan.row.resource} ${this.#encoding}`, error)
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
      if (frame !== 'not selected') this.#response.write(frame)
    }
    return true
  }

  /** End the stream cleanly. */
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

  #next(): Uint8Array | 'not selected' | undefined {
    const reader = this.#reader
    const { format, row } = this.#plan
    const record = this.#state[this.#shown++]
    if (record !== undefined) {
      if (!this.#wants(record)) return 'not selected'
      this.#encoding = record.key
      this.events++
      return format.event('ADDED', servedBytes(record))
    }
    // The initial state has been sent: do not keep it in memory as long as the watch lives.
    this.#state = []
    if (this.#owesMark) {
      this.#owesMark = false
      return format.event('BOOKMARK', bookmarkBytes(row, reader.version, true))
    }
    const seen = reader.next()
    if (seen === 'not selected') return seen
    if (seen !== undefined) {
      this.#encoding = seen.record.key
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
