// SPDX-License-Identifier: Apache-2.0
import { MemberStatement } from '../../identity/member-statement.js'
import { makeVerifier } from '../../identity/node-keys.js'
import type { Pin } from '../../identity/pins.js'
import type { Origin } from '../../identity/statement.js'
import { TokenBucket } from './rate-limit.js'

/** Limits what others pass on of one member, in signatures; the burst covers a statement with the longest chain. */
const RELAYED = { perSecond: 3, burst: 24 }

/** What is known of a member that has keys. */
export interface MemberEntry {
  readonly pin: Pin
  readonly latest: MemberStatement
  /** Since when its statement says what others must hear at once, by `Clock.now`. */
  urgentSince: number
  /** Peers have links of a statement that is not known here: the digest asks for it. */
  isMissed: boolean
  missedAt: number
  /** Since when it is believed by the zone's key alone, by `Clock.now`; Infinity while it signs. */
  fellBackAt: number
  readonly relayedLimit: TokenBucket
}

/** A member of which nothing was heard yet. */
export const newMember = (pin: Pin, origin: Origin): MemberEntry => ({
  pin,
  latest: new MemberStatement(origin, pin.generation, makeVerifier(pin.keys.signing)),
  ...{ urgentSince: -Infinity, isMissed: false, missedAt: -Infinity, fellBackAt: Infinity },
  relayedLimit: new TokenBucket(RELAYED),
})
