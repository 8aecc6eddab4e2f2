// SPDX-License-Identifier: Apache-2.0
// Whoever is root on one node of a zone with identities: it has the zone's key, that node's own keys and all public ones.
// It speaks `EHP2`: in its own name, about others what nobody signed or what they signed once, and in others' names.
import { randomBytes } from 'node:crypto'
import { openStateFolder } from '../../../agent/state-folder.js'
import { readEntries, type Entry } from '../../../agent/identity/entries.js'
import { LINK_BYTES } from '../../../agent/identity/link-chain.js'
import type { NodeKeys } from '../../../agent/identity/node-keys.js'
import { MAX_EPOCH, OwnStatement, type OwnContent } from '../../../agent/identity/own-statement.js'
import { makePairKey } from '../../../agent/identity/pair-key.js'
import type { Pin } from '../../../agent/identity/pins.js'
import { sealStatement, type Statement } from '../../../agent/identity/statement.js'
import type { SignKey } from '../../../agent/key-ring.js'
import {
  readSignedBody,
  writeSignedBody,
  type PlacedEntry,
} from '../../../agent/stages/exchange/signed-body.js'
import { open, SPARSE } from '../../../agent/stages/exchange/wire.js'
import { OwnKeys } from '../../../agent/stages/identity/own-keys.js'
import { parsePins } from '../../../agent/stages/identity/remembered-pins.js'
import { systemClock } from '../../../core/clock.js'
import { parseNodeName } from '../../../core/ids.js'
import { silentLog } from '../../../core/log.js'
import { FLAG } from '../../../vote/evidence.js'
import { Liar, type Lie, type LieOrder, type Talk } from './liar.js'

/** What the node's agent keeps on disk. */
export interface Stolen {
  readonly keys: NodeKeys
  readonly generation: number
  readonly savedEpoch: number
  readonly pins: readonly Pin[]
}

export type Said = Extract<Entry, { kind: 'statement' }>

/** No key set, and nobody to be probed. */
const NO_SHARED = Buffer.alloc(5)
/** In quarters of a second, as the fast profile has it. */
const SLOT = 2
/**
 * What is forged uses up the limit of whoever passes it on: at first it only plays what was signed once. Longer than a record
 * counts with the fast profile.
 */
const HONEST_MS = 15_000
/** Every so many messages are sent in another's name. */
const AS_ANOTHER = 4

/** @throws Error when the node has no keys that its Node says are its own. */
export const steal = async (state: string, node: string): Promise<Stolen> => {
  const folder = openStateFolder(state, silentLog)
  const own = (await OwnKeys.open(folder, parseNodeName(node), silentLog)).published
  const pins = await folder.read('identities.json')
  if (own === undefined || pins === undefined) throw new Error(`no identity in ${state}`)
  const savedEpoch = Number((await folder.read('epoch')) ?? 0)
  return { ...own, savedEpoch, pins: parsePins(pins) }
}

export class Insider extends Liar {
  protected readonly statement: OwnStatement
  protected readonly content: OwnContent
  /** What each member said last, by place. */
  protected readonly said = new Map<number, Said>()
  readonly #stolen: Stolen
  readonly #startedAt = systemClock.now()
  readonly #pairKeys = new Map<bigint, SignKey>()
  #turn = 0

  constructor(order: LieOrder, stolen: Stolen, count: (answer: string) => void) {
    super(order, count)
    this.#stolen = stolen
    const { roster, self, hash } = this.table
    const origin = { zoneHash: this.zone, id: roster.members[self]!.id }
    this.content = {
      ...{ flags: FLAG.kubeletWell, cutAt: -Infinity, membershipHash: hash },
      ...{ down: this.idsOf(this.lies.down), notLooked: [], standsInFor: [] },
    }
    this.statement = new OwnStatement({ origin, ...stolen }, SLOT, this.content, {
      clock: systemClock,
      seed: () => randomBytes(LINK_BYTES),
      nextHeartbeat: floor => Math.max(floor, Math.floor(systemClock.wall() / 1_000)) + 1,
      save: () => undefined,
    })
  }

  protected say(talk: Talk): Lie {
    const { members } = this.table.roster
    const other = members[++this.#turn % members.length]!
    const isAsAnother = this.#turn % AS_ANOTHER === 0 && other.id !== talk.to.id
    const bytes = this.seal(talk, this.body(), this.keyWith(talk), {
      count: 0,
      ...(isAsAnother && other.id !== this.#ownId ? { senderId: other.id } : {}),
    })
    return isAsAnother && other.id !== this.#ownId ? { bytes, as: 'as another: ' } : { bytes }
  }

  protected hear(talk: Talk, answer: Uint8Array): void {
    const reply = open(answer, this.zone, { keys: [this.keyWith(talk)] }, 'of-pair')
    if (!reply.ok || reply.header.senderId !== talk.to.id) return
    this.heard(talk, reply.header)
    const body = readSignedBody(reply.body, reply.header.flags === SPARSE)
    if (body === undefined || body.ids !== undefined) return
    readEntries(body.entries, this.table.size, (place, entry) => {
      if (entry.kind === 'statement' && isLater(entry, this.said.get(place)))
        this.said.set(place, entry)
    })
  }

  get #ownId(): bigint {
    return this.table.roster.members[this.table.self]!.id
  }

  protected idsOf(names: readonly string[]): readonly bigint[] {
    const { members } = this.table.roster
    // Members are in the order of their ids.
    return members.filter(({ name }) => names.includes(name)).map(({ id }) => id)
  }

  protected keyWith({ to }: Talk): SignKey {
    const known = this.#pairKeys.get(to.id)
    if (known !== undefined) return known
    const pin = this.#stolen.pins.find(({ node }) => node === to.name)
    if (pin === undefined) throw new Error(`the keys of ${to.name} are not known`)
    const pair = {
      ...{ ownId: this.#ownId, ownAgreementKey: this.#stolen.keys.agreementKey },
      ...{ peerId: to.id, peerAgreement: pin.keys.agreement, zoneHash: this.zone },
    }
    const key = makePairKey(pair, this.keys.primary)!
    this.#pairKeys.set(to.id, key)
    return key
  }

  protected body(): Buffer {
    const { self, size } = this.table
    const own: PlacedEntry = {
      place: self,
      entry: { kind: 'statement', ...this.statement.news(), age: 0 },
    }
    const entries = [own, ...this.aboutOthers()].toSorted((a, b) => a.place - b.place)
    // An empty digest would ask for nothing: this one asks for all that everybody said.
    const head = { shared: NO_SHARED, ids: undefined, digest: Buffer.alloc(size) }
    return writeSignedBody(
      head,
      entries.map(entry => ({ ...entry, digest: 0 })),
      self,
    ).bytes
  }

  /** By place, in any order. */
  protected aboutOthers(): readonly PlacedEntry[] {
    const mayForge = systemClock.now() - this.#startedAt > HONEST_MS
    return [...this.said].flatMap(([place, said]): PlacedEntry[] => {
      const { name, id } = this.table.roster.members[place]!
      if (place === this.table.self) return []
      const lie = this.#lieOf(name, said.received.statement)
      const isPlayed = this.lies.cut.includes(name) && !mayForge
      const entry =
        lie === undefined || isPlayed ? asYoungAsCanBe(said) : this.#forged(said, lie, id)
      return [{ place, entry }]
    })
  }

  /** What it would have this member say; undefined: what it said. */
  #lieOf(name: string, said: Statement): Partial<Statement> | undefined {
    const { inAllNames, down, cut, silenced } = this.lies
    if (silenced.includes(name)) return { epoch: MAX_EPOCH, time: said.time + 1 }
    if (cut.includes(name))
      return { flags: said.flags | FLAG.cloudCut, cutFor: 240, time: said.time + 1 }
    if (inAllNames && down.length > 0)
      return { down: this.idsOf(down.filter(each => each !== name)), time: said.time + 1 }
    return undefined
  }

  /** Signed with the only keys that it has. */
  #forged(said: Said, lie: Partial<Statement>, id: bigint): Said {
    const statement = { ...said.received.statement, ...lie }
    const origin = { zoneHash: this.zone, id }
    const bytes = sealStatement(statement, origin, content => this.#stolen.keys.sign(content))
    const progress = { quarters: 0, link: undefined }
    return { kind: 'statement', received: { statement, bytes }, progress, age: 0 }
  }
}

const isLater = ({ received, progress }: Said, known: Said | undefined): boolean =>
  known === undefined ||
  received.statement.epoch > known.received.statement.epoch ||
  received.statement.time + progress.quarters >=
    known.received.statement.time + known.progress.quarters

/** The end of the slot that was proved, and said just now. */
const asYoungAsCanBe = ({ received, progress }: Said): Said => {
  const { slot } = received.statement
  const quarters = progress.quarters + slot - 1 - (progress.quarters % slot)
  return { kind: 'statement', received, progress: { ...progress, quarters }, age: 0 }
}
