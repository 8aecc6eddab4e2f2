// SPDX-License-Identifier: Apache-2.0
// The JSON of `/history`. As in `/status`, instants are ISO 8601 of the agent's wall clock, and null says that there is
// nothing to say.

/** What changed. `to`, and `from` where something was before, are one of the words named beside it. */
export const HISTORY_KINDS = [
  /** The class of nodes, as in `/status`. */
  'class',
  /** This agent `started` or `stopped`, or `resumed` after it, or its machine, had stood still. */
  'agent',
  /** Whether this agent may decide: `full`, `self-suspect`, `warming`, `leaving`, `minority`. */
  'voice',
  /** `on` or `off`. */
  'brake',
  /** This node's own link to the apiserver: `up` or `cut`. */
  'cloud-link',
  /** Nodes that `joined` or `left` the zone. */
  'members',
  /** The zone's vouching for a node: `active` or `ended`. */
  'vouch',
  /** A write of this agent about a node, Leases and Events apart: `done`, `conflict`, `refused`, `unreachable`, `withheld`. */
  'write',
] as const
export type HistoryKind = (typeof HISTORY_KINDS)[number]

export interface HistoryEntryView {
  /** Grows by one with each entry, also over a restart of the agent. */
  readonly id: number
  readonly at: string
  readonly kind: HistoryKind
  /** At most 16 of the nodes that it happened to; none for the agent or the zone as a whole. */
  readonly nodes: readonly string[]
  /** How many nodes it happened to. */
  readonly count: number
  readonly from: string | null
  readonly to: string
  /** The whole of it in one sentence. */
  readonly text: string
}

/** `GET /history`. */
export interface HistoryView {
  readonly at: string
  readonly self: { readonly name: string; readonly address: string }
  /** Most entries that are kept. */
  readonly capacity: number
  /** Oldest first. */
  readonly entries: readonly HistoryEntryView[]
}
