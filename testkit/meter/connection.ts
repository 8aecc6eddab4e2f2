// SPDX-License-Identifier: Apache-2.0
// What a packet is for, as far as it can be seen from outside: nothing is decrypted.
import { FLAG, type Packet } from './packet.js'

/**
 * What a packet is for. One that carries several things counts as what it begins with.
 *
 * - `handshake`: opening and closing a connection: SYN to the first request, TLS with its tickets, FIN and RST
 * - `request`: what the side that opened the connection sends
 * - `answer`: what the other side sends within two seconds of a request
 * - `watch`: what it sends later: events and bookmarks of a stream
 * - `keepalive`: TCP's probes with their answers, and HTTP/2's PINGs
 * - `ack`: other empty segments
 * - `other`: what is not TCP
 */
export type Kind = (typeof KINDS)[number]

export const KINDS = [
  'request',
  'answer',
  'watch',
  'keepalive',
  'ack',
  'handshake',
  'other',
] as const

/** An answer begins within this time of its request; what comes later was not asked for just now. */
const ANSWER_MS = 2_000
/** A frame of 17 bytes with 8 more that say what it is, as a record of TLS 1.3 with 5 + 1 + 16 bytes around it. */
const PING_BYTES = 39
const TLS = { ciphers: 0x14, handshake: 0x16, application: 0x17 } as const
const RECORD_HEADER = 5

/** Sequence numbers are counted modulo 2³². */
const isBefore = (a: number, b: number): boolean => ((a - b) | 0) < 0
const plus = (a: number, b: number): number => (a + b) >>> 0

type Side = 'client' | 'server'

/** Where the second record of application data begins in a client's last flight: the first one is its Finished. */
const requestBehind = (head: Buffer): number | undefined => {
  let finished = false
  for (
    let at = 0;
    at + RECORD_HEADER <= head.length;
    at += RECORD_HEADER + head.readUInt16BE(at + 3)
  ) {
    if (head[at] === TLS.ciphers) continue
    if (finished) return at
    finished = true
  }
  return undefined
}

/** One connection, told its packets in their order. */
export class Connection {
  readonly #isJoined: boolean
  /** What each side sends next, by what was seen. */
  readonly #next: Partial<Record<Side, number>> = {}
  /** Where the client's first request begins. */
  #requestFrom: number | undefined
  #isTls: boolean | undefined
  /** Flights of handshake messages that the client has sent. */
  #flights = 0
  #requestAt = -Infinity
  /** Who probed and was not answered yet. */
  #probedBy: Side | undefined

  /** @param isOpen whether it was open before the first packet was seen, so that its handshake was not */
  constructor(isOpen: boolean) {
    this.#isJoined = isOpen
    if (isOpen) this.#requestFrom = 0
  }

  /** @returns what this packet of `side` is for */
  take(side: Side, packet: Packet): Kind {
    if ((packet.flags & FLAG.syn) !== 0) {
      this.#next[side] = plus(packet.seq, 1)
      return 'handshake'
    }
    if (packet.payload === 0) return this.#takeEmpty(side, packet)
    const next = plus(packet.seq, packet.payload)
    const before = this.#next[side]
    if (before === undefined || isBefore(before, next)) this.#next[side] = next
    return side === 'client' ? this.#fromClient(packet) : this.#fromServer(packet)
  }

  #takeEmpty(side: Side, { flags, seq }: Packet): Kind {
    if ((flags & (FLAG.fin | FLAG.rst)) !== 0) return 'handshake'
    const next = this.#next[side]
    if (next !== undefined && plus(seq, 1) === next) {
      this.#probedBy = side
      return 'keepalive'
    }
    if (this.#probedBy !== undefined && this.#probedBy !== side) {
      this.#probedBy = undefined
      return 'keepalive'
    }
    return this.#requestFrom === undefined ? 'handshake' : 'ack'
  }

  #fromClient(packet: Packet): Kind {
    if (this.#requestFrom === undefined && !this.#begins(packet)) return 'handshake'
    if (isPing(packet)) return 'keepalive'
    this.#requestAt = packet.at
    return 'request'
  }

  #fromServer(packet: Packet): Kind {
    const from = this.#requestFrom
    // What was sent before the request had come belongs to the handshake: tickets of TLS.
    if (from === undefined) return 'handshake'
    if (!this.#isJoined && !isBefore(from, packet.ack)) return 'handshake'
    if (isPing(packet)) return 'keepalive'
    return packet.at - this.#requestAt > ANSWER_MS ? 'watch' : 'answer'
  }

  /** Whether the client's first request begins with this packet. */
  #begins({ at, seq, head }: Packet): boolean {
    const type = head[0]
    this.#isTls ??= type === TLS.handshake
    if (!this.#isTls || (type === TLS.application && this.#flights > 1)) {
      this.#requestFrom = seq
      return true
    }
    this.#flights++
    if (type !== TLS.ciphers) return false
    const behind = requestBehind(head)
    if (behind === undefined) return false
    this.#requestFrom = plus(seq, behind)
    this.#requestAt = at
    return false
  }
}

const isPing = ({ payload, head }: Packet): boolean =>
  payload === PING_BYTES && head[0] === TLS.application
