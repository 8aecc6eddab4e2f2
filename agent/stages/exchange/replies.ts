// SPDX-License-Identifier: Apache-2.0
import type { Answer } from '../../ports/transport.js'
import type { BodyOrder } from './body.js'
import type { ExchangeContext } from './context.js'
import type { Message } from './message-reader.js'
import type { BodyFor } from './pair-body.js'
import type { SigningKeys } from './peer-keys.js'
import { ZONES, type PeerState } from './peer-state.js'
import { STATUS_OF, type Refusal } from './refusal.js'
import type { NewsEntry } from './signed-body.js'
import { seal, SPARSE, TYPE, type Header } from './wire.js'

/** An answer as the HTTP layer sends it. */
export interface PeerAnswer extends Answer {
  readonly contentType: string
  /** Send `X-Content-Type-Options: nosniff`. */
  readonly nosniff: boolean
}

type ReplyType = typeof TYPE.state | typeof TYPE.ack | typeof TYPE.challenge

const binary = (status: number, body: Uint8Array): PeerAnswer => ({
  status,
  body,
  contentType: 'application/octet-stream',
  nosniff: false,
})

/** The refusal's name is the body of the answer. */
export const refusalAnswer = (refusal: Refusal): PeerAnswer => ({
  status: STATUS_OF[refusal],
  body: Buffer.from(`${refusal}\n`),
  contentType: 'text/plain; charset=utf-8',
  nosniff: true,
})

/** Size of a statement with its link in a zone where all is well. */
const STATEMENT_BYTES = 128
/** Smaller zones count as this large: two of their nodes talk more often, and one death changes what all of them say. */
const LEAST_MEMBERS = 64

/** Signed answers, each bound to the request that it answers. */
export class Replies {
  readonly #context: ExchangeContext

  constructor(context: ExchangeContext) {
    this.#context = context
  }

  /** Signed as the request was: a peer that signs with the keys of the pair believes no other answer. */
  reply(peer: PeerState, { header, isOfPair }: Message, type: ReplyType): PeerAnswer {
    const { seams, membership, now } = this.#context
    const shown =
      type === TYPE.challenge ? peer.inbound.challenge(seams.random, now) : peer.inbound.next(now)
    const keys = (isOfPair ? membership.pairFor(peer) : undefined) ?? membership.keys
    return this.sealed(header, type, shown, { peer, keys })
  }

  /** A signed answer, bound to one request by the boot id and the number of its sender. */
  sealed(
    request: Header,
    type: ReplyType,
    shown: bigint,
    to: { readonly keys: SigningKeys; readonly peer?: PeerState; readonly zone?: bigint },
  ): PeerAnswer {
    const { membership, traffic, now } = this.#context
    const { table } = membership
    const isEmpty = type !== TYPE.state
    const sparse = request.membershipHash !== table.hash
    if (!isEmpty) membership.speak()
    const baseHb = table.hb[table.self]!
    const order = { sparse, suspects: [], keySetHash: membership.keys.setHash, baseHb, isEmpty }
    const { bytes: body, count } =
      to.keys.primary.isOfPair === true
        ? this.#bodyOfPair(order, to.peer)
        : { bytes: membership.writer.encode(order, now), count: isEmpty ? 0 : table.size }
    const header: Header = {
      type,
      flags: sparse ? SPARSE : 0,
      membershipHash: table.hash,
      senderId: membership.ownId,
      senderBoot: shown,
      senderSeq: request.senderSeq,
      baseHb,
      destBoot: request.senderBoot,
      count,
      heldMs: 0,
    }
    const bytes = seal(header, body, to.zone ?? membership.zone, to.keys.primary)
    traffic.sent(bytes.length, to.peer)
    return binary(type === TYPE.challenge ? STATUS_OF.challenged : 200, bytes)
  }

  /**
   * Charge a peer for the answer that it asked for, as a share of what all members say.
   * @returns whether there was enough left in its budget
   */
  #charge(bytes: number, peer: PeerState): boolean {
    const { membership, now } = this.#context
    const whole = STATEMENT_BYTES * Math.max(LEAST_MEMBERS, membership.table.size)
    return peer.answerBudget.take(now, Math.min(bytes / whole, ZONES.burst))
  }

  /** The news that the peer lacks, by the digest that it sent. In a mesh the reply has our own digest, too. */
  #bodyOfPair(order: BodyOrder, peer: PeerState | undefined): BodyFor {
    const { membership } = this.#context
    const { statements, table } = membership
    const isOwn = ({ place }: NewsEntry): boolean => place === table.self
    if (order.isEmpty === true || peer === undefined) return membership.bodyOfPair(order, [], false)
    const news = statements.news.forAsking(peer, this.#context.isBurst)
    const whole = membership.bodyOfPair(order, news, table.topology.kind === 'mesh')
    const body = this.#charge(whole.bytes.length, peer)
      ? whole
      : membership.bodyOfPair({ ...order, isEmpty: true }, news.filter(isOwn), false)
    statements.news.noteDelivered(peer, body.entries)
    return body
  }
}
