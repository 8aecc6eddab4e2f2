// SPDX-License-Identifier: Apache-2.0
import type { Header, Opened } from '../../../agent/stages/exchange/wire.js'

/** What of a header depends on the talk alone. */
export type SpokenHeader = Omit<
  Header,
  'flags' | 'membershipHash' | 'senderId' | 'baseHb' | 'count'
> & { readonly isEmpty?: boolean }

/** How members of the world, by roster index, talk with the agent under test. */
export interface Speech {
  /** What the agent sent to a member. */
  open(index: number, bytes: Uint8Array): Opened
  /** The member listens. */
  take(index: number, message: Extract<Opened, { ok: true }>): void
  /** What the member says now, signed for the agent. */
  message(index: number, header: SpokenHeader): Buffer
}
