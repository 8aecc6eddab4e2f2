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
  /** Each event replaces the one before: a client that has not read that one is not sent this one. @default false */
  readonly isSnapshot?: boolean
}

const bytesOf = ({ event, id, data }: StreamEvent): Buffer =>
  Buffer.from(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`)
const HEARTBEAT = Buffer.from(': still here\n\n')

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
  /** The last whole view that each client was sent: all of them share its bytes. */
  readonly #held = new Map<ServerResponse, Buffer>()
  #last: { readonly event: StreamEvent; readonly bytes: Buffer } | undefined
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
    const bytes = this.#bytesOf(first())
    response.writeHead(200, HEADERS)
    response.on('close', () => this.#drop(response))
    this.#clients.set(response, source)
    if (this.#cancelHeartbeat === undefined) this.#beat()
    this.#write(bytes, [response])
    return true
  }

  send(event: StreamEvent): void {
    const readers = [...this.#clients.keys()].filter(
      client => !this.#isSnapshot || client.writableLength === 0,
    )
    this.#write(this.#bytesOf(event), readers)
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

  #bytesOf(event: StreamEvent): Buffer {
    if (!this.#isSnapshot) return bytesOf(event)
    if (this.#last?.event !== event) this.#last = { event, bytes: bytesOf(event) }
    return this.#last.bytes
  }

  #write(bytes: Buffer, to: readonly ServerResponse[]): void {
    for (const client of to) {
      this.#makeRoom(bytes)
      if (!this.#clients.has(client)) continue
      client.write(bytes)
      if (this.#isSnapshot && bytes !== HEARTBEAT) this.#held.set(client, bytes)
    }
  }

  /** Memory taken by what clients have not read, these bytes included. Of whole views each client holds one at most. */
  #unreadWith(bytes: Buffer): number {
    if (!this.#isSnapshot)
      return [...this.#clients.keys()].reduce(
        (sum, each) => sum + each.writableLength,
        bytes.length,
      )
    const held = [...this.#held].filter(([client]) => client.writableLength > 0)
    const unread = new Set([bytes, ...held.map(([, view]) => view)])
    return [...unread].reduce((sum, { length }) => sum + length, 0)
  }

  /** What the kernel took counts as read; the rest waits in our memory. */
  #makeRoom(bytes: Buffer): void {
    while (this.#unreadWith(bytes) > this.#maxUnread) {
      const [first] = [...this.#clients.keys()].sort((a, b) => b.writableLength - a.writableLength)
      if (first === undefined || first.writableLength === 0) return
      this.#log.warn('event stream closed: its client does not read', {
        unread: first.writableLength,
      })
      this.#drop(first)
      first.destroy()
    }
  }

  #drop(client: ServerResponse): void {
    this.#clients.delete(client)
    this.#held.delete(client)
    if (this.#clients.size > 0) return
    this.#last = undefined
    this.#stopBeating()
  }

  #beat(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT_MS, () => {
      this.#write(HEARTBEAT, [...this.#clients.keys()])
      if (this.#clients.size > 0) this.#beat()
    })
  }

  #stopBeating(): void {
    this.#cancelHeartbeat?.()
    this.#cancelHeartbeat = undefined
  }
}
