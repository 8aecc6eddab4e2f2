// SPDX-License-Identifier: Apache-2.0
import type { ExchangeContext } from './context.js'
import type { Message } from './membership.js'
import type { PeerState } from './peer-state.js'
import { STATUS_OF, type Refusal } from './refusal.js'
import type { Admission } from './session.js'
import type { Answer, Route } from '../../ports/transport.js'
import { open, seal, SPARSE, TYPE, zoneNamedBy, type Header } from './wire.js'

/** An answer as the HTTP layer sends it. */
export interface PeerAnswer extends Answer {
  readonly contentType: string
  /** Send `X-Content-Type-Options: nosniff`. */
  readonly nosniff: boolean
}

/** Told when a member calls for votes. */
export type OnCall = (target: number, caller: PeerState) => void

/** Why a request is not believed yet. */
type Challenged = Exclude<Admission['kind'], 'accepted'>

/** What the two clocks may differ by beyond their drift. */
const SUSPENDED_MS = 5_000
/**
 * How long a request may have been under way, in time limits: its sender gives up after one, and waited for the number
 * that it shows for at most another.
 */
const DELAY_LIMITS = 2

type ReplyType = typeof TYPE.state | typeof TYPE.ack | typeof TYPE.challenge

const binary = (status: number, body: Uint8Array): PeerAnswer => ({
  status,
  body,
  contentType: 'application/octet-stream',
  nosniff: false,
})

/** Tells the sender why, in one word. */
export const refusalAnswer = (refusal: Refusal): PeerAnswer => ({
  status: STATUS_OF[refusal],
  body: Buffer.from(`${refusal}\n`),
  contentType: 'text/plain; charset=utf-8',
  nosniff: true,
})

/** The receiving side of /v1: believes a message only after signature, sender and session agree. */
export class Inbox {
  readonly #context: ExchangeContext
  readonly #onCall: OnCall

  constructor(context: ExchangeContext, onCall: OnCall) {
    this.#context = context
    this.#onCall = onCall
  }

  receive(route: Extract<Route, 'gossip' | 'vote'>, bytes: Uint8Array): PeerAnswer {
    const { membership } = this.#context
    const message = open(bytes, membership.zone, membership.keys)
    if (!message.ok)
      return message.refusal === 'wrong-zone'
        ? this.#ofOtherZone(bytes)
        : this.#refuse(message.refusal)
    const { header } = message
    if (header.type !== TYPE[route] || (header.flags | SPARSE) !== SPARSE) {
      return this.#refuse('malformed')
    }
    if (header.senderId === membership.ownId) return this.#ownReturned(header)
    const peer = membership.peerById(header.senderId)
    if (peer === undefined) return this.#refuse('unknown-sender')
    return this.#fromMember(route, message, bytes.length, peer)
  }

  #fromMember(
    route: Extract<Route, 'gossip' | 'vote'>,
    message: Message,
    length: number,
    peer: PeerState,
  ): PeerAnswer {
    const { membership, options, seams, now } = this.#context
    const { header } = message
    const maxDelayMs = DELAY_LIMITS * options.exchangeTimeoutMs
    const admission = peer.inbound.admit(header, now, maxDelayMs)
    // Signed, and for a number that we showed: nobody else can say so, and nobody can repeat it once it is acted upon.
    if (admission.kind === 'ahead' && admission.byMs > SUSPENDED_MS) seams.onSuspended()
    if (admission.kind !== 'accepted') return this.#challenge(peer, header, admission.kind)
    if (!peer.requests.take(undefined, now)) return this.#refuse('too-fast', peer)
    peer.bytesReceived += length
    const suspects = membership.take(message, peer, now - admission.delayMs)
    if (suspects === undefined) return this.#refuse('malformed', peer)
    peer.heard(now)
    for (const target of suspects) this.#onCall(target, peer)
    const wantsState = route === 'gossip' || (suspects.length > 0 && header.count > 0)
    return this.#reply(peer, header, wantsState ? TYPE.state : TYPE.ack)
  }

  /**
   * What we sent to a peer's address came to ourselves: the address is ours, whatever our Node object says, or somebody
   * there passes requests on. Our signature tells us that it is not the peer who answers. Nothing of it is taken in.
   */
  #ownReturned(request: Header): PeerAnswer {
    const { membership, traffic } = this.#context
    if (request.senderBoot !== membership.boot) return this.#refuse('own-id')
    traffic.refuse('own-id')
    return this.#sealed(request, TYPE.challenge, 0n)
  }

  /**
   * Somebody with our key asks here for a member of another zone: our signature tells him that it is not that one who
   * answers. Nothing of it is taken in.
   */
  #ofOtherZone(bytes: Uint8Array): PeerAnswer {
    const { membership, traffic } = this.#context
    const zone = zoneNamedBy(bytes)
    const message = open(bytes, zone, membership.keys)
    if (!message.ok) return this.#refuse('wrong-zone')
    traffic.refuse('wrong-zone')
    const signed = this.#sealed(message.header, TYPE.challenge, 0n, { zone })
    return { ...signed, status: STATUS_OF['wrong-zone'] }
  }

  #challenge(peer: PeerState, request: Header, why: Challenged): PeerAnswer {
    // A restart on either side is nothing to warn of.
    this.#context.traffic.refuse(why, why === 'challenged' ? undefined : peer)
    return this.#reply(peer, request, TYPE.challenge)
  }

  #reply(peer: PeerState, request: Header, type: ReplyType): PeerAnswer {
    const { seams, now } = this.#context
    const shown =
      type === TYPE.challenge ? peer.inbound.challenge(seams.random, now) : peer.inbound.next(now)
    return this.#sealed(request, type, shown, { peer })
  }

  /** Bound to the request by its sender's boot id and number: it answers nothing else, and nobody else. */
  #sealed(
    request: Header,
    type: ReplyType,
    shown: bigint,
    to: { readonly peer?: PeerState; readonly zone?: bigint } = {},
  ): PeerAnswer {
    const { membership, traffic, now } = this.#context
    const { table, keys } = membership
    const isEmpty = type !== TYPE.state
    const sparse = request.membershipHash !== table.hash
    if (!isEmpty) table.beat()
    const baseHb = table.hb[table.self]!
    const order = { sparse, suspects: [], keySetHash: keys.setHash, baseHb, isEmpty }
    const body = membership.codec.encode(order, now)
    const header: Header = {
      type,
      flags: sparse ? SPARSE : 0,
      membershipHash: table.hash,
      senderId: membership.ownId,
      senderBoot: shown,
      senderSeq: request.senderSeq,
      baseHb,
      destBoot: request.senderBoot,
      count: isEmpty ? 0 : table.size,
      heldMs: 0,
    }
    const bytes = seal(header, body, to.zone ?? membership.zone, keys.primary)
    traffic.sent(bytes.length, to.peer)
    return binary(type === TYPE.challenge ? STATUS_OF.challenged : 200, bytes)
  }

  #refuse(refusal: Refusal, peer?: PeerState): PeerAnswer {
    this.#context.traffic.refuse(refusal, peer)
    return refusalAnswer(refusal)
  }
}
