// SPDX-License-Identifier: Apache-2.0
import type { Route } from '../../ports/transport.js'
import { maxMessageBytes } from './body.js'
import type { ExchangeContext } from './context.js'
import type { Inbox } from './inbox.js'
import { refusalAnswer, type PeerAnswer } from './replies.js'
import { REQUESTS } from './peer-state.js'
import { RateLimit } from './rate-limit.js'
import type { Refusal } from './refusal.js'
import { MAX_SIGNED_BYTES } from './signed-body.js'
import type { SuperEdgeExchange } from './superedge/superedge.js'

/**
 * Bytes per second whose signature is verified for one member's address: at most 6 ms of CPU. Far above what members
 * send, since anybody who sends from that address uses it up too.
 */
const PROVED_BYTES = 8 << 20
/** A shorter message costs as much as this. */
const LEAST_PROVED_BYTES = 256

/** IPv4 addresses look like this on a socket that takes both families. */
const MAPPED = '::ffff:'

const addressOf = (from: string): string =>
  from.startsWith(MAPPED) ? from.slice(MAPPED.length) : from

/** The reader of each route's requests. */
interface Readers {
  readonly inbox: Inbox
  readonly superedge: SuperEdgeExchange
}

/** Limits for each address: bytes whose signature is verified, and results of SuperEdge's agents that are parsed. */
interface Limits {
  readonly proved: RateLimit
  /** SuperEdge's results are parsed before their signature is verified. */
  readonly results: RateLimit
}

/** Takes in peers' requests: limits what is read for each address, whoever sends from there, and hands it on. */
export class Intake {
  readonly #context: ExchangeContext
  readonly #readers: Readers
  #limits: Limits

  constructor(context: ExchangeContext, readers: Readers) {
    this.#context = context
    this.#readers = readers
    this.#limits = this.#makeLimits()
  }

  /** The roster changed, and with it which address belongs to whom. */
  reset(): void {
    this.#limits = this.#makeLimits()
  }

  /** The longest body worth reading on this route. */
  maxBytes(route: Route): number {
    const { options, membership } = this.#context
    if (route === 'result') return this.#readers.superedge.maxBytes
    const signed = options.identity === 'off' ? 0 : MAX_SIGNED_BYTES
    return Math.max(maxMessageBytes(membership.table.size), signed)
  }

  /** See `Engine.receive`. */
  receive(route: Route, body: Uint8Array, from: string): PeerAnswer {
    const { membership, traffic } = this.#context
    const index = membership.table.roster.indexOfAddress(addressOf(from))
    traffic.requestCame()
    const refusal = this.#whyNotRead(route, body.length, index)
    if (refusal !== undefined) {
      traffic.refuse(refusal, index === undefined ? undefined : membership.peers[index])
      return refusalAnswer(refusal)
    }
    traffic.received(body.length)
    const { inbox, superedge } = this.#readers
    return route === 'result' ? superedge.receive(body, index) : inbox.receive(route, body)
  }

  #whyNotRead(route: Route, bytes: number, index: number | undefined): Refusal | undefined {
    const { now } = this.#context
    if (bytes > this.maxBytes(route)) return 'too-large'
    const isInTime =
      route === 'result'
        ? this.#limits.results.take(index, now)
        : this.#limits.proved.take(index, now, Math.max(LEAST_PROVED_BYTES, bytes))
    return isInTime ? undefined : 'too-fast'
  }

  #makeLimits(): Limits {
    const { size } = this.#context.membership.table
    return {
      proved: new RateLimit(size, { perSecond: PROVED_BYTES, burst: PROVED_BYTES }),
      results: new RateLimit(size, REQUESTS),
    }
  }
}
