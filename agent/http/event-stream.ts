// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'

const HEARTBEAT_MS = 15_000
const MAX_UNREAD_BYTES = 4 << 20
const MAX_CLIENTS = 32
/** One stranger's, and all strangers' together: the node's own programs keep the rest. */
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

/** Clients that get every change. */
export interface EventStream {
  /**
   * False: there are too many clients already, and nothing was sent.
   * @param source whose share it counts against; undefined: only against the total
   */
  open(response: ServerResponse, first: StreamEvent, source?: string): boolean
  send(event: StreamEvent): void
  readonly clients: number
  /** Ends all streams. */
  close(): void
}

const textOf = ({ event, id, data }: StreamEvent): string =>
  `event: ${event}\nid: ${id}\ndata: ${data}\n\n`

/** A set of event streams with heartbeats and a bound on what slow clients may leave unread. */
export const makeEventStream = (
  clock: Clock,
  log: Logger,
  { maxUnread = MAX_UNREAD_BYTES, isSnapshot = false }: StreamOptions = {},
): EventStream => {
  /** With their sources. */
  const clients = new Map<ServerResponse, string | undefined>()
  let cancelHeartbeat: (() => void) | undefined

  const drop = (client: ServerResponse): void => {
    clients.delete(client)
    if (clients.size > 0) return
    cancelHeartbeat?.()
    cancelHeartbeat = undefined
  }
  /** What the kernel took counts as read; the rest waits in our memory. */
  const makeRoom = (bytes: number): void => {
    for (;;) {
      const slowest = [...clients.keys()].sort((a, b) => b.writableLength - a.writableLength)
      const unread = slowest.reduce((sum, { writableLength }) => sum + writableLength, 0)
      const [first] = slowest
      if (first === undefined || unread === 0 || unread + bytes <= maxUnread) return
      log.warn('event stream closed: its client does not read', { unread: first.writableLength })
      drop(first)
      first.destroy()
    }
  }
  const write = (text: string, to: readonly ServerResponse[]): void => {
    for (const client of to) {
      makeRoom(text.length)
      if (clients.has(client)) client.write(text)
    }
  }
  const beat = (): void => {
    cancelHeartbeat = clock.after(HEARTBEAT_MS, () => {
      write(': still here\n\n', [...clients.keys()])
      if (clients.size > 0) beat()
    })
  }

  const hasRoom = (source: string | undefined): boolean => {
    if (clients.size >= MAX_CLIENTS) return false
    if (source === undefined) return true
    const strangers = [...clients.values()].filter(each => each !== undefined)
    return (
      strangers.length < STRANGERS &&
      strangers.filter(each => each === source).length < PER_STRANGER
    )
  }

  return {
    get clients() {
      return clients.size
    },
    open: (response, first, source) => {
      if (!hasRoom(source)) return false
      response.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      })
      response.on('close', () => drop(response))
      clients.set(response, source)
      if (cancelHeartbeat === undefined) beat()
      write(textOf(first), [response])
      return true
    },
    send: event => {
      const readers = [...clients.keys()].filter(
        client => !isSnapshot || client.writableLength === 0,
      )
      write(textOf(event), readers)
    },
    close: () => {
      for (const client of clients.keys()) client.end()
      clients.clear()
      cancelHeartbeat?.()
      cancelHeartbeat = undefined
    },
  }
}
