// SPDX-License-Identifier: Apache-2.0
import { readEntries } from '../../agent/identity/entries.js'
import { makePairKey } from '../../agent/identity/pair-key.js'
import { makeKeyRing, type SignKey } from '../../agent/key-ring.js'
import {
  open,
  seal,
  SPARSE,
  TYPE,
  zoneHash,
  type Header,
} from '../../agent/stages/exchange/wire.js'
import {
  readSignedBody,
  writeSignedBody,
  type PlacedEntry,
} from '../../agent/stages/exchange/signed-body.js'
import { id64 } from '../../core/ids.js'
import { KEY_A, memberAt, zoneName, type ExchangeZone } from './exchange-zone.js'
import type { TestIdentities } from './identities.js'

type Asking = 'gossip' | 'vote'

/** Where the talk with one agent stands. */
interface Talk {
  destBoot: bigint
  seq: number
  shownAt: number
}

/** What became of one message. */
export interface Outcome {
  readonly status: number
  /** Length of the answer, and of the one before it that challenged. */
  readonly answerBytes: number
  readonly challengeBytes: number
  /** What the agent answered about members, by its roster. */
  readonly news: readonly PlacedEntry[]
}

type Said = Pick<Header, 'count' | 'flags' | 'membershipHash'> & Partial<Header>

/** Of an empty list of suspects, and no key set. */
const NO_SHARED = Buffer.alloc(5)
export const ZONE = zoneHash('test', zoneName)

/**
 * A member that holds the zone's key and keys of its own, and says what it likes: each message is signed as its receiver
 * wants it.
 */
export class Insider {
  readonly #zone: ExchangeZone
  readonly #n: number
  readonly #identities: TestIdentities
  readonly #talks = new Map<number, Talk>()
  readonly #keys = new Map<number, SignKey>()

  constructor(zone: ExchangeZone, n: number, identities: TestIdentities) {
    this.#zone = zone
    this.#n = n
    this.#identities = identities
  }

  /**
   * @param alter the body before it is signed
   * @param shared what is said as in `EHP1`, with so many records
   * @param hash of the roster that the message is said to be made for @default the receiver's
   * @param ids of the nodes that the message is about, as for a receiver with another roster @default its roster's
   * @param route @default gossip
   * @param header what its header says instead
   */
  send(
    to: number,
    entries: readonly PlacedEntry[],
    {
      alter = body => body,
      shared = NO_SHARED,
      count = 0,
      hash,
      ids,
      route = 'gossip',
      header = {},
    }: {
      alter?: (body: Buffer) => Uint8Array
      shared?: Uint8Array
      count?: number
      hash?: bigint
      ids?: readonly bigint[]
      route?: Asking
      header?: Partial<Header>
    } = {},
  ): Outcome {
    const { engine } = this.#zone.agents[to]!
    const { bytes } = writeSignedBody(
      { shared, ids, digest: Buffer.alloc(ids?.length ?? engine.table.size) },
      entries.map(entry => ({ ...entry, digest: 0 })),
      -1,
    )
    const flags = ids === undefined ? 0 : SPARSE
    const membershipHash = hash ?? engine.table.hash
    const once = (): Outcome =>
      this.#once(to, route, alter(bytes), { count, membershipHash, flags, ...header })
    const outcome = once()
    if (outcome.status !== 409) return outcome
    return { ...once(), challengeBytes: outcome.answerBytes }
  }

  #once(to: number, route: Asking, body: Uint8Array, said: Said): Outcome {
    const { clock, agents } = this.#zone
    const { engine } = agents[to]!
    const talk = this.#talks.get(to) ?? { destBoot: 0n, seq: 0, shownAt: 0 }
    this.#talks.set(to, talk)
    const key = this.#keyWith(to)
    const header: Header = {
      type: TYPE[route],
      ...{ senderId: id64(memberAt(this.#n).name), senderBoot: 77n, senderSeq: ++talk.seq },
      ...{ baseHb: 1, destBoot: talk.destBoot },
      heldMs: talk.destBoot === 0n ? 0 : Math.floor(clock.now() - talk.shownAt),
      ...said,
    }
    const { status, body: answer } = engine.receive(
      route,
      seal(header, body, ZONE, key),
      memberAt(this.#n).address,
    )
    const opened = open(answer, ZONE, { keys: [key] }, 'of-pair')
    const sizes = { answerBytes: answer.length, challengeBytes: 0 }
    if (!opened.ok) return { status, ...sizes, news: [] }
    talk.destBoot = opened.header.senderBoot
    talk.shownAt = clock.now()
    const news: PlacedEntry[] = []
    const read = readSignedBody(opened.body, opened.header.flags === SPARSE)
    if (read !== undefined)
      readEntries(read.entries, engine.table.size, (place, entry) => news.push({ place, entry }))
    return { status, ...sizes, news }
  }

  #keyWith(to: number): SignKey {
    const own = memberAt(this.#n).name
    const peer = memberAt(to).name
    const known = this.#keys.get(to)
    const pair = {
      ...{ ownId: id64(own), ownAgreementKey: this.#identities.keysOf(own).agreementKey },
      ...{ peerId: id64(peer), zoneHash: ZONE },
      peerAgreement: this.#identities.keysOf(peer).public.agreement,
    }
    const key = known ?? makePairKey(pair, makeKeyRing(KEY_A).primary)!
    this.#keys.set(to, key)
    return key
  }
}
