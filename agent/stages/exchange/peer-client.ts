// SPDX-License-Identifier: Apache-2.0
import { withTimeout } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { ExchangeContext } from './context.js'
import type { Batch } from './batch.js'
import type { Message } from './message-reader.js'
import type { SigningKeys } from './peer-keys.js'
import type { PeerState } from './peer-state.js'
import { STATUS_OF, type Refusal } from './refusal.js'
import type { Answer, Peer } from '../../ports/transport.js'
import { headerNamedBy, isOfPair, open, TYPE, type Opened } from './wire.js'

/**
 * How one request ended: done, failed, or to be repeated because of the peer's answer. `keyless`: the agent there does
 * not have the keys of the pair, and may have those of the zone.
 */
type Step = 'done' | 'failed' | 'challenged' | 'other-roster' | 'keyless' | 'old-version'
/** After any other step the request is made once more. */
const ENDS: ReadonlySet<Step> = new Set(['done', 'failed', 'keyless', 'old-version'])

/** Answers of a peer that cannot verify the keys of the pair. A version without identities answers `malformed`. */
const KEYLESS = new Set([STATUS_OF['no-identity'], STATUS_OF.malformed])
/** Keys of a pair that are not used at present are tried again after this time. */
const TRY_PAIR_MS = 30_000

/** One side does not have the key with which the other signs. */
const KEY_REFUSALS: readonly string[] = ['unknown-key', 'bad-signature'] satisfies Refusal[]

/** How a peer refuses the keys of a pair when it does not know our public keys, or knows older ones. */
const LACKS_OURS: readonly string[] = [...KEY_REFUSALS, 'no-identity' satisfies Refusal]

/** Why a request failed: the plain text of the answer, or why we cannot open the signed message in it. */
const textOf = ({ body }: Answer, refusal: Refusal): string => {
  if (refusal !== 'malformed') return refusal
  return Buffer.from(body)
    .toString('latin1', 0, 40)
    .replace(/[^ -~]/g, '')
}

/** The request to which an answer belongs. */
interface Request {
  readonly seq: number
  readonly isPair: boolean
}

/** One exchange with a peer. */
interface Talk {
  readonly batch: Batch
  readonly keys: SigningKeys
  readonly signal: AbortSignal
  /** The peer has left, and the agent at its address answered the message before this one with `malformed`. */
  readonly isOldVersion: boolean
}

/** How a reply was asked for. */
interface Asked {
  readonly sentAt: number
  readonly denseHash: bigint | undefined
  readonly isOldVersion: boolean
}

/** Carries our state to peers and takes in what they answer. Never rejects. */
export class PeerClient {
  readonly #context: ExchangeContext

  constructor(context: ExchangeContext) {
    this.#context = context
  }

  /** @returns whether the peer accepted the message. */
  async deliver(peer: PeerState, batch: Batch): Promise<boolean> {
    const context = this.#context
    const { clock } = context.seams
    const { address } = peer
    const startedAt = context.now
    try {
      return await withTimeout(clock, context.options.exchangeTimeoutMs, context.signal, signal =>
        this.#deliver(peer, batch, signal),
      )
    } catch (error) {
      if (!context.signal.aborted) this.#failed(peer, reasonOf(error))
      return false
    } finally {
      this.#asked(peer, address, startedAt)
    }
  }

  async #deliver(peer: PeerState, batch: Batch, signal: AbortSignal): Promise<boolean> {
    const { membership } = this.#context
    const keys = this.#keysToTry(peer)
    if (keys === undefined) {
      this.#failed(peer, 'it has published no identity that we know')
      return false
    }
    const step = await this.#talk(peer, { batch, keys, signal, isOldVersion: false })
    if (step !== 'keyless' && step !== 'old-version') return step === 'done'
    const isOldVersion = step === 'old-version'
    const talk = { batch, keys: membership.keys, signal, isOldVersion }
    return (await this.#talk(peer, talk)) === 'done'
  }

  #keysToTry(peer: PeerState): SigningKeys | undefined {
    const { membership, now } = this.#context
    const pair = membership.pairFor(peer)
    if (pair === undefined || !membership.isShared(peer)) return membership.keysFor(peer)
    if (now - peer.triedPairAt < TRY_PAIR_MS) return membership.keys
    peer.triedPairAt = now
    return pair
  }

  /** Asks again at most once for each reason, so that no peer can keep us asking. */
  async #talk(peer: PeerState, talk: Talk): Promise<Step> {
    const reasons = new Set<Step>()
    for (;;) {
      const step = await this.#once(peer, talk)
      if (ENDS.has(step)) return step
      if (reasons.has(step)) {
        this.#failed(peer, step)
        // The peer asks in turn who is here, and may believe the zone's key after that.
        if (!this.#areProof(talk.keys, peer)) peer.backoffUntil = -Infinity
        return 'failed'
      }
      reasons.add(step)
    }
  }

  async #once(peer: PeerState, talk: Talk): Promise<Step> {
    const { batch, keys, signal, isOldVersion } = talk
    const { membership, traffic, seams, now } = this.#context
    const isPair = keys.primary.isOfPair === true
    const seq = membership.nextSeq(peer)
    const rosterHash = this.#areProof(keys, peer) ? peer.rosterHash : peer.rosterHashByZoneKey
    const isSparse = rosterHash !== undefined && rosterHash !== batch.hash
    const { bytes, entries } = batch.seal(peer, { seq, keys, sparse: isSparse })
    const sentAt = now
    peer.lastSentAt = sentAt
    traffic.sent(bytes.length, peer)
    const answer = await seams.transport.send(peer.address, batch.route, bytes, signal)
    traffic.received(answer.body.length, peer)
    if (answer.status !== 200 && answer.status !== 409)
      return this.#denied(peer, answer, { seq, isPair })
    const message = this.#openReply(peer, answer, { seq, isPair })
    if (message === undefined) return 'failed'
    const step = this.#took(peer, message, {
      sentAt,
      denseHash: isSparse ? undefined : batch.hash,
      isOldVersion,
    })
    if (step === 'done') membership.statements.news.noteDelivered(peer, entries)
    return step
  }

  /** Whether an answer that is signed with these keys certainly comes from the peer. */
  #areProof(keys: SigningKeys, peer: PeerState): boolean {
    return keys.primary.isOfPair === true || this.#context.membership.isShared(peer)
  }

  /** Takes in an answer with an error status. Only a signed one tells who is there. */
  #denied(peer: PeerState, answer: Answer, { seq, isPair }: Request): Step {
    const { membership, seams } = this.#context
    const opened = this.#open(peer, answer.body)
    if (opened.ok) {
      this.#noteSigner(peer, opened, seq)
      const isOtherZone = answer.status === STATUS_OF['wrong-zone']
      const why = isOtherZone ? 'wrong-zone' : 'signed by another, or with other keys'
      this.#failed(peer, `answered ${answer.status} ${why}`)
    }
    // Its keys may have changed, or ours since it last read them.
    if (isPair) {
      seams.onUnknownIdentity(peer.name)
      seams.onUnknownIdentity(membership.ownName)
    }
    if (opened.ok) return 'failed'
    const text = textOf(answer, opened.refusal)
    const step = isPair ? this.#withoutKeys(peer, answer.status, text) : undefined
    if (step !== undefined) return step
    if (answer.status === 404 && peer.isSuperEdge) {
      peer.triedV1At = this.#context.now
      return 'failed'
    }
    const isForeign = KEY_REFUSALS.includes(opened.refusal)
    const how = isForeign ? 'and signed its answer with a key that we do not have: ' : ''
    this.#failed(peer, `answered ${answer.status} ${how}${text}`, KEY_REFUSALS.includes(text))
    return 'failed'
  }

  /**
   * The keys of the pair were refused: decides whether to try the zone's key. That key reaches a peer that lacks our keys,
   * even if its answer does not count: its signed statements may reach us through others. A version without identities,
   * which may follow an agent that left, answers `malformed`.
   */
  #withoutKeys(peer: PeerState, status: number, text: string): Step | undefined {
    const { membership, options } = this.#context
    const isLacking = options.identity === 'prefer' && LACKS_OURS.includes(text)
    if (isLacking) peer.lacksOurKeysAt = Math.min(peer.lacksOurKeysAt, this.#context.now)
    const isMalformed = status === STATUS_OF.malformed && text === 'malformed'
    if (isMalformed && membership.hasLeft(peer)) return 'old-version'
    return isLacking || (KEYLESS.has(status) && membership.mayLackKeys(peer))
      ? 'keyless'
      : undefined
  }

  /** A reply counts only if this peer signed it for this very request. */
  #openReply(peer: PeerState, answer: Answer, request: Request): Message | undefined {
    const context = this.#context
    const opened = this.#open(peer, answer.body)
    if (opened.ok) this.#noteSigner(peer, opened, request.seq)
    const refusal = opened.ok
      ? this.#wrongReply(peer, opened, answer.status, request)
      : opened.refusal
    if (refusal === undefined && opened.ok) return opened
    if (refusal !== undefined) context.traffic.refuse(refusal, peer)
    this.#failed(peer, `reply refused: ${refusal}`, KEY_REFUSALS.includes(refusal ?? ''))
    return undefined
  }

  /** Opens it with the zone's keys, or those of our pair with the named sender: the peer, or a member in its place. */
  #open(peer: PeerState, bytes: Uint8Array): Opened {
    const { membership } = this.#context
    const { zone, keys, ownId } = membership
    if (!isOfPair(bytes)) return open(bytes, zone, keys)
    const { senderId } = headerNamedBy(bytes)
    const signer = senderId === ownId ? peer : membership.peerById(senderId)
    const pair = signer && membership.pairFor(signer)
    return open(bytes, zone, pair ?? { keys: [] }, 'of-pair')
  }

  /** The request has ended: a probe that waited to learn who is there can start. */
  #asked(peer: PeerState, address: Peer, startedAt: number): void {
    if (peer.address !== address || this.#context.signal.aborted) return
    peer.ended(startedAt)
    if (peer.isAwaited) this.#context.seams.onSuspect(peer.name)
    peer.isAwaited = false
  }

  /** The agent that signed an answer to this very request is the one at the peer's address. */
  #noteSigner(peer: PeerState, { header }: Message, seq: number): void {
    if (header.destBoot !== this.#context.membership.boot || header.senderSeq !== seq) return
    const isNews = (peer.lastSigner ?? peer.id) !== header.senderId
    peer.lastSigner = header.senderId
    if (isNews) this.#context.seams.onSuspect(peer.name)
  }

  #wrongReply(
    peer: PeerState,
    reply: Message,
    status: number,
    { seq, isPair }: Request,
  ): Refusal | undefined {
    const { type, senderId, destBoot, senderSeq } = reply.header
    const { membership } = this.#context
    // A member that has keys of a pair with us signs only with those.
    if (!reply.isOfPair && isPair) return 'unsigned'
    const isRightType =
      status === 409 ? type === TYPE.challenge : type === TYPE.state || type === TYPE.ack
    const isOurs = senderId === peer.id && destBoot === membership.boot && senderSeq === seq
    return isRightType && isOurs ? undefined : 'wrong-reply'
  }

  #took(peer: PeerState, reply: Message, { sentAt, denseHash, isOldVersion }: Asked): Step {
    const context = this.#context
    const isBelieved = reply.isOfPair || context.membership.acceptZoneKey(peer, isOldVersion)
    // It was made after our request, however long it took to get here.
    if (isBelieved && context.membership.take(reply, peer, sentAt) === undefined) {
      context.traffic.refuse('malformed', peer)
      this.#failed(peer, 'reply refused: malformed')
      return 'failed'
    }
    this.#noteShown(peer, reply, sentAt)
    if (reply.header.type === TYPE.challenge) return 'challenged'
    if (isBelieved) peer.heard(context.now)
    peer.trouble = undefined
    peer.isKeyRefused = false
    const wasUnread = denseHash !== undefined && reply.header.membershipHash !== denseHash
    return wasUnread ? 'other-roster' : 'done'
  }

  #noteShown(peer: PeerState, { header, isOfPair }: Message, sentAt: number): void {
    const shown = { number: header.senderBoot, at: this.#context.now }
    if (isOfPair) {
      peer.provedAt = Math.max(peer.provedAt, sentAt)
      peer.shownByPair = shown
    } else {
      peer.shownByZoneKey = shown
      peer.rosterHashByZoneKey = header.membershipHash
    }
  }

  #failed(peer: PeerState, trouble: string, isKeyRefused = false): void {
    const context = this.#context
    peer.failures++
    peer.backoffUntil = context.now + context.options.partnerBackoffMs
    if (peer.isSuperEdge) peer.triedV1At = context.now
    if (peer.trouble === undefined) {
      context.seams.log.info('peer does not take our messages', {
        peer: peer.name,
        reason: trouble,
      })
    }
    peer.trouble = trouble
    peer.isKeyRefused = isKeyRefused
  }
}
