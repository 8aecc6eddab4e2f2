// SPDX-License-Identifier: Apache-2.0
import type { Dial, LinkEvents } from './link.js'

/** The cloud's end of a connection that an edge opened. */
export interface CloudEnd {
  send(text: string): void
  end(reason: string): void
}

/** What the cloud does with connections and with what comes over them. */
export interface MemoryCloud {
  /** A reason refuses the connection. */
  accept(end: CloudEnd): string | undefined
  received(end: CloudEnd, text: string): void
}

/** Connections without sockets: what is sent arrives in the next turn of the event loop, and none of it is lost. */
export const dialMemory =
  (cloud: MemoryCloud): Dial =>
  (events: LinkEvents) => {
    let isOpen = true
    let isKnownToBeBroken = false
    const later = (work: () => void): void => {
      setImmediate(work)
    }
    const end: CloudEnd = {
      send: text =>
        later(() => {
          if (isOpen) events.received(text)
        }),
      end: reason =>
        later(() => {
          if (!isOpen) return
          isOpen = false
          isKnownToBeBroken = true
          events.ended(reason)
        }),
    }
    later(() => {
      const reason = cloud.accept(end)
      isOpen = reason === undefined
      if (reason === undefined) events.opened()
      else events.refused(reason)
    })
    return {
      send: text => {
        if (isKnownToBeBroken) return false
        later(() => {
          if (isOpen) cloud.received(end, text)
        })
        return true
      },
      reset: () => {
        isOpen = false
        isKnownToBeBroken = true
      },
    }
  }
