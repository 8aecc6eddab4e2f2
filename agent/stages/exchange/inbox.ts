// SPDX-License-Identifier: Apache-2.0
import type { Exchange, Message } from './exchange.js'
import type { PeerState } from './peer-state.js'
import { STATUS_OF, type Refusal } from './refusal.js'
import type { Admission } from './session.js'
import type { Answer, Route } from '../../ports/transport.js'
import { open, seal, SPARSE, TYPE, type Header } from './wire.js'

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
  readonly #x: Exchange
  readonly #onCall: OnCall

  constructor(x: Exchange, onCall: OnCall) {
    this.#x = x
    this.#onCall = onCall
  }

  receive(route: Extract<Route, 'gossip' | 'vote'>, bytes: Uint8Array): PeerAnswer {
    const x = this.#x
    const message = open(bytes, x.zone, x.keys)
    if (!message.ok) return this.#refuse(message.refusal)
    const { header } = message
    if (header.type !== TYPE[route] || (header.flags | SPARSE) !== SPARSE) {
      return this.#refuse('malformed')
    }
    if (header.senderId === x.table.roster.members[x.self]!.id) return this.#ownReturned(header)
    const peer = x.peerById(header.senderId)
    if (peer === undefined) return this.#refuse('unknown-sender')
    return this.#fromMember(route, message, bytes.length, peer)
  }

  #fromMember(
    route: Extract<Route, 'gossip' | 'vote'>,
    message: Message,
    length: number,
    peer: PeerState,
  ): PeerAnswer {
    const x = this.#x
    const { header } = message
    const admission = peer.inbound.admit(header, x.now, x.maxDelayMs)
    // Signed, and for a number that we showed: nobody else can say so, and nobody can repeat it once it is acted upon.
    if (admission.kind === 'ahead' && admission.byMs > SUSPENDED_MS) x.seams.onSuspended()
    if (admission.kind !== 'accepted') return this.#challenge(peer, header, admission.kind)
    if (!peer.requests.take(undefined, x.now)) return this.#refuse('too-fast', peer)
    peer.bytesReceived += length
    const suspects = x.take(message, peer, x.now - admission.delayMs)
    if (suspects === undefined) return this.#refuse('malformed', peer)
    peer.heard(x.now)
    for (const target of suspects) this.#onCall(target, peer)
    const wantsState = route === 'gossip' || (suspects.length > 0 && header.count > 0)
    return this.#reply(peer, header, wantsState ? TYPE.state : TYPE.ack)
  }

  /**
   * What we sent to a peer's address came to ourselves: the address is ours, whatever our Node object says, or somebody
   * there passes requests on. Our signature tells us that it is not the peer who answers. Nothing of it is taken in.
   */
  #ownReturned(request: Header): PeerAnswer {
    const x = this.#x
    if (request.senderBoot !== x.boot) return this.#refuse('own-id')
    x.refuse('own-id')
    return this.#sealed(request, TYPE.challenge, 0n)
  }

  #challenge(peer: PeerState, request: Header, why: Challenged): PeerAnswer {
    // A restart on either side is nothing to warn of.
    this.#x.refuse(why, why === 'challenged' ? undefined : peer)
    return this.#reply(peer, request, TYPE.challenge)
  }

  #reply(peer: PeerState, request: Header, type: ReplyType): PeerAnswer {
    const x = this.#x
    const shown =
      type === TYPE.challenge
        ? peer.inbound.challenge(x.seams.random, x.now)
        : peer.inbound.next(x.now)
    const answer = this.#sealed(request, type, shown)
    peer.bytesSent += answer.body.length
    return answer
  }

  /** Bound to the request by its sender's boot id and number: it answers nothing else, and nobody else. */
  #sealed(request: Header, type: ReplyType, shown: bigint): PeerAnswer {
    const x = this.#x
    const { table } = x
    const isEmpty = type !== TYPE.state
    const sparse = request.membershipHash !== table.hash
    if (!isEmpty) table.beat()
    const baseHb = table.hb[table.self]!
    const order = { sparse, suspects: [], keySetHash: x.keys.setHash, baseHb, isEmpty }
    const body = x.codec.encode(order, x.now)
    const header: Header = {
      type,
      flags: sparse ? SPARSE : 0,
      membershipHash: table.hash,
      senderId: table.roster.members[x.self]!.id,
      senderBoot: shown,
      senderSeq: request.senderSeq,
      baseHb,
      destBoot: request.senderBoot,
      count: isEmpty ? 0 : table.size,
      heldMs: 0,
    }
    const bytes = seal(header, body, x.zone, x.keys.primary)
    x.bytesSent += bytes.length
    x.messagesSent++
    return binary(type === TYPE.challenge ? STATUS_OF.challenged : 200, bytes)
  }

  #refuse(refusal: Refusal, peer?: PeerState): PeerAnswer {
    this.#x.refuse(refusal, peer)
    return refusalAnswer(refusal)
  }
}
