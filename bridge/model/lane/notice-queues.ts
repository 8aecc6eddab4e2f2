// SPDX-License-Identifier: Apache-2.0
import type { DownstreamLimits } from './downstream-limits.js'

/** A message about one object, to be sent. */
export interface Notice<T> {
  /** Kind, namespace and name: messages with the same key are sent in order. */
  readonly key: string
  /** Of the object: a newer notice of the same object replaces an older one, one of another object of that name queues behind it. */
  readonly uid: string
  readonly bytes: number
  readonly value: T
}

interface Waiting<T> {
  notice: Notice<T>
  /** Undefined until it is sent: a notice that replaces a sent one gets a new id. */
  id: string | undefined
}

/** Notices with the same key, at least one. At most one of them is in flight, and that is the first. */
export interface Queue<T> {
  readonly key: string
  readonly entries: Waiting<T>[]
}

/** Notices that are not acknowledged yet, in order per key and within limits. */
export class NoticeQueues<T> {
  readonly #limits: DownstreamLimits
  readonly #queues = new Map<string, Queue<T>>()
  /** By id of the first entry, once sent: an acknowledgement may arrive late, on another connection. */
  readonly #sent = new Map<string, Queue<T>>()
  #messages = 0
  #bytes = 0

  constructor(limits: DownstreamLimits) {
    this.#limits = limits
  }

  get messages(): number {
    return this.#messages
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * @param isInFlight whether the message with this id is in flight: then it is not replaced
   * @returns its queue, and whether that is a new one; undefined when there is no room
   */
  put(
    notice: Notice<T>,
    isInFlight: (id: string) => boolean,
  ): { readonly queue: Queue<T>; readonly isNew: boolean } | undefined {
    const known = this.#queues.get(notice.key)
    const waiting = known?.entries.findLast(
      ({ notice: { uid }, id }) => uid === notice.uid && !(id !== undefined && isInFlight(id)),
    )
    const more = notice.bytes - (waiting?.notice.bytes ?? 0)
    if (!this.#hasRoom(waiting === undefined ? 1 : 0, more)) return undefined
    this.#bytes += more
    const queue = known ?? { key: notice.key, entries: [] }
    if (waiting === undefined) this.#append(queue, notice)
    else this.#replace(waiting, notice)
    return { queue, isNew: known === undefined }
  }

  /** The queue whose first entry was sent with this id. */
  sentAs(id: string): Queue<T> | undefined {
    return this.#sent.get(id)
  }

  /** The first entry is sent now, with the id that it had before if there is one. */
  send(queue: Queue<T>, newId: () => string): { readonly id: string; readonly notice: Notice<T> } {
    const entry = queue.entries[0]!
    entry.id ??= newId()
    this.#sent.set(entry.id, queue)
    return { id: entry.id, notice: entry.notice }
  }

  /** Remove the first entry. */
  shift(queue: Queue<T>): Notice<T> {
    const { notice, id } = queue.entries.shift()!
    if (id !== undefined) this.#sent.delete(id)
    this.#messages--
    this.#bytes -= notice.bytes
    if (queue.entries.length === 0) this.#queues.delete(queue.key)
    return notice
  }

  /** Drop the first notice if a newer one of the same object is behind it. @returns whether it was dropped */
  dropOutdated(queue: Queue<T>): boolean {
    const [first, second] = queue.entries
    const isOutdated = first!.notice.uid === second?.notice.uid
    if (isOutdated) this.shift(queue)
    return isOutdated
  }

  #hasRoom(messages: number, bytes: number): boolean {
    return (
      bytes <= 0 ||
      this.#messages === 0 ||
      (this.#messages + messages <= this.#limits.maxMessages &&
        this.#bytes + bytes <= this.#limits.maxBytes)
    )
  }

  #append(queue: Queue<T>, notice: Notice<T>): void {
    queue.entries.push({ notice, id: undefined })
    this.#messages++
    this.#queues.set(queue.key, queue)
  }

  #replace(waiting: Waiting<T>, notice: Notice<T>): void {
    if (waiting.id !== undefined) this.#sent.delete(waiting.id)
    waiting.id = undefined
    waiting.notice = notice
  }
}
