// SPDX-License-Identifier: Apache-2.0
import { MemberWord } from '../../identity/member-word.js'
import { makeVerifier } from '../../identity/node-keys.js'
import type { Pin } from '../../identity/pins.js'
import type { Origin } from '../../identity/statement.js'
import { RateLimit } from './rate-limit.js'

/** New statements of one member, in a second and at once: more often nothing changes. */
const STATEMENTS_PER_SECOND = 2
const STATEMENTS_AT_ONCE = 8

/** What is known of a member that has keys. */
export interface MemberEntry {
  readonly pin: Pin
  readonly word: MemberWord
  /** Since when it says what others must hear at once. */
  urgentSince: number
  /** Peers show how it goes on, but of a statement that is not known here: it is asked for. */
  isMissed: boolean
  missedAt: number
  /** Since when it counts by the key of the zone; Infinity while it signs. */
  asideAt: number
  readonly limit: RateLimit
}

/** A member of which nothing was heard yet. */
export const newMember = (pin: Pin, origin: Origin): MemberEntry => ({
  pin,
  word: new MemberWord(origin, pin.generation, makeVerifier(pin.keys.signing)),
  ...{ urgentSince: -Infinity, isMissed: false, missedAt: -Infinity, asideAt: Infinity },
  limit: new RateLimit(0, STATEMENTS_PER_SECOND, STATEMENTS_AT_ONCE),
})
