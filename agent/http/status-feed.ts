// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { EventStream, type StreamEvent } from './event-stream.js'

/** Changes closer together than this are one event. */
const SETTLE_MS = 250
/** Without a change ages still grow: a new event this often. */
const REFRESH_MS = 5_000

/** A whole document as events, such as `/status` for `status --watch`. Costs nothing while nobody watches. */
export interface StatusFeed {
  /** False: too many clients, or too many of this source. */
  open(response: ServerResponse, source?: string): boolean
  changed(): void
  close(): void
}

/** A feed whose events are whole views: a reader needs no memory, and a lost event loses nothing. */
export const makeStatusFeed = (document: () => unknown, clock: Clock, log: Logger): StatusFeed => {
  const stream = new EventStream(clock, log, { isSnapshot: true })
  let id = 0
  let latest: StreamEvent | undefined
  let madeAt = -Infinity
  let isSoon = false
  let cancel: (() => void) | undefined

  const event = (): StreamEvent => {
    madeAt = clock.now()
    return (latest = { event: 'status', id: ++id, data: JSON.stringify(document()) })
  }
  /** A stream that opens right after another is sent the same view: making one takes long in a large zone. */
  const recent = (): StreamEvent =>
    latest !== undefined && clock.now() - madeAt < SETTLE_MS ? latest : event()
  const plan = (ms: number): void => {
    cancel?.()
    cancel = clock.after(ms, () => {
      isSoon = false
      cancel = undefined
      latest = undefined
      if (stream.clients === 0) return
      stream.send(event())
      plan(REFRESH_MS)
    })
  }

  return {
    open: (response, source) => {
      if (!stream.open(response, recent, source)) return false
      if (cancel === undefined) plan(REFRESH_MS)
      return true
    },
    changed: () => {
      latest = undefined
      if (isSoon || stream.clients === 0) return
      isSoon = true
      plan(SETTLE_MS)
    },
    close: () => {
      cancel?.()
      cancel = undefined
      stream.close()
    },
  }
}
