// SPDX-License-Identifier: Apache-2.0
import { withTimeout } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { ExchangeContext } from './context.js'
import type { Message } from './membership.js'
import type { PeerState } from './peer-state.js'
import { STATUS_OF, type Refusal } from './refusal.js'
import type { Answer, Peer, Route } from '../../ports/transport.js'
import { open, seal, SPARSE, TYPE, type Header } from './wire.js'

/** What fits the header. */
const MAX_HELD_MS = 0xffff_ffff

/** Records as bytes; their ages are as of `asOf`. */
interface Body {
  readonly asOf: number
  readonly bytes: Buffer
}

/** The state as of one moment, for any number of receivers: encoded at most once per form, signed for each. */
export class Batch {
  readonly route: Extract<Route, 'gossip' | 'vote'>
  /** Whom the receiver shall probe at once. */
  readonly suspects: readonly NodeName[]
  readonly isEmpty: boolean
  /** What a receiver must have to read the dense form. */
  readonly hash: bigint
  readonly #context: ExchangeContext
  readonly #baseHb: number
  readonly #count: number
  readonly #encode: (sparse: boolean) => Body
  #dense: Body | undefined
  #sparse: Body | undefined

  /** @param isEmpty leave the records out: nothing is new, and no state is wanted in return. */
  constructor(
    context: ExchangeContext,
    route: Extract<Route, 'gossip' | 'vote'>,
    suspects: readonly NodeName[],
    isEmpty = false,
  ) {
    const { membership } = context
    const { table, codec, keys } = membership
    table.beat()
    this.#context = context
    this.route = route
    this.suspects = suspects
    this.isEmpty = isEmpty
    this.hash = table.hash
    this.#baseHb = table.hb[table.self]!
    this.#count = isEmpty ? 0 : table.size
    const indices: number[] = []
    for (const name of suspects) {
      const index = table.roster.indexOf(name)
      if (index !== undefined) indices.push(index)
    }
    const order = { suspects: indices, keySetHash: keys.setHash, baseHb: this.#baseHb, isEmpty }
    this.#encode = sparse => {
      const asOf = context.now
      return { asOf, bytes: codec.encode({ ...order, sparse }, asOf) }
    }
  }

  seal(peer: PeerState, seq: number, sparse: boolean): Buffer {
    const { membership } = this.#context
    const { bytes, asOf } = this.#bodyFor(peer, sparse)
    const header: Header = {
      type: TYPE[this.route],
      flags: sparse ? SPARSE : 0,
      membershipHash: this.hash,
      senderId: membership.ownId,
      senderBoot: membership.boot,
      senderSeq: seq,
      baseHb: this.#baseHb,
      destBoot: peer.destBoot,
      count: this.#count,
      heldMs: peer.destBoot === 0n ? 0 : Math.min(MAX_HELD_MS, Math.floor(asOf - peer.shownAt)),
    }
    return seal(header, bytes, membership.zone, membership.keys.primary)
  }

  /** Written anew when its ages are from before the number that goes with it: they count from then. */
  #bodyFor(peer: PeerState, sparse: boolean): Body {
    const known = sparse ? this.#sparse : this.#dense
    if (known !== undefined && known.asOf >= peer.shownAt) return known
    const body = this.#encode(sparse)
    if (sparse) this.#sparse = body
    else this.#dense = body
    return body
  }
}

/** How one request went: done, given up, or worth another one because of what the peer said. */
type Step = 'done' | 'failed' | 'challenged' | 'other-roster'

/** Carries our state to peers and takes in what they answer. Never rejects. */
export class PeerClient {
  readonly #context: ExchangeContext

  constructor(context: ExchangeContext) {
    this.#context = context
  }

  /** @returns whether the peer took the message. */
  async deliver(peer: PeerState, batch: Batch): Promise<boolean> {
    const context = this.#context
    const { clock } = context.seams
    const { address } = peer
    try {
      return await withTimeout(clock, context.options.exchangeTimeoutMs, context.signal, signal =>
        this.#deliver(peer, batch, signal),
      )
    } catch (error) {
      if (!context.signal.aborted) this.#failed(peer, reasonOf(error))
      return false
    } finally {
      this.#asked(peer, address)
    }
  }

  /** Each reason to ask again counts once, so a peer that always finds one ends the exchange, not us. */
  async #deliver(peer: PeerState, batch: Batch, signal: AbortSignal): Promise<boolean> {
    const reasons = new Set<Step>()
    for (;;) {
      const step = await this.#once(peer, batch, signal)
      if (step === 'done') return true
      if (step === 'failed') return false
      if (reasons.has(step)) {
        this.#failed(peer, step)
        return false
      }
      reasons.add(step)
    }
  }

  async #once(peer: PeerState, batch: Batch, signal: AbortSignal): Promise<Step> {
    const { membership, traffic, seams, now } = this.#context
    const seq = membership.nextSeq(peer)
    const isSparse = peer.rosterHash !== undefined && peer.rosterHash !== batch.hash
    const bytes = batch.seal(peer, seq, isSparse)
    const sentAt = now
    peer.lastSentAt = sentAt
    traffic.sent(bytes.length, peer)
    const answer = await seams.transport.send(peer.address, batch.route, bytes, signal)
    traffic.received(answer.body.length, peer)
    if (answer.status !== 200 && answer.status !== 409) return this.#denied(peer, answer, seq)
    const message = this.#openReply(peer, answer, seq)
    if (message === undefined) return 'failed'
    return this.#took(peer, message, { sentAt, denseHash: isSparse ? undefined : batch.hash })
  }

  /** It says why this request failed, and nothing about who is there unless an agent of another zone signed it. */
  #denied(peer: PeerState, answer: Answer, seq: number): Step {
    if (answer.status === STATUS_OF['wrong-zone']) {
      const { membership } = this.#context
      const opened = open(answer.body, membership.zone, membership.keys)
      if (opened.ok) this.#noteSigner(peer, opened, seq)
      this.#failed(peer, `answered ${answer.status} wrong-zone`)
      return 'failed'
    }
    if (answer.status === 404 && peer.isSuperEdge) {
      peer.triedV1At = this.#context.now
      return 'failed'
    }
    const said = Buffer.from(answer.body)
      .toString('latin1', 0, 40)
      .replace(/[^ -~]/g, '')
    this.#failed(peer, `answered ${answer.status} ${said}`)
    return 'failed'
  }

  /** A reply counts only if this peer signed it for this very request. */
  #openReply(peer: PeerState, answer: Answer, seq: number): Message | undefined {
    const context = this.#context
    const opened = open(answer.body, context.membership.zone, context.membership.keys)
    if (opened.ok) this.#noteSigner(peer, opened, seq)
    const refusal = opened.ok ? this.#wrongReply(peer, opened, answer.status, seq) : opened.refusal
    if (refusal === undefined && opened.ok) return opened
    if (refusal !== undefined) context.traffic.refuse(refusal, peer)
    this.#failed(peer, `reply refused: ${refusal}`)
    return undefined
  }

  /** A round that had to wait until it was known who is there can be made now. */
  #asked(peer: PeerState, address: Peer): void {
    if (peer.address !== address || this.#context.signal.aborted) return
    peer.wasAsked = true
    if (peer.isAwaited) this.#context.seams.onSuspect(peer.name)
    peer.isAwaited = false
  }

  /** Whoever signed an answer to this very request is the one that is there. */
  #noteSigner(peer: PeerState, { header }: Message, seq: number): void {
    if (header.destBoot !== this.#context.membership.boot || header.senderSeq !== seq) return
    const isNews = (peer.lastSigner ?? peer.id) !== header.senderId
    peer.lastSigner = header.senderId
    if (isNews) this.#context.seams.onSuspect(peer.name)
  }

  #wrongReply(peer: PeerState, reply: Message, status: number, seq: number): Refusal | undefined {
    const { type, senderId, destBoot, senderSeq } = reply.header
    const isRightType =
      status === 409 ? type === TYPE.challenge : type === TYPE.state || type === TYPE.ack
    const isOurs =
      senderId === peer.id && destBoot === this.#context.membership.boot && senderSeq === seq
    return isRightType && isOurs ? undefined : 'wrong-reply'
  }

  #took(
    peer: PeerState,
    reply: Message,
    { sentAt, denseHash }: { readonly sentAt: number; readonly denseHash: bigint | undefined },
  ): Step {
    const context = this.#context
    // It was made after our request, however long it took to get here.
    if (context.membership.take(reply, peer, sentAt) === undefined) {
      context.traffic.refuse('malformed', peer)
      this.#failed(peer, 'reply refused: malformed')
      return 'failed'
    }
    peer.destBoot = reply.header.senderBoot
    peer.shownAt = context.now
    if (reply.header.type === TYPE.challenge) return 'challenged'
    peer.heard(context.now)
    peer.trouble = undefined
    const wasUnread = denseHash !== undefined && reply.header.membershipHash !== denseHash
    return wasUnread ? 'other-roster' : 'done'
  }

  #failed(peer: PeerState, trouble: string): void {
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
  }
}
