// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../core/node.js'
import type { Roster } from '../core/roster.js'
import type { Judgement } from '../vote/judgement.js'
import type { Vouching } from '../vote/vouch.js'
import type { CloudLinkState } from './stages/check/cloud-link.js'
import type { RecordTable } from './records/table.js'
import type { PeerListenerStatus } from './http/peer-listener.js'

/** One section of the result store: one stage writes it, all read it. What is in it is frozen, unless it says so. */
export class Section<T> {
  #current: T
  readonly #readers = new Set<(next: T) => void>()

  constructor(first: T) {
    this.#current = first
  }

  get current(): T {
    return this.#current
  }

  /** For the section's one writer. Readers are told at once, in the order in which they came. */
  set(next: T): void {
    this.#current = next
    for (const reader of this.#readers) reader(next)
  }

  /** Be told of each change; the returned function ends it. */
  subscribe(reader: (next: T) => void): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }
}

/** A ConfigMap or Secret that could not be used; the last good one stays in force. */
export interface ConfigProblem {
  /** `ConfigMap edge-system/edge-health-config`, … */
  readonly thing: string
  readonly problem: string
  /** Epoch ms. */
  readonly since: number
}

/** What get-node-list found out. */
export interface NodeListResult {
  /** Undefined until the zone is known from the API or from disk. */
  readonly roster: Roster | undefined
  readonly source: 'none' | 'disk' | 'api'
  /** Epoch ms at which the source gave it. */
  readonly listedAt: number
  /** In words: why these nodes. */
  readonly rule: string
  /**
   * The members' Node objects as the watch has them now, by name; none while the roster is from disk. Not a copy: a
   * thousand Nodes tell of themselves three times a second, and nothing that matters here has moved.
   */
  readonly nodes: Pick<ReadonlyMap<string, NodeView>, 'get'>
  /** The API has a Node of our name at present. Who has none is no member, whatever roster it knew. */
  readonly isRegistered: boolean
  /** Whether a Node as it was just read belongs to the zone, by its own labels. */
  readonly isOfZone: (node: NodeView) => boolean
  /** Nodes of the zone that cannot take part: they have no InternalIP. */
  readonly withoutAddress: readonly string[]
  readonly problems: readonly ConfigProblem[]
}

/** How a write to the API ended; `withheld`: it was kept back, since it was not wanted any more. */
export type WriteResult = 'done' | 'conflict' | 'refused' | 'unreachable' | 'withheld'

/** One write to a Node, its Lease or an Event. */
export interface WriteRecord {
  readonly node: string
  /** Epoch ms. */
  readonly at: number
  readonly kind: 'status' | 'taints' | 'ready' | 'lease' | 'event'
  /** In words: what was to be brought about. */
  readonly what: string
  readonly result: WriteResult
  /** Why it did not work; empty when it did. */
  readonly trouble: string
}

/**
 * The votes of one roster and what follows from them, as columns. *Check* writes the own row of the table, *Commun*
 * the other rows, *Vote* judgement and vouching. A new roster is a new object.
 */
export interface ZoneState {
  readonly roster: Roster
  readonly table: RecordTable
  readonly judgement: Judgement
  readonly vouching: Vouching
}

/** Where the stages meet; nothing else connects them. */
export interface ResultStore {
  readonly nodeList: Section<NodeListResult>
  readonly cloudLink: Section<CloudLinkState>
  /** Undefined until the roster is known. */
  readonly zone: Section<ZoneState | undefined>
  /** The newest write per node that is not a mere renewal. */
  readonly writes: Section<ReadonlyMap<string, WriteRecord>>
  /** No trouble with it until somebody tells of one. */
  readonly peerListener: Section<PeerListenerStatus>
}

/** The entries of those who are in the roster. */
export const membersOnly = <T>(
  byName: ReadonlyMap<string, T>,
  roster: Roster | undefined,
): ReadonlyMap<string, T> =>
  new Map([...byName].filter(([name]) => roster?.indexOf(name) !== undefined))

/** An empty store. */
export const makeResultStore = (now: number): ResultStore => ({
  nodeList: new Section<NodeListResult>({
    roster: undefined,
    source: 'none',
    listedAt: 0,
    rule: 'not yet known',
    nodes: new Map(),
    isRegistered: false,
    isOfZone: () => false,
    withoutAddress: [],
    problems: [],
  }),
  cloudLink: new Section<CloudLinkState>({ state: 'unknown', since: now, trouble: undefined }),
  zone: new Section<ZoneState | undefined>(undefined),
  writes: new Section<ReadonlyMap<string, WriteRecord>>(new Map()),
  peerListener: new Section<PeerListenerStatus>({ address: '', trouble: null }),
})
