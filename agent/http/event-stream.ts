// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'

const HEARTBEAT_MS = 15_000
const MAX_UNREAD_BYTES = 4 << 20
const MAX_CLIENTS = 32
/** Streams of one stranger, and of all strangers together: the rest is for the node's own programs. */
const PER_STRANGER = 8
const STRANGERS = 24

/** One server-sent event. */
export interface StreamEvent {
  readonly event: string
  readonly id: number
  /** JSON on one line. */
  readonly data: string
}

interface StreamOptions {
  /**
   * How many bytes all clients together may leave unread. Beyond it the one that leaves most is closed: it comes back and
   * gets a fresh snapshot. @default 4 MiB
   */
  readonly maxUnread?: number
  /** Each event takes the place of the one before: who has not read that one does without this. @default false */
  readonly isSnapshot?: boolean
}

const textOf = ({ event, id, data }: StreamEvent): string =>
  `event: ${event}\nid: ${id}\ndata: ${data}\n\n`

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

/** Clients that get every change, with heartbeats and a bound on what slow ones may leave unread. */
export class EventStream {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #maxUnread: number
  readonly #isSnapshot: boolean
  /** Each with its source. */
  readonly #clients = new Map<ServerResponse, string | undefined>()
  #cancelHeartbeat: (() => void) | undefined

  constructor(
    clock: Clock,
    log: Logger,
    { maxUnread = MAX_UNREAD_BYTES, isSnapshot = false }: StreamOptions = {},
  ) {
    this.#clock = clock
    this.#log = log
    this.#maxUnread = maxUnread
    this.#isSnapshot = isSnapshot
  }

  get clients(): number {
    return this.#clients.size
  }

  /**
   * False: there are too many clients already, and nothing was sent.
   * @param source whose share it counts against; undefined: only against the total
   */
  open(response: ServerResponse, first: () => StreamEvent, source?: string): boolean {
    if (!this.#hasRoom(source)) return false
    response.writeHead(200, HEADERS)
    response.on('close', () => this.#drop(response))
    this.#clients.set(response, source)
    if (this.#cancelHeartbeat === undefined) this.#beat()
    this.#write(textOf(first()), [response])
    return true
  }

  send(event: StreamEvent): void {
    const readers = [...this.#clients.keys()].filter(
      client => !this.#isSnapshot || client.writableLength === 0,
    )
    this.#write(textOf(event), readers)
  }

  /** Ends all streams. */
  close(): void {
    for (const client of this.#clients.keys()) client.end()
    this.#clients.clear()
    this.#stopBeating()
  }

  #hasRoom(source: string | undefined): boolean {
    if (this.#clients.size >= MAX_CLIENTS) return false
    if (source === undefined) return true
    const strangers = [...this.#clients.values()].filter(each => each !== undefined)
    return (
      strangers.length < STRANGERS &&
      strangers.filter(each => each === source).length < PER_STRANGER
    )
  }

  #write(text: string, to: readonly ServerResponse[]): void {
    for (const client of to) {
      this.#makeRoom(text.length)
      if (this.#clients.has(client)) client.write(text)
    }
  }

  /** What the kernel took counts as read; the rest waits in our memory. */
  #makeRoom(bytes: number): void {
    for (;;) {
      const slowest = [...this.#clients.keys()].sort((a, b) => b.writableLength - a.writableLength)
      const unread = slowest.reduce((sum, { writableLength }) => sum + writableLength, 0)
      const [first] = slowest
      if (first === undefined || unread === 0 || unread + bytes <= this.#maxUnread) return
      this.#log.warn('event stream closed: its client does not read', {
        unread: first.writableLength,
      })
      this.#drop(first)
      first.destroy()
    }
  }

  #drop(client: ServerResponse): void {
    this.#clients.delete(client)
    if (this.#clients.size === 0) this.#stopBeating()
  }

  #beat(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT_MS, () => {
      this.#write(': still here\n\n', [...this.#clients.keys()])
      if (this.#clients.size > 0) this.#beat()
    })
  }

  #stopBeating(): void {
    this.#cancelHeartbeat?.()
    this.#cancelHeartbeat = undefined
  }
}
