// SPDX-License-Identifier: Apache-2.0
import { Connection, type Kind } from './connection.js'
import { FLAG, type Packet, type Place } from './packet.js'

/** Packets and their bytes: IP packets whole, headers included. */
export interface Sum {
  readonly packets: number
  readonly bytes: number
}

export type Direction = 'sent' | 'received'

/** What one kind of packets with one other end came to. */
export interface Entry extends Sum {
  /** The other end, as the ledger's owner calls it. */
  readonly end: string
  readonly direction: Direction
  readonly kind: Kind
}

/** Whose packets are counted, and who is at the other end. */
export interface Sides {
  /** Whether a packet from or to there is one of the program that is measured. */
  readonly isOurs: (place: Place) => boolean
  /** What to call the other end; undefined: its packets are not counted. */
  readonly endOf: (theirs: Place, ours: Place) => string | undefined
}

/** The longest packet that a card sends; a longer one would be cut, with headers that were not counted. */
const MTU = 1_500

const keyOf = (ours: Place, theirs: Place): string =>
  `${ours.address} ${ours.port} ${theirs.address} ${theirs.port}`

/** Connections of which nothing passes for this long have ended: a keepalive is due more often. */
const FORGOTTEN_MS = 900_000
/** Fewer connections are not gone over. */
const FEW = 1_024

interface Known {
  readonly isOurs: boolean
  readonly connection: Connection
  /** Epoch ms of its last packet. */
  seenAt: number
}

/** Adds packets up by their other end, direction and kind. */
export class Ledger {
  readonly #sides: Sides
  readonly #connections = new Map<string, Known>()
  readonly #sums = new Map<string, { -readonly [K in keyof Entry]: Entry[K] }>()
  #oversized = 0
  /** At so many connections those that have ended are forgotten. */
  #many = FEW

  constructor(sides: Sides) {
    this.#sides = sides
  }

  /** Count a packet; others than ours are passed over. */
  take(packet: Packet): void {
    const isSent = this.#sides.isOurs(packet.from)
    if (isSent === this.#sides.isOurs(packet.to)) return
    const [ours, theirs] = isSent ? [packet.from, packet.to] : [packet.to, packet.from]
    const end = this.#sides.endOf(theirs, ours)
    if (end === undefined) return
    if (packet.bytes > MTU) this.#oversized++
    const direction = isSent ? 'sent' : 'received'
    this.#add(end, direction, this.#kindOf(packet, isSent, keyOf(ours, theirs)), packet.bytes)
  }

  /** What was counted until now. */
  get entries(): readonly Entry[] {
    return [...this.#sums.values()].map(entry => ({ ...entry }))
  }

  /** Why the sums are not what a network card would have sent; empty when they are. */
  get faults(): readonly string[] {
    return this.#oversized === 0
      ? []
      : [`${this.#oversized} packets were longer than a network card sends`]
  }

  #kindOf(packet: Packet, isSent: boolean, key: string): Kind {
    if (packet.from.port === 0) return 'other'
    const known = this.#connections.get(key)
    const opens = (packet.flags & (FLAG.syn | FLAG.ack)) === FLAG.syn
    const found = known === undefined || opens ? this.#open(packet, isSent, key, opens) : known
    found.seenAt = packet.at
    return found.connection.take(found.isOurs === isSent ? 'client' : 'server', packet)
  }

  /** A connection that was open before has the lower port at its server. */
  #open(packet: Packet, isSent: boolean, key: string, opens: boolean): Known {
    if (this.#connections.size >= this.#many) this.#forget(packet.at - FORGOTTEN_MS)
    const isFromClient = opens || packet.from.port > packet.to.port
    const isOurs = isFromClient === isSent
    const opened = { isOurs, connection: new Connection(!opens), seenAt: packet.at }
    this.#connections.set(key, opened)
    return opened
  }

  #forget(seenBefore: number): void {
    for (const [key, { seenAt }] of this.#connections)
      if (seenAt < seenBefore) this.#connections.delete(key)
    this.#many = Math.max(FEW, 2 * this.#connections.size)
  }

  #add(end: string, direction: Direction, kind: Kind, bytes: number): void {
    const key = `${end} ${direction} ${kind}`
    const sum = this.#sums.get(key) ?? { end, direction, kind, packets: 0, bytes: 0 }
    sum.packets++
    sum.bytes += bytes
    this.#sums.set(key, sum)
  }
}
