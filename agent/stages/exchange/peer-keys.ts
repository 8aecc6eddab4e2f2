// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import { makePairKey } from '../../identity/pair-key.js'
import type { KeyRing } from '../../key-ring.js'
import type { ZoneIdentities } from '../../results.js'
import type { PeerState } from './peer-state.js'
import type { PeerList } from './peers.js'
import type { EngineOptions } from './seams.js'
import type { Statements } from './statements.js'

/** After this share of `--record-ttl` a silent member may be believed unsigned: its last record still counts then. */
const SILENT_SHARE = 0.5

/** Keys that a message may be signed with. */
export type SigningKeys = Pick<KeyRing, 'primary' | 'keys'>

interface PeerKeysStart {
  readonly options: Pick<EngineOptions, 'identity' | 'recordTtlMs'>
  readonly clock: Clock
  readonly log: Logger
  readonly statements: Statements
  readonly keys: KeyRing
  readonly identities: ZoneIdentities
}

/** The parts of the present roster that the keys depend on. */
export interface Place {
  readonly zoneHash: bigint
  readonly ownId: bigint
  readonly peers: PeerList
}

/** Which keys sign the messages between this node and each peer: those of the pair, or those of the zone. */
export class PeerKeys {
  readonly #start: PeerKeysStart
  #shared: KeyRing
  #identities: ZoneIdentities
  #place: Place

  constructor(start: PeerKeysStart, place: Place) {
    this.#start = start
    this.#shared = start.keys
    this.#identities = start.identities
    this.#place = place
  }

  /** The keys of the zone. */
  get shared(): KeyRing {
    return this.#shared
  }

  get identities(): ZoneIdentities {
    return this.#identities
  }

  /** The keys of all our pairs. Each message to a peer with keys is signed with one of them. */
  get ofPairs(): SigningKeys['keys'] {
    const { peers } = this.#place
    return peers.flatMap(peer => (peer === undefined ? [] : (this.pairFor(peer)?.keys ?? [])))
  }

  setShared(keys: KeyRing): void {
    if (keys !== this.#shared) this.#forgetPairs()
    this.#shared = keys
  }

  setIdentities(identities: ZoneIdentities): void {
    this.#identities = identities
    this.#forgetPairs()
  }

  /** The roster changed. */
  move(place: Place): void {
    this.#place = place
    this.#forgetPairs()
  }

  /**
   * The keys of the pair where both have identities, else those of the zone. The rosters decide, so nobody in between can
   * force a downgrade. Undefined: no messages are exchanged.
   */
  for(peer: PeerState): SigningKeys | undefined {
    if (this.#start.statements.isSigned(peer.index)) return this.pairFor(peer)
    return this.#start.options.identity === 'require' ? undefined : this.#shared
  }

  /** The keys of the pair, used at present or not; undefined while this peer's are not known. */
  pairFor(peer: PeerState): SigningKeys | undefined {
    if (!this.#start.statements.hasKeys(peer.index)) return undefined
    peer.pair ??= this.#makePair(peer)
    return peer.pair
  }

  /** With `prefer`: whether the peer has signed nothing for so long that it may answer with the zone's key alone. */
  mayBeLost(peer: PeerState): boolean {
    const { options, statements, clock } = this.#start
    if (options.identity !== 'prefer' || !statements.hasKeys(peer.index)) return false
    return clock.now() - this.#signedAt(peer) >= options.recordTtlMs * SILENT_SHARE
  }

  /** With `prefer`: whether the peer signed that it leaves. A version without identities may come back at its address. */
  hasLeft(peer: PeerState): boolean {
    const { options, statements } = this.#start
    return options.identity === 'prefer' && statements.isLeaving(peer.index)
  }

  #signedAt({ index }: PeerState): number {
    return this.#start.statements.signedAt(index)
  }

  /** Whether the peer lacks our keys but has its own: statements that it signed since then came through others. */
  lacksOurs(peer: PeerState): boolean {
    return this.#signedAt(peer) > peer.lacksOurKeysAt
  }

  /**
   * An agent at the peer's address answered with the zone's key.
   * @returns whether that counts: a peer that may have lost its keys is believed by the zone's key until it signs again
   */
  acceptZoneKey(peer: PeerState, isOldVersion: boolean): boolean {
    const { statements, log } = this.#start
    if (!statements.isSigned(peer.index)) return true
    if (!this.mayBeLost(peer) && !(isOldVersion && this.hasLeft(peer))) return false
    log.warn('member does not sign: it is believed by the key of the zone', { member: peer.name })
    statements.fallBack(peer.index)
    return true
  }

  #makePair(peer: PeerState): SigningKeys | undefined {
    const { own, pins } = this.#identities
    const pin = pins.get(peer.name)
    if (own === undefined || pin === undefined) return undefined
    const { ownId, zoneHash } = this.#place
    const pair = {
      ...{ ownId, ownAgreementKey: own.keys.agreementKey },
      ...{ peerId: peer.id, peerAgreement: pin.keys.agreement, zoneHash },
    }
    const keys = this.#shared.keys.flatMap(shared => makePairKey(pair, shared) ?? [])
    const [primary] = keys
    return primary && { primary, keys }
  }

  #forgetPairs(): void {
    for (const peer of this.#place.peers) if (peer !== undefined) peer.pair = undefined
  }
}
