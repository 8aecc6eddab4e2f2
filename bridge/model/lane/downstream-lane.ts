// SPDX-License-Identifier: Apache-2.0

/** How an edge is spoken to. KubeEdge's edges answer 30 messages a second, and their Leases wait in the same line. */
export interface DownstreamLimits {
  /** Messages that the edge has not acknowledged. 16 delay its Lease by half a second. */
  readonly window: number
  readonly ackTimeoutMs: number
  /** How often the same message is sent again before it is set aside. */
  readonly resends: number
  /** How long it waits then, and at most when it is set aside again and again: an edge pays for what it does not take. */
  readonly asideMs: number
  readonly longestAsideMs: number
  /** Waiting messages, and their bytes. */
  readonly maxMessages: number
  readonly maxBytes: number
}

export const DOWNSTREAM_LIMITS: DownstreamLimits = {
  window: 16,
  ackTimeoutMs: 5_000,
  resends: 3,
  asideMs: 30_000,
  longestAsideMs: 1_800_000,
  maxMessages: 5_000,
  maxBytes: 32 * 1024 * 1024,
}

/** What is to be sent about one object. */
export interface Notice<T> {
  /** What must stay in order: kind, namespace and name. */
  readonly key: string
  /** Which object of that name: a newer notice of the same one replaces an older, another one waits behind it. */
  readonly uid: string
  readonly bytes: number
  readonly value: T
}

/** A message that leaves now. */
export interface Sending<T> {
  /** The message's id: the same when it is sent again, so that the edge's word counts for whichever arrived. */
  readonly id: string
  readonly notice: Notice<T>
  readonly isResend: boolean
}

/** An object that the edge did not take, which others do not wait for. */
export interface Aside {
  readonly key: string
  readonly uid: string
  /** Why: `no ack`, or what the edge said. */
  readonly reason: string
  /** Clock ms at which it is tried again. */
  readonly until: number
  /** How often it was set aside in a row. */
  readonly times: number
}

interface Waiting<T> {
  notice: Notice<T>
  /** Undefined until it was sent: what replaces it must not have its id. */
  id: string | undefined
}

/** All that waits about one name. At most one message of it is on its way, and it is the first of the line. */
interface Line<T> {
  readonly key: string
  readonly entries: Waiting<T>[]
  asideTimes: number
}

interface SetAside<T> extends Aside {
  readonly line: Line<T>
  /** Another content of it need not wait longer. Clock ms. */
  readonly soonest: number
}

interface Flight<T> {
  readonly line: Line<T>
  readonly id: string
  sends: number
  deadline: number
}

interface Seams {
  /** An id that no message had before. */
  readonly newId: () => string
  /** Milliseconds, changed a little by chance: those that are set aside together do not come back together. */
  readonly spread: (ms: number) => number
}

/**
 * What one edge is to be sent, in the order of each object, a few at a time. It keeps no clock and sends nothing:
 * `take` says what leaves now. It survives the connection; what the edge did not acknowledge is sent again on the next one.
 * What finds no room is not kept: `hasMissed` says that the edge must be compared with the cluster once there is room.
 */
export class DownstreamLane<T> {
  readonly #limits: DownstreamLimits
  readonly #seams: Seams
  /** Lines with something to send, none of which is on its way or set aside. */
  readonly #ready = new Map<string, Line<T>>()
  readonly #flights = new Map<string, Flight<T>>()
  /** Key → the line and when it is tried again. */
  readonly #aside = new Map<string, SetAside<T>>()
  readonly #lines = new Map<string, Line<T>>()
  /** The ids of the first entries of lines, once they were sent: an edge's word may come late, on another connection. */
  readonly #sent = new Map<string, Line<T>>()
  #isOpen = false
  #messages = 0
  #bytes = 0
  #hasMissed = false

  constructor(seams: Seams, limits: DownstreamLimits = DOWNSTREAM_LIMITS) {
    this.#seams = seams
    this.#limits = limits
  }

  /** Messages that are not acknowledged yet, on their way or not. */
  get messages(): number {
    return this.#messages
  }

  get bytes(): number {
    return this.#bytes
  }

  get inFlight(): number {
    return this.#flights.size
  }

  /** Something was not kept, and there is room for it now. */
  get mustCompare(): boolean {
    return (
      this.#hasMissed &&
      this.#messages <= this.#limits.maxMessages / 2 &&
      this.#bytes <= this.#limits.maxBytes / 2
    )
  }

  /** The edge is about to be compared with the cluster: what was not kept is found again. */
  compared(): void {
    this.#hasMissed = false
  }

  /** What the edge did not take, for `explain`. */
  asides(): readonly Aside[] {
    return [...this.#aside.values()].map(({ key, uid, reason, until, times }) => ({
      ...{ key, uid, reason, until, times },
    }))
  }

  /** When `take` has something to do without anything else happening; Infinity if never. Clock ms. */
  get nextAt(): number {
    const flights = [...this.#flights.values()].map(({ deadline }) => deadline)
    const asides = [...this.#aside.values()].map(({ until }) => until)
    return Math.min(Infinity, ...(this.#isOpen ? [...flights, ...asides] : []))
  }

  /** Send this. @returns false: there is no room, see `mustCompare` */
  offer(notice: Notice<T>): boolean {
    const line = this.#lines.get(notice.key)
    const waiting = line === undefined ? undefined : this.#replaceable(line, notice.uid)
    const more = notice.bytes - (waiting?.notice.bytes ?? 0)
    if (!this.#hasRoom(waiting === undefined ? 1 : 0, more)) {
      this.#hasMissed = true
      return false
    }
    this.#bytes += more
    if (waiting === undefined) this.#append(notice, line)
    else this.#replace(waiting, notice)
    if (line?.entries[0]?.notice === notice) this.#advance(line)
    return true
  }

  /** The edge is connected: nothing of what was sent before counts as on its way. */
  open(): void {
    this.close()
    this.#isOpen = true
  }

  /** The connection is gone. What was on its way goes first on the next one. */
  close(): void {
    this.#isOpen = false
    const lines = [...this.#flights.values()].map(({ line }) => line)
    this.#flights.clear()
    for (const line of lines) this.#dropOutdated(line)
    const waiting = [...this.#ready.values()]
    this.#ready.clear()
    const asides = [...this.#aside.values()].map(({ line }) => line)
    this.#aside.clear()
    for (const line of [...lines, ...waiting, ...asides]) this.#ready.set(line.key, line)
  }

  /** What leaves now. Clock ms. */
  take(now: number): readonly Sending<T>[] {
    if (!this.#isOpen) return []
    for (const aside of [...this.#aside.values()])
      if (aside.until <= now) {
        this.#aside.delete(aside.key)
        this.#ready.set(aside.key, aside.line)
      }
    const again = [...this.#flights.values()].flatMap(flight => this.#late(flight, now))
    return [...again, ...this.#fresh(now)]
  }

  /** The edge has dealt with a message. @returns what it was; undefined: nobody waits for that */
  acknowledge(id: string): Notice<T> | undefined {
    const line = this.#sent.get(id)
    if (line === undefined) return undefined
    this.#flights.delete(id)
    this.#aside.delete(line.key)
    this.#ready.delete(line.key)
    line.asideTimes = 0
    const notice = this.#shift(line)
    if (line.entries.length === 0) this.#lines.delete(line.key)
    else this.#ready.set(line.key, line)
    return notice
  }

  /** The edge could not deal with a message: it is set aside. @param reason what it said */
  refuse(id: string, reason: string, now: number): void {
    const flight = this.#flights.get(id)
    if (flight !== undefined) this.#setAside(flight, reason, now)
  }

  #hasRoom(messages: number, bytes: number): boolean {
    return (
      bytes <= 0 ||
      this.#messages === 0 ||
      (this.#messages + messages <= this.#limits.maxMessages &&
        this.#bytes + bytes <= this.#limits.maxBytes)
    )
  }

  /** What a newer notice of the same object takes the place of: unless it is on its way, as the first of a line may be. */
  #replaceable(line: Line<T>, uid: string): Waiting<T> | undefined {
    const isOnItsWay = ({ id }: Waiting<T>): boolean => id !== undefined && this.#flights.has(id)
    return line.entries.findLast(entry => entry.notice.uid === uid && !isOnItsWay(entry))
  }

  #replace(waiting: Waiting<T>, notice: Notice<T>): void {
    if (waiting.id !== undefined) this.#sent.delete(waiting.id)
    waiting.id = undefined
    waiting.notice = notice
  }

  #append(notice: Notice<T>, known: Line<T> | undefined): void {
    const line = known ?? { key: notice.key, entries: [], asideTimes: 0 }
    line.entries.push({ notice, id: undefined })
    this.#messages++
    if (known !== undefined) return
    this.#lines.set(line.key, line)
    this.#ready.set(line.key, line)
  }

  #fresh(now: number): readonly Sending<T>[] {
    const sent: Sending<T>[] = []
    for (const line of this.#ready.values()) {
      if (this.#flights.size >= this.#limits.window) break
      this.#ready.delete(line.key)
      const entry = line.entries[0]!
      entry.id ??= this.#seams.newId()
      const { id, notice } = entry
      this.#sent.set(id, line)
      this.#flights.set(id, { line, id, sends: 1, deadline: now + this.#limits.ackTimeoutMs })
      sent.push({ id, notice, isResend: false })
    }
    return sent
  }

  #late(flight: Flight<T>, now: number): readonly Sending<T>[] {
    if (flight.deadline > now) return []
    if (flight.sends > this.#limits.resends) {
      this.#setAside(flight, 'no ack', now)
      return []
    }
    flight.sends++
    flight.deadline = now + this.#limits.ackTimeoutMs
    const { notice } = flight.line.entries[0]!
    return [{ id: flight.id, notice, isResend: true }]
  }

  #setAside({ id, line }: Flight<T>, reason: string, now: number): void {
    const { asideMs, longestAsideMs } = this.#limits
    this.#flights.delete(id)
    const { uid } = line.entries[0]!.notice
    if (this.#dropOutdated(line)) line.asideTimes = 0
    const waitMs = Math.min(longestAsideMs, asideMs * 2 ** line.asideTimes)
    line.asideTimes++
    this.#aside.set(line.key, {
      ...{ key: line.key, uid, reason, line, times: line.asideTimes },
      until: now + this.#seams.spread(waitMs),
      soonest: now + this.#seams.spread(asideMs),
    })
  }

  /** What was set aside is another one now. */
  #advance(line: Line<T>): void {
    line.asideTimes = 0
    const aside = this.#aside.get(line.key)
    if (aside === undefined || aside.until <= aside.soonest) return
    this.#aside.set(line.key, { ...aside, until: aside.soonest })
  }

  /** Where a newer one of the same object waits behind it, the edge need not take the first any more. */
  #dropOutdated(line: Line<T>): boolean {
    const [first, second] = line.entries
    const isOutdated = first!.notice.uid === second?.notice.uid
    if (isOutdated) this.#shift(line)
    return isOutdated
  }

  /** The first of the line is done with. */
  #shift(line: Line<T>): Notice<T> {
    const { notice, id } = line.entries.shift()!
    if (id !== undefined) this.#sent.delete(id)
    this.#messages--
    this.#bytes -= notice.bytes
    return notice
  }
}
