// SPDX-License-Identifier: Apache-2.0
import { DeferredObjects, type Deferral } from './deferred-objects.js'
import { DOWNSTREAM_LIMITS, type DownstreamLimits } from './downstream-limits.js'

/** A message about one object, to be sent. */
export interface Notice<T> {
  /** Kind, namespace and name: messages with the same key are sent in order. */
  readonly key: string
  /** Of the object: a newer notice of the same object replaces an older one, one of another object of that name queues behind it. */
  readonly uid: string
  readonly bytes: number
  readonly value: T
}

/** A message that leaves now. */
export interface Sending<T> {
  /** The message's id, the same when it is resent, so that an acknowledgement counts whichever copy arrived. */
  readonly id: string
  readonly notice: Notice<T>
  readonly isResend: boolean
}

interface Waiting<T> {
  notice: Notice<T>
  /** Undefined until it is sent: a notice that replaces a sent one gets a new id. */
  id: string | undefined
}

/** Notices with the same key. At most one of them is in flight, and that is the first. */
interface Queue<T> {
  readonly key: string
  readonly entries: Waiting<T>[]
}

interface Flight<T> {
  readonly queue: Queue<T>
  readonly id: string
  sends: number
  deadline: number
}

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
  readonly #queues = new Map<string, Queue<T>>()
  /** By id of the first entry, once sent: an acknowledgement may arrive late, on another connection. */
  readonly #sent = new Map<string, Queue<T>>()
  #isOpen = false
  #messages = 0
  #bytes = 0
  #hasMissed = false

  constructor(seams: Seams, limits: DownstreamLimits = DOWNSTREAM_LIMITS) {
    this.#seams = seams
    this.#limits = limits
    this.#deferred = new DeferredObjects(limits, seams.spread)
  }

  /** Messages that are not acknowledged yet, in flight or queued. */
  get messages(): number {
    return this.#messages
  }

  get bytes(): number {
    return this.#bytes
  }

  get inFlight(): number {
    return this.#flights.size
  }

  /** A notice was dropped, and there is room for it now. */
  get mustCompare(): boolean {
    return (
      this.#hasMissed &&
      this.#messages <= this.#limits.maxMessages / 2 &&
      this.#bytes <= this.#limits.maxBytes / 2
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
    const queue = this.#queues.get(notice.key)
    const waiting = queue === undefined ? undefined : this.#replaceable(queue, notice.uid)
    const more = notice.bytes - (waiting?.notice.bytes ?? 0)
    if (!this.#hasRoom(waiting === undefined ? 1 : 0, more)) {
      this.#hasMissed = true
      return false
    }
    this.#bytes += more
    if (waiting === undefined) this.#append(notice, queue)
    else this.#replace(waiting, notice)
    if (queue?.entries[0]?.notice === notice) this.#deferred.changed(queue.key)
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
    for (const queue of queues) this.#dropOutdated(queue)
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
    const queue = this.#sent.get(id)
    if (queue === undefined) return undefined
    this.#flights.delete(id)
    this.#deferred.succeeded(queue.key)
    this.#ready.delete(queue.key)
    const notice = this.#shift(queue)
    if (queue.entries.length === 0) this.#queues.delete(queue.key)
    else this.#ready.set(queue.key, queue)
    return notice
  }

  /** The edge answered a message with an error: its object is deferred. */
  refuse(id: string, reason: string, now: number): void {
    const flight = this.#flights.get(id)
    if (flight !== undefined) this.#defer(flight, reason, now)
  }

  #hasRoom(messages: number, bytes: number): boolean {
    return (
      bytes <= 0 ||
      this.#messages === 0 ||
      (this.#messages + messages <= this.#limits.maxMessages &&
        this.#bytes + bytes <= this.#limits.maxBytes)
    )
  }

  /** The entry that a newer notice of the same object replaces; one in flight is not replaced. */
  #replaceable(queue: Queue<T>, uid: string): Waiting<T> | undefined {
    const isInFlight = ({ id }: Waiting<T>): boolean => id !== undefined && this.#flights.has(id)
    return queue.entries.findLast(entry => entry.notice.uid === uid && !isInFlight(entry))
  }

  #replace(waiting: Waiting<T>, notice: Notice<T>): void {
    if (waiting.id !== undefined) this.#sent.delete(waiting.id)
    waiting.id = undefined
    waiting.notice = notice
  }

  #append(notice: Notice<T>, known: Queue<T> | undefined): void {
    const queue = known ?? { key: notice.key, entries: [] }
    queue.entries.push({ notice, id: undefined })
    this.#messages++
    if (known !== undefined) return
    this.#queues.set(queue.key, queue)
    this.#ready.set(queue.key, queue)
  }

  #unsent(now: number): readonly Sending<T>[] {
    const sent: Sending<T>[] = []
    for (const queue of this.#ready.values()) {
      if (this.#flights.size >= this.#limits.window) break
      this.#ready.delete(queue.key)
      const entry = queue.entries[0]!
      entry.id ??= this.#seams.newId()
      const { id, notice } = entry
      this.#sent.set(id, queue)
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
    if (this.#dropOutdated(queue)) this.#deferred.changed(key)
    this.#deferred.defer({ key, uid, reason }, queue, now)
  }

  /** Drop the first notice if a newer one of the same object is behind it. @returns whether it was dropped */
  #dropOutdated(queue: Queue<T>): boolean {
    const [first, second] = queue.entries
    const isOutdated = first!.notice.uid === second?.notice.uid
    if (isOutdated) this.#shift(queue)
    return isOutdated
  }

  /** Remove the first entry. */
  #shift(queue: Queue<T>): Notice<T> {
    const { notice, id } = queue.entries.shift()!
    if (id !== undefined) this.#sent.delete(id)
    this.#messages--
    this.#bytes -= notice.bytes
    return notice
  }
}
