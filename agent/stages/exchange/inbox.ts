// SPDX-License-Identifier: Apache-2.0
import type { ExchangeContext } from './context.js'
import type { Message } from './message-reader.js'
import { REQUESTS, type PeerState } from './peer-state.js'
import { STATUS_OF, type Refusal } from './refusal.js'
import { refusalAnswer, Replies, type PeerAnswer } from './replies.js'
import type { Admission } from './session.js'
import type { Route } from '../../ports/transport.js'
import {
  headerNamedBy,
  isOfPair,
  open,
  SPARSE,
  TYPE,
  zoneNamedBy,
  type Header,
  type Opened,
} from './wire.js'

/** Called when a member calls for votes. */
export type OnCall = (target: number, caller: PeerState) => void

/** Called when a member whose keys are known sends without them. */
export type OnUnsigned = (peer: PeerState) => void

/** Why a request is challenged. */
type Challenged = Exclude<Admission['kind'], 'accepted'>

/** If a sender held its number for this much longer than the number is old by our clock, this agent was suspended. */
const SUSPENDED_MS = 5_000
/**
 * How long a request may have been under way, in exchange timeouts: its sender gives up after one, and waited at most
 * another one for the number that it carries.
 */
const DELAY_LIMITS = 2
/** A longer message counts as several requests, since the entries are what takes time. */
const BYTES_PER_REQUEST = 8_192

/** The receiving side of /v1: believes a message only after signature, sender and session agree. */
export class Inbox {
  readonly #context: ExchangeContext
  readonly #onCall: OnCall
  readonly #onUnsigned: OnUnsigned
  readonly #replies: Replies

  constructor(context: ExchangeContext, onCall: OnCall, onUnsigned: OnUnsigned) {
    this.#context = context
    this.#onCall = onCall
    this.#onUnsigned = onUnsigned
    this.#replies = new Replies(context)
  }

  receive(route: Extract<Route, 'gossip' | 'vote'>, bytes: Uint8Array): PeerAnswer {
    const { membership } = this.#context
    const named = isOfPair(bytes) ? headerNamedBy(bytes) : undefined
    const message =
      named === undefined
        ? open(bytes, membership.zone, membership.keys)
        : this.#openOfPair(bytes, named)
    if (!message.ok) return this.#refuseUnproved(message.refusal, bytes, named)
    const { header } = message
    if (header.type !== TYPE[route] || (header.flags | SPARSE) !== SPARSE) {
      return this.#refuse('malformed')
    }
    if (header.senderId === membership.ownId) return this.#ownReturned(message)
    const peer = membership.peerById(header.senderId)
    if (peer === undefined) return this.#refuse('unknown-sender')
    if (!message.isOfPair && !membership.isShared(peer)) return this.#unsigned(peer, header)
    return this.#fromMember(route, message, bytes.length, peer)
  }

  /** Only the named sender and we have the pair's key. A message of our own has the key of our pair with its receiver. */
  #openOfPair(bytes: Uint8Array, { senderId }: Header): Opened {
    const { membership } = this.#context
    if (senderId === membership.ownId)
      return open(bytes, membership.zone, { keys: membership.pairKeys }, 'of-pair')
    const peer = membership.peerById(senderId)
    const isHere = zoneNamedBy(bytes) === membership.zone
    if (peer === undefined) return { ok: false, refusal: isHere ? 'unknown-sender' : 'wrong-zone' }
    const pair = membership.pairFor(peer)
    if (pair === undefined && membership.isShared(peer))
      return { ok: false, refusal: 'no-identity' }
    return open(bytes, membership.zone, pair ?? { keys: [] }, 'of-pair')
  }

  /**
   * The sender has keys that we do not know, or the message was for another node whose address we have now. The answer is
   * signed with the keys that we share with the named sender, so that it learns who is here.
   */
  #refuseUnproved(refusal: Refusal, bytes: Uint8Array, named: Header | undefined): PeerAnswer {
    const { membership, seams, traffic } = this.#context
    if (refusal === 'wrong-zone') return this.#ofOtherZone(bytes, named)
    const peer = named && membership.peerById(named.senderId)
    if (named === undefined || peer === undefined) return this.#refuse(refusal)
    seams.onUnknownIdentity(peer.name)
    const keys = membership.keysFor(peer)
    if (keys === undefined || membership.isShared(peer)) return this.#refuse(refusal, peer)
    traffic.refuse(refusal, peer)
    const signed = this.#replies.sealed(named, TYPE.challenge, 0n, { keys })
    return { ...signed, status: STATUS_OF[refusal] }
  }

  /**
   * Signed with the zone's key although the named sender has an identity: anybody with that key may have forged this, or
   * the sender gave its identity up, lost its keys, or lacks ours. We ask who is at its address, and the signature of this
   * answer says who is here. If the sender lacks our keys, our question is the only message of ours that it can read.
   */
  #unsigned(peer: PeerState, request: Header): PeerAnswer {
    const { seams, membership, traffic } = this.#context
    seams.onUnknownIdentity(peer.name)
    const isWorthAnswer = membership.mayLackKeys(peer) || membership.lacksOurKeys(peer)
    if (isWorthAnswer || membership.hasLeft(peer)) this.#onUnsigned(peer)
    if (!isWorthAnswer) return this.#refuse('unsigned', peer)
    traffic.refuse('unsigned', peer)
    return this.#replies.sealed(request, TYPE.challenge, 0n, { keys: membership.keys })
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
    // It is signed and shows a number that we issued: nobody else can claim this, and it cannot be replayed later.
    if (admission.kind === 'ahead' && admission.byMs > SUSPENDED_MS) seams.onSuspended()
    if (admission.kind !== 'accepted') return this.#challenge(peer, message, admission.kind)
    const cost = Math.max(1, length / BYTES_PER_REQUEST)
    if (!peer.requests.take(now, Math.min(REQUESTS.burst, cost)))
      return this.#refuse('too-fast', peer)
    peer.bytesReceived += length
    const suspects = membership.take(message, peer, now - admission.delayMs)
    if (suspects === undefined) return this.#refuse('malformed', peer)
    peer.heard(now)
    for (const target of suspects) this.#onCall(target, peer)
    const wantsState = route === 'gossip' || (suspects.length > 0 && header.count > 0)
    return this.#replies.reply(peer, message, wantsState ? TYPE.state : TYPE.ack)
  }

  /**
   * A request of ours came back: the peer's address is really this node's, whatever its Node object says, or something
   * there forwards requests. Our own signature shows that the answer is not the peer's. The request is not taken in.
   */
  #ownReturned({ header: request, isOfPair: isPair, keyId }: Message): PeerAnswer {
    const { membership, traffic } = this.#context
    const pairs = membership.pairKeys.filter(({ id }) => isPair && id === keyId)
    const keys = pairs[0] === undefined ? membership.keys : { primary: pairs[0], keys: pairs }
    if (request.senderBoot !== membership.boot) return this.#refuse('own-id')
    traffic.refuse('own-id')
    return this.#replies.sealed(request, TYPE.challenge, 0n, { keys })
  }

  /**
   * An agent with our key asks at this address for a member of another zone: our signature shows that another node has the
   * address. The request is not taken in.
   */
  #ofOtherZone(bytes: Uint8Array, named: Header | undefined): PeerAnswer {
    const { membership, traffic } = this.#context
    const zone = zoneNamedBy(bytes)
    const message = named === undefined ? open(bytes, zone, membership.keys) : undefined
    const request = message?.ok === true ? message.header : named
    if (request === undefined) return this.#refuse('wrong-zone')
    traffic.refuse('wrong-zone')
    // Members of other zones have no keys of a pair with us; the zone's key is enough to show that none of them answered.
    const signed = this.#replies.sealed(request, TYPE.challenge, 0n, {
      zone,
      keys: membership.keys,
    })
    return { ...signed, status: STATUS_OF['wrong-zone'] }
  }

  #challenge(peer: PeerState, request: Message, why: Challenged): PeerAnswer {
    // A restart on either side is nothing to warn of.
    this.#context.traffic.refuse(why, why === 'challenged' ? undefined : peer)
    return this.#replies.reply(peer, request, TYPE.challenge)
  }

  #refuse(refusal: Refusal, peer?: PeerState): PeerAnswer {
    this.#context.traffic.refuse(refusal, peer)
    return refusalAnswer(refusal)
  }
}
