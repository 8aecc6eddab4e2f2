// SPDX-License-Identifier: Apache-2.0
import { withTimeout } from '../../../../core/clock.js'
import { reasonOf } from '../../../../core/errors.js'
import { jitter } from '../../../../core/random.js'
import { FLAG } from '../../../../vote/evidence.js'
import type { ExchangeContext } from '../context.js'
import type { PeerAnswer } from '../replies.js'
import type { Dialect, PeerState } from '../peer-state.js'
import type { Refusal } from '../refusal.js'
import { answerTo, encodeResult, openResult, receptionOf, type Reception } from './result-body.js'

const plain = (status: number, text: string): PeerAnswer => ({
  status,
  body: Buffer.from(text),
  contentType: 'text/plain; charset=utf-8',
  nosniff: status >= 400,
})

const other = (dialect: Dialect): Dialect => (dialect === 'v0.6' ? 'v0.9' : 'v0.6')

/** What is answered with a 404 need not be read. */
const MAX_UNREAD_BYTES = 1 << 10

/** Both addresses of every node, in the longer dialect. */
const maxResultBytes = (size: number): number => Math.min(512 << 10, 1024 + 256 * (size + 4))

/** A result counts for this many periods after it arrived: one may be lost, and its body does not say when it was made. */
const COUNTS_PERIODS = 2

/**
 * Exchange with SuperEdge's agents, in both directions, where an operator enabled it. Their results say neither when nor
 * for whom they were made, so anybody who recorded one can replay it. Therefore a result counts only for its sender (by
 * the address in its signed part), if that member has never spoken our protocol, while our own probes reach it, for two
 * periods after it came in, and only here: it is passed on to nobody. Our results go only to peers whose results count:
 * an agent that merely answers at an address gets nothing that is signed.
 */
export class SuperEdgeExchange {
  readonly #context: ExchangeContext
  /** The peers whose results count, and what cancels their expiry. */
  readonly #ends = new Map<PeerState, () => void>()
  #cancel: (() => void) | undefined

  constructor(context: ExchangeContext) {
    this.#context = context
  }

  start(): void {
    const { options, seams } = this.#context
    if (options.superedgePeers === 'off' || this.#cancel !== undefined) return
    seams.log.warn(
      'results of SuperEdge agents are taken: anybody who recorded one can replay it',
      {
        option: `--superedge-peers=${options.superedgePeers}`,
      },
    )
    this.#cancel = this.#schedule()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (const cancel of this.#ends.values()) cancel()
    this.#ends.clear()
  }

  /** Our own probes found something new about this member. */
  probed(target: number): void {
    const peer = this.#context.membership.peers[target]
    if (peer?.isSuperEdge === true && !this.#isReached(target)) this.#end(peer)
  }

  #schedule(): () => void {
    const { random, clock } = this.#context.seams
    return clock.after(jitter(random, this.#context.options.superedgePeriodMs, 0.1), () => {
      this.#cancel = this.#schedule()
      this.#round()
    })
  }

  /** The longest `PUT /result` worth reading. */
  get maxBytes(): number {
    const { options, membership } = this.#context
    return options.superedgePeers === 'off'
      ? MAX_UNREAD_BYTES
      : maxResultBytes(membership.table.size)
  }

  /** Answer a `PUT /result` in the words of its dialect. */
  receive(body: Uint8Array, from: number | undefined): PeerAnswer {
    const { options, membership, traffic } = this.#context
    if (options.superedgePeers === 'off') return plain(404, '404 page not found\n')
    const fixed = options.superedgePeers === 'v0.6' ? 'v0.6' : 'v0.9'
    const known = from === undefined ? undefined : membership.peers[from]?.dialect
    const opened = openResult(body, membership.keys, known ?? fixed)
    const { status, text } = answerTo(opened)
    const refusal = opened.ok
      ? this.#take(opened.sourceIP, opened.isUp, { dialect: opened.dialect, bytes: body.length })
      : opened.refusal
    if (refusal !== undefined)
      traffic.refuse(refusal, from === undefined ? undefined : membership.peers[from])
    return plain(status, text)
  }

  #take(
    sourceIP: string,
    isUp: ReadonlyMap<string, boolean>,
    how: { readonly dialect: Dialect; readonly bytes: number },
  ): Refusal | undefined {
    const { options, membership, seams, now } = this.#context
    const { table } = membership
    const origin = table.roster.indexOfAddress(sourceIP)
    if (origin === undefined) return 'unknown-sender'
    const peer = membership.peers[origin]
    if (peer === undefined) return 'own-id'
    if (peer.spokeV1At !== -Infinity || table.hb[origin] !== 0) return 'superseded'
    if (!this.#isReached(origin)) return 'unreached'
    if (peer.dialect !== how.dialect) {
      seams.log.warn('a SuperEdge agent votes: anybody who recorded its results can replay them', {
        peer: peer.name,
        dialect: how.dialect,
      })
    }
    peer.isSuperEdge = true
    peer.dialect = how.dialect
    peer.lastHeardAt = now
    peer.bytesReceived += how.bytes
    this.#ends.get(peer)?.()
    const countsMs = COUNTS_PERIODS * options.superedgePeriodMs
    this.#ends.set(
      peer,
      seams.clock.after(countsMs, () => this.#end(peer)),
    )
    this.#count(origin, isUp)
    return undefined
  }

  /** Our own vote on it is up, and comes from a round. */
  #isReached(target: number): boolean {
    const { table } = this.#context.membership
    return table.failedRounds[target]! >= 0 && !table.saysDown(table.self, target)
  }

  /** Its result no longer counts. */
  #end(peer: PeerState): void {
    const { membership, seams } = this.#context
    const { table, peers } = membership
    this.#ends.get(peer)?.()
    this.#ends.delete(peer)
    peer.isSuperEdge = false
    if (peers[peer.index] === peer && table.dropForeign(peer.index)) seams.onEvidence('changed')
  }

  #count(origin: number, isUp: ReadonlyMap<string, boolean>): void {
    const { membership, seams } = this.#context
    const { table } = membership
    const draft = table.makeDraft()
    draft.origin = origin
    // An agent that sends no rows has not looked at anybody yet.
    draft.flags = isUp.size === 0 ? FLAG.warming : 0
    const { members } = table.roster
    for (const target of table.topology.targetsOf(origin)) {
      const slot = table.topology.slotOf(origin, target)
      const isShared = table.roster.sharersOf(target).length > 0
      const up = isShared ? undefined : isUp.get(members[target]!.address)
      const row = up === undefined ? draft.unlooked : draft.down
      if (up !== true) row[slot >> 3]! |= 1 << (slot & 7)
      if (up === undefined) draft.anyUnlooked = true
      if (up === false) draft.anyDown = true
    }
    seams.onEvidence(table.setForeign(draft))
  }

  /** Send our local view of all nodes to every SuperEdge agent whose results count; written and signed once per dialect. */
  #round(): void {
    const bodies = new Map<Dialect, Buffer>()
    const bodyIn = (dialect: Dialect): Buffer => {
      const known = bodies.get(dialect)
      if (known !== undefined) return known
      const body = this.#encode(dialect)
      bodies.set(dialect, body)
      return body
    }
    // Each ends by itself within its time limit and never rejects.
    for (const peer of this.#context.membership.peers)
      if (peer?.isSuperEdge === true) void this.#put(peer, bodyIn)
  }

  #encode(dialect: Dialect): Buffer {
    const { membership, seams } = this.#context
    const { members, self } = membership.table.roster
    const isUp = new Map<string, boolean>()
    members.forEach((member, index) => {
      isUp.set(member.address, index === self || seams.localUp(index))
    })
    return encodeResult(members[self]!.address, isUp, dialect, membership.keys.primary.key)
  }

  async #put(peer: PeerState, bodyIn: (dialect: Dialect) => Buffer): Promise<void> {
    const { options, signal } = this.#context
    for (let attempt = 0; attempt < options.superedgeAttempts && !signal.aborted; attempt++) {
      if (await this.#attempt(peer, bodyIn)) return
    }
  }

  /** @returns whether nothing would change if it were sent again. */
  async #attempt(peer: PeerState, bodyIn: (dialect: Dialect) => Buffer): Promise<boolean> {
    const { options } = this.#context
    const fixed = options.superedgePeers === 'v0.6' || options.superedgePeers === 'v0.9'
    const dialect =
      options.superedgePeers === 'v0.6' ? 'v0.6' : fixed ? 'v0.9' : (peer.dialect ?? 'v0.9')
    let reception = await this.#send(peer, dialect, bodyIn(dialect))
    if (reception === 'taken') peer.dialect = dialect
    if (reception === 'other-dialect' && !fixed) {
      peer.dialect = other(dialect)
      reception = await this.#send(peer, peer.dialect, bodyIn(peer.dialect))
    }
    if (reception !== 'failed') this.#note(peer, reception)
    return reception !== 'failed'
  }

  async #send(peer: PeerState, dialect: Dialect, body: Buffer): Promise<Reception> {
    const { options, traffic, seams, signal, now } = this.#context
    const { clock, transport } = seams
    peer.lastSentAt = now
    traffic.sent(body.length, peer)
    try {
      const answer = await withTimeout(clock, options.exchangeTimeoutMs, signal, signal =>
        transport.send(peer.address, 'result', body, signal),
      )
      traffic.received(answer.body.length, peer)
      const text = Buffer.from(answer.body).toString('latin1', 0, 80)
      const reception = receptionOf(dialect, { status: answer.status, text })
      if (reception === 'failed') this.#note(peer, `answered ${answer.status}`)
      return reception
    } catch (error) {
      if (!signal.aborted) this.#note(peer, reasonOf(error))
      return 'failed'
    }
  }

  #note(peer: PeerState, outcome: string): void {
    if (outcome === 'taken') {
      peer.trouble = undefined
      return
    }
    peer.failures++
    if (peer.trouble === undefined) {
      this.#context.seams.log.warn('SuperEdge peer does not take our results', {
        peer: peer.name,
        reason: outcome,
      })
    }
    peer.trouble = outcome
  }
}
