// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'

const HEARTBEAT_MS = 15_000
/** A client that leaves this much unread is closed: it comes back and gets a fresh snapshot. */
const MAX_UNREAD_BYTES = 1_048_576
const MAX_CLIENTS = 32

/** One server-sent event. */
export interface StreamEvent {
  readonly event: string
  readonly id: number
  /** JSON on one line. */
  readonly data: string
}

/** Clients that are told of every change. */
export interface EventStream {
  /** False: there are too many clients already, and nothing was sent. */
  open(response: ServerResponse, first: StreamEvent): boolean
  send(event: StreamEvent): void
  readonly clients: number
  /** Ends all streams. */
  close(): void
}

const textOf = ({ event, id, data }: StreamEvent): string =>
  `event: ${event}\nid: ${id}\ndata: ${data}\n\n`

/** A set of event streams with heartbeats and a bound on what a slow client may leave unread. */
export const makeEventStream = (
  clock: Clock,
  log: Logger,
  maxUnread = MAX_UNREAD_BYTES,
): EventStream => {
  const clients = new Set<ServerResponse>()
  let cancelHeartbeat: (() => void) | undefined

  const drop = (client: ServerResponse): void => {
    clients.delete(client)
    if (clients.size > 0) return
    cancelHeartbeat?.()
    cancelHeartbeat = undefined
  }
  const write = (client: ServerResponse, text: string): void => {
    // What the kernel took counts as read; the rest waits in our memory.
    if (client.writableLength + text.length > maxUnread && client.writableLength > 0) {
      log.warn('event stream closed: its client does not read', { unread: client.writableLength })
      drop(client)
      client.destroy()
      return
    }
    client.write(text)
  }
  const beat = (): void => {
    cancelHeartbeat = clock.after(HEARTBEAT_MS, () => {
      for (const client of clients) write(client, ': still here\n\n')
      if (clients.size > 0) beat()
    })
  }

  return {
    get clients() {
      return clients.size
    },
    open: (response, first) => {
      if (clients.size >= MAX_CLIENTS) return false
      response.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      })
      response.on('close', () => drop(response))
      clients.add(response)
      if (cancelHeartbeat === undefined) beat()
      response.write(textOf(first))
      return true
    },
    send: event => {
      const text = textOf(event)
      for (const client of clients) write(client, text)
    },
    close: () => {
      for (const client of clients) client.end()
      clients.clear()
      cancelHeartbeat?.()
      cancelHeartbeat = undefined
    },
  }
}
