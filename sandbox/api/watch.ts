// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import * as status from '../../kube/server/status.js'
import type { Link } from './link.js'
import type { KubeObject } from './object.js'
import type { ResourcePath } from './paths.js'
import type { Match } from './selector.js'
import type { Store, StoreEvent } from './store.js'
import type { Shape, Writer } from './view.js'
import type { WatchOptions } from './watch-options.js'

/** A last bookmark comes so long before the end, so that the next watch begins where this one ended. */
const LAST_BOOKMARK_MS = 2_000

/** The change as a watch with this selector sees it: an object may enter and leave the selection. */
const seenAs = (
  match: Match,
  event: StoreEvent,
): { type: string; object: KubeObject } | undefined => {
  const before = event.previous !== undefined && match(event.previous)
  const now = event.type !== 'DELETED' && match(event.object)
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', object: event.object }
  if (!before) return undefined
  const { resourceVersion } = event.object.metadata
  const left = { ...event.previous, metadata: { ...event.previous.metadata, resourceVersion } }
  return { type: 'DELETED', object: event.type === 'DELETED' ? event.object : left }
}

/** What a watcher works with. */
export interface WatchSeams {
  readonly store: Store
  readonly clock: Clock
  readonly writer: Writer
  readonly link: Link
  /** Lines that may wait for a slow reader; one more ends its watch with 410. */
  readonly buffer: number
  readonly bookmarkPeriodMs: number
}

/** One watch. It never blocks the store: what its client does not read is queued up to a limit. */
export class Watcher {
  readonly #at: ResourcePath
  readonly #shape: Shape
  readonly #options: WatchOptions
  readonly #seams: WatchSeams
  readonly #response: ServerResponse
  readonly #cleanups: (() => void)[] = []
  #queue: string[] = []
  #limit: number
  /** The version that its client knows from the start. */
  #floor = 0
  #isFull = false
  /** A Table names its columns in the first event alone. */
  #hasColumns = false
  #isEnding = false
  #held: (() => void) | undefined
  #cancelBookmark: () => void = () => undefined

  /** Takes over the response; `run` starts it. */
  constructor(
    at: ResourcePath & { readonly shape: Shape },
    options: WatchOptions,
    seams: WatchSeams,
    response: ServerResponse,
  ) {
    this.#at = at
    this.#shape = at.shape
    this.#options = options
    this.#seams = seams
    this.#limit = seams.buffer
    this.#response = response
  }

  /** @throws Refusal 410 when the start is forgotten; nothing is sent then. */
  run(): void {
    const { store, clock } = this.#seams
    const { start } = this.#options
    const past =
      start.kind === 'after' ? store.eventsAfter(this.#at.row.storage, start.version) : []
    if (past === undefined)
      throw status.expired(
        `too old resource version: ${start.kind === 'after' ? start.version : 0} (${store.version})`,
      )
    this.#open()
    if (start.kind === 'state') this.#pushState(start.marked)
    for (const event of past) this.#pushEvent(event)
    // The initial state does not count against the client's queue.
    this.#limit += this.#queue.length
    this.#pump()
    this.#floor = start.kind === 'after' ? start.version : store.version
    this.#cleanups.push(
      store.subscribe(this.#at.row.storage, event => {
        if (event.version > this.#floor && this.#pushEvent(event)) this.#flush()
      }),
      clock.after(this.#options.lastsMs, () => this.end()),
    )
    if (!this.#options.bookmarks) return
    this.#scheduleBookmark()
    const { lastsMs } = this.#options
    if (lastsMs > LAST_BOOKMARK_MS)
      this.#cleanups.push(clock.after(lastsMs - LAST_BOOKMARK_MS, () => this.#sendBookmark()))
  }

  /** Send an error as the stream's only event, as the real one does for 410. */
  fail(refusal: status.Refusal): void {
    this.#open()
    this.#push('ERROR', JSON.stringify(status.statusBody(refusal)))
    this.end()
  }

  /** End the stream cleanly. */
  end(): void {
    this.#release()
    this.#isEnding = true
    this.#pump()
  }

  #open(): void {
    this.#response.writeHead(200, {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-cache, private',
    })
    this.#response.flushHeaders()
    this.#response.on('drain', () => {
      this.#isFull = false
      this.#pump()
    })
    this.#response.once('close', () => {
      this.#release()
      this.#held?.()
    })
  }

  #release(): void {
    this.#cancelBookmark()
    for (const clean of this.#cleanups.splice(0)) clean()
  }

  #pushState(marked: boolean): void {
    const { store, writer } = this.#seams
    const { row, namespace } = this.#at
    for (const object of store.list(row.storage, namespace).filter(this.#options.match))
      this.#push('ADDED', writer.one(row, object, this.#shape, this.#isFirst()))
    if (marked && this.#options.bookmarks) this.#push('BOOKMARK', this.#bookmark(true))
  }

  /** @returns whether the watcher sees anything of the change. */
  #pushEvent(event: StoreEvent): boolean {
    const seen = seenAs(this.#options.match, event)
    if (seen === undefined) return false
    const { writer } = this.#seams
    this.#push(seen.type, writer.one(this.#at.row, seen.object, this.#shape, this.#isFirst()))
    return true
  }

  #scheduleBookmark(): void {
    const { clock, bookmarkPeriodMs } = this.#seams
    this.#cancelBookmark = clock.after(bookmarkPeriodMs, () => {
      this.#sendBookmark()
      this.#scheduleBookmark()
    })
  }

  #sendBookmark(): void {
    // No bookmark without news, least of all for a client that is ahead of us.
    if (this.#seams.store.version <= this.#floor) return
    this.#push('BOOKMARK', this.#bookmark(false))
    this.#flush()
  }

  #bookmark(isLast: boolean): string {
    const { store, writer } = this.#seams
    const more = { isLast, hasColumns: this.#isFirst() }
    return writer.bookmark(this.#at.row, store.version, this.#shape, more)
  }

  #isFirst(): boolean {
    const isFirst = !this.#hasColumns
    this.#hasColumns = true
    return isFirst
  }

  #push(type: string, object: string): void {
    this.#queue.push(`{"type":"${type}","object":${object.trimEnd()}}\n`)
  }

  #flush(): void {
    this.#pump()
    if (this.#queue.length <= this.#limit) return
    this.#queue = []
    this.#push(
      'ERROR',
      JSON.stringify(status.statusBody(status.expired('the watcher is too slow'))),
    )
    this.end()
  }

  #pump(): void {
    const { link } = this.#seams
    if (link.state === 'silent') {
      this.#held ??= link.whenUp(() => {
        this.#held = undefined
        this.#pump()
      })
      return
    }
    while (this.#queue.length > 0 && !this.#isFull)
      this.#isFull = !this.#response.write(this.#queue.shift())
    if (this.#isEnding && this.#queue.length === 0) this.#response.end()
  }
}
