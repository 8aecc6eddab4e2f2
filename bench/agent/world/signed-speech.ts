// SPDX-License-Identifier: Apache-2.0
import {
  digestOf,
  newsFor,
  OLDEST_MS,
  quartersAt,
  type Entry,
  type KnownStatement,
  readEntries,
} from '../../../agent/identity/entries.js'
import type { PublicKeys } from '../../../agent/identity/node-keys.js'
import { makePairKey } from '../../../agent/identity/pair-key.js'
import { QUARTER_MS, type ReceivedStatement } from '../../../agent/identity/statement.js'
import type { KeyRing, SignKey } from '../../../agent/key-ring.js'
import type { RecordTable } from '../../../agent/records/table.js'
import { BodyWriter } from '../../../agent/stages/exchange/body-writer.js'
import {
  readSignedBody,
  writeSignedBody,
  type NewsEntry,
} from '../../../agent/stages/exchange/signed-body.js'
import {
  isOfPair,
  open,
  seal,
  SPARSE,
  TYPE,
  type Opened,
} from '../../../agent/stages/exchange/wire.js'
import { QUIET_LEAST } from '../../../agent/stages/exchange/statement-news.js'
import type { Clock } from '../../../core/clock.js'
import type { Random } from '../../../core/random.js'
import { FLAG } from '../../../vote/evidence.js'
import type { SpokenHeader, Speech } from './speech.js'
import { Knowledge } from './knowledge.js'
import { PlayedStatement } from './played-statement.js'
import { GENERATION, type WorldKeys } from './world-keys.js'

export interface SignedSpeechOrder {
  readonly table: RecordTable
  readonly zone: bigint
  /** The index of the agent under test. */
  readonly agent: number
  readonly exchangePeriodMs: number
  /** Quarters of a second that a link stands for. */
  readonly slot: number
}

/** What the agent last reported to a member to know. */
interface Reported {
  readonly digest: Buffer
  readonly at: number
}

const NOTHING = Buffer.alloc(0)
/** In quarters of a second: older than what anybody still knows of anybody. */
const OLDEST_HEARD = 4 * 120
/** Members signed what they say at any time of so many quarters of a second, as if they had not all begun together. */
const LIFE = 4 * 1_024

/** The members of a quiet world, each with keys of its own: what they know of each other is played, what they say is signed. */
export class SignedSpeech implements Speech {
  readonly #order: SignedSpeechOrder
  readonly #seams: { readonly clock: Clock; readonly random: Random; readonly keys: KeyRing }
  readonly #nodeKeys: WorldKeys
  readonly #writer: BodyWriter
  readonly #statements: readonly (PlayedStatement | undefined)[]
  readonly #knowledge: Knowledge
  /** The start of `Clock.now`, in quarters of a second since 1970. */
  readonly #base: number
  readonly #pairs = new Map<number, SignKey>()
  readonly #reported = new Map<number, Reported>()
  /** What the last request told; the agent may not have taken it. */
  readonly #sent = new Map<number, readonly NewsEntry[]>()
  #agentKeys: PublicKeys | undefined
  #agentSays: ReceivedStatement | undefined

  constructor(
    order: SignedSpeechOrder,
    nodeKeys: WorldKeys,
    seams: { readonly clock: Clock; readonly random: Random; readonly keys: KeyRing },
  ) {
    this.#order = order
    this.#seams = seams
    this.#nodeKeys = nodeKeys
    this.#writer = new BodyWriter(order.table)
    this.#base = Math.ceil((seams.clock.wall() - seams.clock.now()) / QUARTER_MS)
    const { table, zone, slot, ...rest } = order
    const { size, topology, roster, hash } = table
    this.#knowledge = new Knowledge({ size, topology, ...rest }, seams.random, this.#now)
    const says = {
      ...{ generation: GENERATION, epoch: 1, slot, flags: FLAG.kubeletWell, cutFor: 0 },
      ...{ membershipHash: hash, down: [], notLooked: [], standsInFor: [] },
    }
    this.#statements = roster.members.map(({ name, id }) => {
      const keys = nodeKeys.of(name)
      const since = this.#now - OLDEST_HEARD - seams.random.below(LIFE)
      return keys && new PlayedStatement({ zoneHash: zone, id }, keys, says, since)
    })
  }

  /** The agent has published these. */
  meet(agentKeys: PublicKeys): void {
    this.#agentKeys = agentKeys
  }

  get isReady(): boolean {
    return this.#agentKeys !== undefined
  }

  open(index: number, bytes: Uint8Array): Opened {
    const key = this.#pairOf(index)
    if (key === undefined || !isOfPair(bytes)) return { ok: false, refusal: 'unsigned' }
    return open(bytes, this.#order.zone, { keys: [key] }, 'of-pair')
  }

  take(index: number, { header, body }: Extract<Opened, { ok: true }>): void {
    const signed = readSignedBody(body, header.flags === SPARSE)
    const { size } = this.#order.table
    if (signed === undefined || signed.ids !== undefined) return
    if (signed.digest.length === size)
      this.#reported.set(index, {
        digest: Buffer.from(signed.digest),
        at: this.#seams.clock.now(),
      })
    if (header.type === TYPE.state) this.#noteKnown(index, this.#sent.get(index) ?? [])
    readEntries(signed.entries, size, (place, entry) => {
      const time = this.#timeOf(index, place, entry)
      if (time !== undefined) this.#knowledge.learn(index, place, time)
    })
  }

  message(index: number, header: SpokenHeader): Buffer {
    const key = this.#pairOf(index)
    if (key === undefined) throw new Error('the agent has published no identity')
    const { table, zone } = this.#order
    const now = this.#now
    this.#knowledge.playTo(now)
    this.#knowledge.learn(index, index, now)
    const baseHb = Math.floor(now / 4)
    const keySetHash = this.#seams.keys.setHash
    const order = { sparse: false, suspects: [], keySetHash, baseHb, isEmpty: true }
    const shared = this.#writer.encode(order, this.#seams.clock.now())
    const { news, digest } = this.#contents(index, header)
    const { bytes, written } = writeSignedBody({ shared, ids: undefined, digest }, news, index)
    if (header.type === TYPE.state) this.#noteKnown(index, written)
    else if (header.type === TYPE.gossip) this.#sent.set(index, written)
    const { id: senderId } = table.roster.members[index]!
    const full = { ...header, flags: 0, membershipHash: table.hash, senderId, baseHb, count: 0 }
    return seal(full, bytes, zone, key)
  }

  get #now(): number {
    return this.#base + Math.floor(this.#seams.clock.now() / QUARTER_MS)
  }

  #pairOf(index: number): SignKey | undefined {
    const known = this.#pairs.get(index)
    if (known !== undefined || this.#agentKeys === undefined) return known
    const { table, zone: zoneHash, agent } = this.#order
    const { id: ownId, name } = table.roster.members[index]!
    const key = makePairKey(
      {
        ...{ ownId, ownAgreementKey: this.#nodeKeys.of(name)!.agreementKey, zoneHash },
        ...{ peerId: table.roster.members[agent]!.id, peerAgreement: this.#agentKeys.agreement },
      },
      this.#seams.keys.primary,
    )
    if (key !== undefined) this.#pairs.set(index, key)
    return key
  }

  /** As an agent chooses it: an answer by what the request reported, a request unasked. */
  #contents(
    index: number,
    { type, isEmpty }: SpokenHeader,
  ): { readonly news: readonly NewsEntry[]; readonly digest: Buffer } {
    const isMesh = this.#order.table.topology.kind === 'mesh'
    if (isEmpty === true) return { news: [], digest: NOTHING }
    const reported = this.#reported.get(index)
    const isAnswer = type === TYPE.state
    const isKnown = reported !== undefined && this.#seams.clock.now() - reported.at <= OLDEST_MS
    const seen = isAnswer || isKnown ? reported?.digest : undefined
    const isSent = (place: number): boolean =>
      isAnswer || place === index || (isMesh && (seen?.[place] ?? 0) !== 0)
    return {
      news: this.#news(index, place => (isSent(place) ? (seen?.[place] ?? 0) : undefined)),
      digest: isMesh || !isAnswer ? this.#digest(index) : NOTHING,
    }
  }

  /** @param seenOf how much of a place is known to whom it is told; undefined: it is not told */
  #news(index: number, seenOf: (place: number) => number | undefined): readonly NewsEntry[] {
    const now = this.#seams.clock.now()
    const news: NewsEntry[] = []
    this.#statements.forEach((_, place) => {
      const seen = seenOf(place)
      if (seen === undefined || place === this.#order.agent) return
      const known = this.#known(index, place)
      const rule = { least: QUIET_LEAST, isOwn: place === index }
      const entry = known && newsFor(known, seen, now, rule)
      if (entry !== undefined) news.push({ place, entry, digest: digestOf(known, now) })
    })
    return news
  }

  #digest(index: number): Buffer {
    const now = this.#seams.clock.now()
    return Buffer.from(this.#statements.map((_, place) => digestOf(this.#known(index, place), now)))
  }

  /** What a member knows of another. */
  #known(index: number, place: number): KnownStatement | undefined {
    const time = this.#knowledge.of(index, place)
    const madeAt = (time - this.#base) * QUARTER_MS
    if (place !== this.#order.agent) return this.#statements[place]!.at(time, madeAt)
    const received = this.#agentSays
    if (received === undefined) return undefined
    const quarters = Math.max(0, time - received.statement.time)
    return { received, progress: { quarters, link: undefined }, madeAt }
  }

  /** Of what instant an entry of the agent tells. */
  #timeOf(index: number, place: number, entry: Entry): number | undefined {
    if (entry.kind === 'statement') {
      if (place === this.#order.agent) this.#agentSays = entry.received
      return entry.received.statement.time + entry.progress.quarters
    }
    const known = this.#known(index, place)
    return known && known.received.statement.time + quartersAt(known, entry.time)
  }

  #noteKnown(index: number, written: readonly NewsEntry[]): void {
    const { clock } = this.#seams
    const nothing = { digest: Buffer.alloc(this.#statements.length), at: clock.now() }
    const reported = this.#reported.get(index) ?? nothing
    this.#reported.set(index, reported)
    for (const { place, digest } of written) reported.digest[place] = digest
  }
}
