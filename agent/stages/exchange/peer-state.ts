// SPDX-License-Identifier: Apache-2.0
import type { RosterMember } from '../../../core/roster.js'
import type { NodeName } from '../../../core/ids.js'
import type { Holder } from '../../identity/pins.js'
import type { KeyRing } from '../../key-ring.js'
import { TokenBucket } from './rate-limit.js'
import { RefusalCounts } from './refusal.js'
import { InboundSession } from './session.js'
import type { Peer } from '../../ports/transport.js'

/** How SuperEdge's agents write their results: before v0.8.2, and since. */
export type Dialect = 'v0.6' | 'v0.9'

/** How often a peer that asks is sent what all members say, per second and at once; a part of that counts as a part. */
export const ZONES = { perSecond: 0.25, burst: 4 }

/** How many of its requests are taken in, per second and at once. */
export const REQUESTS = { perSecond: 20, burst: 40 }

/** Signatures verified of what it passes on of others; the rest of the overall limit is for what other peers pass on. */
const RELAYED = { perSecond: 100, burst: 300 }
/** The same for what it says of itself; the burst covers one statement with the longest chain. */
const OWN = { perSecond: 3, burst: 24 }

/** The number in the peer's last answer, which our next request must carry. */
export interface Shown {
  /** To be sent as `destBoot`. */
  readonly number: bigint
  /** When it came in, by `Clock.now`. */
  readonly at: number
}

/** What we remember of one peer: who it is, how to talk to it, how that went. Lives as long as it is a member. */
export class PeerState {
  readonly id: bigint
  readonly name: NodeName
  /** Its place in the present roster. */
  index: number
  address: Peer

  readonly inbound = new InboundSession()
  /** Limits requests whose signature and session are verified, so nobody else can use it up. */
  readonly requests = new TokenBucket(REQUESTS)
  /** Limits what it is sent about others when it asks: a node's link may be paid for by the byte. */
  readonly answerBudget = new TokenBucket(ZONES)
  readonly proofLimits = { own: new TokenBucket(OWN), relayed: new TokenBucket(RELAYED) }
  /** The number in its last answer signed with the keys of the pair; undefined: none yet. */
  shownByPair: Shown | undefined
  /** The same with the zone's key, which others have too: it counts for requests that are signed with that. */
  shownByZoneKey: Shown | undefined
  /** The number of our last request to it. */
  seq: number
  /** Its membership hash as it last sent it; undefined before. */
  rosterHash: bigint | undefined
  /** The same by answers signed with the zone's key, which prove nothing of it. */
  rosterHashByZoneKey: bigint | undefined

  /** Results that it signed as a SuperEdge agent count now. */
  isSuperEdge = false
  /** In which form it signed the last of them; undefined when there was none. */
  dialect: Dialect | undefined
  /** When it was last tried with /v1 while taken for a SuperEdge agent. */
  triedV1At = -Infinity
  /** When it last sent a message of our own protocol, with a valid signature. */
  spokeV1At = -Infinity

  lastHeardAt = -Infinity
  lastSentAt = -Infinity
  /** Left out as a partner until then. */
  backoffUntil = -Infinity
  failures = 0
  isGossiping = false
  /** Whether a request to its address has ended, answered or not. */
  wasAsked = false
  /** A probe waits until it is known who is at its address. */
  isAwaited = false
  /** When the two newest requests that have ended were sent, answered or not. */
  endedAt: readonly [newest: number, before: number] = [-Infinity, -Infinity]
  /** When the newest request whose answer was signed with the keys of the pair was sent. */
  provedAt = -Infinity
  /** Since when it has refused messages signed with the keys of the pair, and sent none. Infinity: it accepts them. */
  lacksOurKeysAt = Infinity
  /** When the keys of the pair were last tried although they are not used at present. */
  triedPairAt = -Infinity
  /** The id of who signed the last answer from its address, our own id included; undefined before. */
  lastSigner: bigint | undefined
  keyId: number | undefined
  keySetHash: number | undefined
  /** The keys of the pair, of it and us; undefined until they are first needed. */
  pair: Pick<KeyRing, 'primary' | 'keys'> | undefined

  /** Why our last request to it failed, as text; undefined after one that did not. */
  trouble: string | undefined
  /** It failed because one of us does not have the key with which the other signs. */
  isKeyRefused = false
  bytesSent = 0
  bytesReceived = 0
  readonly refusals = new RefusalCounts()

  constructor(member: RosterMember, at: { index: number; port: number; seq: number }) {
    this.id = member.id
    this.name = member.name
    this.index = at.index
    this.seq = at.seq
    this.address = { name: member.name, address: member.address, port: at.port }
  }

  /** The roster changed: it has another place there, and maybe another address, of which nothing is known yet. */
  moveTo(member: RosterMember, index: number): void {
    this.index = index
    if (member.address === this.address.address) return
    this.address = { ...this.address, address: member.address }
    this.backoffUntil = -Infinity
    this.lastSigner = undefined
    this.wasAsked = false
    this.endedAt = [-Infinity, -Infinity]
  }

  /** See `Engine.signerAt`. */
  get signer(): bigint | 'nobody' | 'unasked' {
    return this.wasAsked ? (this.lastSigner ?? 'nobody') : 'unasked'
  }

  /** See `Engine.holderAt`. */
  holderSince(since: number): Holder {
    if (this.provedAt >= since) return 'answered'
    // One of the two may have been lost on the way.
    return Math.min(...this.endedAt) >= since ? 'silent' : 'unasked'
  }

  /** A request to its address has ended. @param at when it was sent */
  ended(at: number): void {
    this.wasAsked = true
    this.endedAt = [at, this.endedAt[0]]
  }

  /** A message of our own protocol came, with a valid signature. */
  heard(now: number): void {
    this.lastHeardAt = now
    this.spokeV1At = now
    this.backoffUntil = -Infinity
    this.isSuperEdge = false
    this.dialect = undefined
  }
}
