// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { WatchOptions } from '../../kube/server/list-options.js'
import { expired } from '../../kube/server/status.js'
import { ChangeCursor, SelectorCache } from '../store/change-cursor.js'
import { RESOURCES, type Resource } from '../store/resources.js'
import type { Stored } from '../store/stored.js'
import type { Store } from '../store/store.js'
import type { Table } from '../store/table.js'
import type { Format } from './formats.js'
import { Frames } from './frames.js'
import { present } from './lists.js'
import { Pump } from './pump.js'
import type { Chosen } from './selection.js'
import type { Target } from './target.js'
import { WatchSession, type Beginning } from './watch.js'

/** The request for a watch. */
export interface AskedWatch {
  readonly target: Target
  readonly chosen: Chosen
  readonly options: WatchOptions
  readonly format: Format
}

/** What watches need. */
export interface WatchesSeams {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly bookmarkMs: number
}

/** Default lifetime of a watch: half an hour to an hour, so that clients do not reconnect together. */
const DEFAULT_SECONDS = 1_800

/** How long a client that keeps up may take for a burst of changes. */
const BURST_MS = 30_000

interface Room {
  readonly table: Table
  /** Cancels the timers. */
  readonly stop: () => void
  readonly selectors: SelectorCache
  readonly frames: Frames
  readonly pump: Pump
}

/**
 * Trim the history some time after a burst of changes, when clients that keep up have read it. Returns a function
 * that ends this.
 */
const forgetBursts = (table: Table, clock: Clock): (() => void) => {
  const { history } = table
  let cancel: (() => void) | undefined
  const plan = (): void => {
    if (cancel !== undefined || !history.isOverfull) return
    const place = history.end
    cancel = clock.after(BURST_MS, () => {
      cancel = undefined
      history.trim(place)
      plan()
    })
  }
  const unsubscribe = table.subscribe(plan)
  return () => {
    unsubscribe()
    cancel?.()
  }
}

const makeRoom = (table: Table, clock: Clock): Room => {
  const selectors = new SelectorCache()
  const frames = new Frames()
  const pump = new Pump(table, () => {
    selectors.forget()
    frames.forget()
  })
  const unplan = forgetBursts(table, clock)
  const stop = (): void => {
    pump.stop()
    unplan()
  }
  return { table, selectors, frames, pump, stop }
}

/** All watches that are open. */
export class Watches {
  readonly #seams: WatchesSeams
  readonly #rooms: Readonly<Record<Resource, Room>>
  readonly #sessions = new Set<WatchSession>()
  #events = 0
  /** Watches that were ended because their client was too slow. */
  overtaken = 0
  /** Watches that were ended because an object could not be encoded. */
  failed = 0
  #lastFailure = ''

  constructor(seams: WatchesSeams) {
    this.#seams = seams
    this.#rooms = Object.fromEntries(
      RESOURCES.map(resource => [resource, makeRoom(seams.store.table(resource), seams.clock)]),
    ) as Record<Resource, Room>
  }

  /** Watches that are open now. */
  openOf(resource: Resource): number {
    return this.#rooms[resource].pump.size
  }

  /** Events that were sent, including the initial state of watches. */
  get events(): number {
    let events = this.#events
    for (const session of this.#sessions) events += session.events
    return events
  }

  /** Events that were encoded; the others reused the bytes of another watch. */
  get encoded(): number {
    return RESOURCES.reduce((sum, resource) => sum + this.#rooms[resource].frames.written, 0)
  }

  /** @throws Refusal 410 for a version that is forgotten, or was never served. */
  open(asked: AskedWatch, response: ServerResponse): void {
    const { clock, random, bookmarkMs } = this.#seams
    const { target, options, format } = asked
    const room = this.#rooms[target.row.resource]
    const { bookmarks } = options
    const seconds = options.seconds ?? DEFAULT_SECONDS + random.below(DEFAULT_SECONDS)
    const session: WatchSession = new WatchSession(
      response,
      this.#begin(asked, room),
      { row: target.row, format, bookmarks, bookmarkMs, lastsMs: seconds * 1_000 },
      {
        ...{ clock, pump: room.pump, frames: room.frames },
        onEnd: over => this.#ended(over),
        onFailure: trouble => this.#failed(trouble),
      },
    )
    this.#sessions.add(session)
  }

  /** End all watches cleanly, and accept no new ones. */
  stop(): void {
    for (const session of [...this.#sessions]) session.end()
    for (const resource of RESOURCES) this.#rooms[resource].stop()
  }

  #begin({ target, chosen, options }: AskedWatch, room: Room): Beginning {
    const { table } = room
    const { history, versions } = table
    const { version = 0, sendsInitial, bookmarks } = options
    const wants = (record: Stored): boolean => room.selectors.wants(chosen.selection, record)
    const readFrom = (from: number, place: number): ChangeCursor =>
      new ChangeCursor(room, chosen.selection, { version: from, place })
    if (version > 0 && sendsInitial !== true) {
      const place = version > versions.newest ? undefined : history.placeAfter(version)
      if (place === undefined)
        throw expired(`too old resource version: ${version} (${versions.newest})`)
      return { state: [], wants, isMarked: false, reader: readFrom(version, place) }
    }
    const state = sendsInitial === false ? [] : present(table, target, chosen)
    const reader = readFrom(versions.newest, history.end)
    return { state, wants, isMarked: sendsInitial === true && bookmarks, reader }
  }

  /** Logged once: the client reconnects at once, and fails again. */
  #failed(trouble: string): void {
    this.failed++
    if (trouble === this.#lastFailure) return
    this.#lastFailure = trouble
    this.#seams.log.error('a watch is ended: an object cannot be encoded', { error: trouble })
  }

  #ended(session: WatchSession): void {
    if (!this.#sessions.delete(session)) return
    this.#events += session.events
    if (session.wasOvertaken) this.overtaken++
  }
}
