// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import type { Route } from '../../ports/transport.js'
import type { BodyOrder } from './body.js'
import type { ExchangeContext } from './context.js'
import type { SigningKeys } from './peer-keys.js'
import type { BodyFor } from './pair-body.js'
import type { PeerState, Shown } from './peer-state.js'
import type { NewsEntry } from './signed-body.js'
import { seal, SPARSE, TYPE, type Header } from './wire.js'

/** The largest value that the header's field holds. */
const MAX_HELD_MS = 0xffff_ffff

/** Records as bytes; their ages are as of `asOf`. */
interface Body {
  readonly asOf: number
  readonly bytes: Buffer
}

interface BatchOptions {
  /** Leave the records out: nothing is new, and no state is wanted in return. @default false */
  readonly isEmpty?: boolean
  /** Of members with identities: send also those whose records repeat the same votes. @default only in a mesh */
  readonly isWide?: boolean
}

/** A message to one peer. */
interface Sealed {
  readonly bytes: Buffer
  /** What the peer knows once it has accepted the message. */
  readonly entries: readonly NewsEntry[]
}

/** For how long we held the receiver's number when the body was composed. */
const heldMs = (shown: Shown | undefined, asOf: number): number =>
  shown === undefined || shown.number === 0n
    ? 0
    : Math.min(MAX_HELD_MS, Math.floor(asOf - shown.at))

/** The state as of one moment, for any number of receivers: encoded at most once per form, signed for each. */
export class Batch {
  readonly route: Extract<Route, 'gossip' | 'vote'>
  /** The nodes that the receiver is asked to probe at once. */
  readonly suspects: readonly NodeName[]
  readonly isEmpty: boolean
  /** What a receiver must have to read the dense form. */
  readonly hash: bigint
  readonly #context: ExchangeContext
  readonly #baseHb: number
  readonly #count: number
  readonly #isWide: boolean
  readonly #order: Omit<BodyOrder, 'sparse'>
  readonly #encode: (sparse: boolean) => Body
  #dense: Body | undefined
  #sparse: Body | undefined

  constructor(
    context: ExchangeContext,
    route: Extract<Route, 'gossip' | 'vote'>,
    suspects: readonly NodeName[],
    { isEmpty = false, isWide = false }: BatchOptions = {},
  ) {
    const { membership } = context
    const { table, writer, keys } = membership
    membership.speak()
    this.#isWide = isWide || table.topology.kind === 'mesh'
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
    this.#order = order
    this.#encode = sparse => {
      const asOf = context.now
      return { asOf, bytes: writer.encode({ ...order, sparse }, asOf) }
    }
  }

  seal(
    peer: PeerState,
    { seq, sparse, keys }: { seq: number; sparse: boolean; keys: SigningKeys },
  ): Sealed {
    const { membership } = this.#context
    const isPair = keys.primary.isOfPair === true
    const shown = isPair ? peer.shownByPair : peer.shownByZoneKey
    const { bytes, asOf, count, entries } = isPair
      ? this.#bodyOfPair(peer, sparse)
      : { ...this.#bodyFor(shown, sparse), count: this.#count, entries: [] }
    const header: Header = {
      type: TYPE[this.route],
      flags: sparse ? SPARSE : 0,
      membershipHash: this.hash,
      senderId: membership.ownId,
      senderBoot: membership.boot,
      senderSeq: seq,
      baseHb: this.#baseHb,
      destBoot: shown?.number ?? 0n,
      count,
      heldMs: heldMs(shown, asOf),
    }
    return { bytes: seal(header, bytes, membership.zone, keys.primary), entries }
  }

  /** The news for this peer: encoded for it alone. */
  #bodyOfPair(peer: PeerState, sparse: boolean): Body & BodyFor {
    const { membership, now, isBurst } = this.#context
    const { news } = membership.statements
    const isFast = isBurst || this.route === 'vote'
    const entries = this.isEmpty ? [] : news.unasked(peer, this.#isWide, isFast)
    const body = membership.bodyOfPair({ ...this.#order, sparse }, entries, !this.isEmpty)
    news.noteSentUnasked(peer, body.entries)
    return { asOf: now, ...body }
  }

  /** Encoded again for a peer that issued its number after the last encoding: receivers count ages from that instant. */
  #bodyFor(shown: Shown | undefined, sparse: boolean): Body {
    const known = sparse ? this.#sparse : this.#dense
    if (known !== undefined && known.asOf >= (shown?.at ?? -Infinity)) return known
    const body = this.#encode(sparse)
    if (sparse) this.#sparse = body
    else this.#dense = body
    return body
  }
}
