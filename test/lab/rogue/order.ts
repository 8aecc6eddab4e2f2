// SPDX-License-Identifier: Apache-2.0
// What the lab tells its rogue, and what the rogue says it did.
import type { Member } from '../../../core/roster.js'

/** What is claimed, by name. */
export interface Lies {
  /** Also in all others' names; else the rogue only lies about what it sees itself. */
  readonly inAllNames: boolean
  /** Said to be down by all in whose name the rogue speaks. */
  readonly down: readonly string[]
  /** Their own records are forged: alive, kubelet well, cloud link cut. */
  readonly cut: readonly string[]
  /** Their records get the largest heartbeat that there is, so that nothing newer can follow. */
  readonly silenced: readonly string[]
  /**
   * Messages a second, to all together: news, wrong links and wrong signatures, without end; 0: just below the rate at which one
   * source is refused.
   */
  readonly perSecond: number
}

export type Order =
  | {
      readonly do: 'lie'
      readonly self: string
      readonly members: readonly Member[]
      readonly key: string
      readonly port: number
      /**
       * Where the node's agent keeps its own keys: they are stolen with the node. Without, the rogue has the zone's key
       * alone.
       */
      readonly state: string | undefined
      readonly lies: Lies
    }
  | {
      readonly do: 'record'
      readonly listen: number
      readonly forward: { readonly host: string; readonly port: number }
      readonly file: string
    }
  | {
      readonly do: 'replay'
      readonly members: readonly Member[]
      readonly port: number
      readonly file: string
      /** Sign what was recorded anew, in a session of one's own; without, it is sent as it was. */
      readonly key: string | undefined
    }

/** A request as it went over the network. */
export interface Recorded {
  readonly path: string
  /** Base64. */
  readonly body: string
}

/** HTTP status (behind `as another: ` where another's name was on it), or `unreachable` → how many requests were answered so. */
export type AnswerCounts = Readonly<Record<string, number>>
