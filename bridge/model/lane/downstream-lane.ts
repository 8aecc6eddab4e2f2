// SPDX-License-Identifier: Apache-2.0
import { DeferredObjects, type Deferral } from './deferred-objects.js'
import { DOWNSTREAM_LIMITS, type DownstreamLimits } from './downstream-limits.js'
import { NoticeQueues, type Notice, type Queue } from './notice-queues.js'

/** A message that leaves now. */
export interface Sending<T> {
  /** The message's id, the same when it is resent, so that an acknowledgement counts whichever copy arrived. */
  readonly id: string
  readonly notice: Notice<T>
  readonly isResend: boolean
}

interface Flight<T> {
  readonly queue: Queue<T>
  readonly id: string
  sends: number
  deadline: number
}

const bytesOf = ({ entries }: Queue<unknown>): number => entries[0]!.notice.bytes

interface Seams {
  /** An id that no message had before. */
  readonly newId: () => string
  /** Adds jitter, so that objects which are deferred together are not tried again together. */
  readonly spread: (ms: number) => number
}

/**
 * The messages for one edge, in order per object and a few at a time. It has no clock and sends nothing: `take` returns what
 * is to be sent now. It outlives connections; what was not acknowledged is sent again on the next one. A notice that does not
 * fit is dropped, and `mustCompare` tells when the edge has to be compared with the cluster to find it again.
 */
export class DownstreamLane<T> {
  readonly #limits: DownstreamLimits
  readonly #seams: Seams
  /** Queues with something to send, none of which is in flight or deferred. */
  readonly #ready = new Map<string, Queue<T>>()
  readonly #flights = new Map<string, Flight<T>>()
  readonly #deferred: DeferredObjects<Queue<T>>
  readonly #queues: NoticeQueues<T>
  #isOpen = false
  #hasMissed = false

  constructor(seams: Seams, limits: DownstreamLimits = DOWNSTREAM_LIMITS) {
    this.#seams = seams
    this.#limits = limits
    this.#queues = new NoticeQueues(limits)
    this.#deferred = new DeferredObjects(limits, seams.spread)
  }

  /** Messages that are not acknowledged yet, in flight or queued. */
  get messages(): number {
    return this.#queues.messages
  }

  get bytes(): number {
    return this.#queues.bytes
  }

  get inFlight(): number {
    return this.#flights.size
  }

  /** A notice was dropped, and there is room for it now. */
  get mustCompare(): boolean {
    return (
      this.#hasMissed &&
      this.messages <= this.#limits.maxMessages / 2 &&
      this.bytes <= this.#limits.maxBytes / 2
    )
  }

  /** The edge is about to be compared with the cluster, which finds what was dropped. */
  compared(): void {
    this.#hasMissed = false
  }

  /** For `explain`. */
  deferrals(): readonly Deferral[] {
    return this.#deferred.list()
  }

  /** When `take` has to be called if nothing else happens before; Infinity for never. Clock ms. */
  get nextAt(): number {
    if (!this.#isOpen) return Infinity
    const deadlines = [...this.#flights.values()].map(({ deadline }) => deadline)
    return Math.min(this.#deferred.nextAt, ...deadlines)
  }

  /** Queue a notice. @returns false when there is no room; see `mustCompare` */
  offer(notice: Notice<T>): boolean {
    const put = this.#queues.put(notice, id => this.#flights.has(id))
    if (put === undefined) {
      this.#hasMissed = true
      return false
    }
    const { queue, isNew } = put
    if (isNew) this.#ready.set(queue.key, queue)
    else if (queue.entries[0]!.notice === notice) this.#deferred.changed(queue.key)
    return true
  }

  /** The edge is connected. What was in flight on an earlier connection is sent again. */
  open(): void {
    this.close()
    this.#isOpen = true
  }

  /** The connection is gone. What was in flight is sent first on the next one. */
  close(): void {
    this.#isOpen = false
    const queues = [...this.#flights.values()].map(({ queue }) => queue)
    this.#flights.clear()
    for (const queue of queues) this.#queues.dropOutdated(queue)
    const waiting = [...this.#ready.values()]
    this.#ready.clear()
    for (const queue of [...queues, ...waiting, ...this.#deferred.takeAll()])
      this.#ready.set(queue.key, queue)
  }

  /** What to send now; it counts as sent. @param now clock ms */
  take(now: number): readonly Sending<T>[] {
    if (!this.#isOpen) return []
    for (const queue of this.#deferred.takeDue(now)) this.#ready.set(queue.key, queue)
    const resends = [...this.#flights.values()].flatMap(flight => this.#overdue(flight, now))
    return [...resends, ...this.#unsent(now)]
  }

  /** The edge acknowledged a message. @returns its notice; undefined when no message with that id is unacknowledged */
  acknowledge(id: string): Notice<T> | undefined {
    const queue = this.#queues.sentAs(id)
    if (queue === undefined) return undefined
    this.#flights.delete(id)
    this.#deferred.succeeded(queue.key)
    this.#ready.delete(queue.key)
    const notice = this.#queues.shift(queue)
    if (queue.entries.length > 0) this.#ready.set(queue.key, queue)
    return notice
  }

  /** The edge answered a message with an error: its object is deferred. */
  refuse(id: string, reason: string, now: number): void {
    const flight = this.#flights.get(id)
    if (flight !== undefined) this.#defer(flight, reason, now)
  }

  /** A message that was taken waits in the connection's buffer: until it has `left`, no acknowledgement is missed. */
  buffered(id: string): void {
    this.#expect(id, Infinity)
  }

  /** It has left the buffer, so the edge may acknowledge it from now on. */
  left(id: string, now: number): void {
    this.#expect(id, now + this.#limits.ackTimeoutMs)
  }

  #expect(id: string, deadline: number): void {
    const flight = this.#flights.get(id)
    if (flight !== undefined) flight.deadline = deadline
  }

  #isFull(next: Queue<T>): boolean {
    const { window, windowBytes } = this.#limits
    let bytes = bytesOf(next)
    for (const { queue } of this.#flights.values()) bytes += bytesOf(queue)
    const { size } = this.#flights
    return size >= window || (size > 0 && bytes > windowBytes)
  }

  #unsent(now: number): readonly Sending<T>[] {
    const sent: Sending<T>[] = []
    for (const queue of this.#ready.values()) {
      if (this.#isFull(queue)) break
      this.#ready.delete(queue.key)
      const { id, notice } = this.#queues.send(queue, this.#seams.newId)
      this.#flights.set(id, { queue, id, sends: 1, deadline: now + this.#limits.ackTimeoutMs })
      sent.push({ id, notice, isResend: false })
    }
    return sent
  }

  #overdue(flight: Flight<T>, now: number): readonly Sending<T>[] {
    if (flight.deadline > now) return []
    if (flight.sends > this.#limits.resends) {
      this.#defer(flight, 'no ack', now)
      return []
    }
    flight.sends++
    flight.deadline = now + this.#limits.ackTimeoutMs
    const { notice } = flight.queue.entries[0]!
    return [{ id: flight.id, notice, isResend: true }]
  }

  #defer({ id, queue }: Flight<T>, reason: string, now: number): void {
    const { key } = queue
    this.#flights.delete(id)
    const { uid } = queue.entries[0]!.notice
    if (this.#queues.dropOutdated(queue)) this.#deferred.changed(key)
    this.#deferred.defer({ key, uid, reason }, queue, now)
  }
}
