// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../core/node.js'
import type { Roster } from '../core/roster.js'
import type { CloudLinkState } from './cloud-link.js'

/** One section of the result store: one stage writes it, all read it. What is in it is frozen. */
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
  /** The members' Node objects as last seen, by name; empty while the roster is from disk. */
  readonly nodes: ReadonlyMap<string, NodeView>
  /** Nodes of the zone that cannot take part: they have no InternalIP. */
  readonly withoutAddress: readonly string[]
  readonly problems: readonly ConfigProblem[]
}

/** One write to a Node or its Lease. */
export interface WriteRecord {
  readonly node: string
  readonly at: number
  readonly what: string
  readonly outcome: 'written' | 'conflict' | 'failed' | 'not needed'
  readonly detail: string
}

/** Where the stages meet; nothing else connects them. Rows of votes live in the detector's table. */
export interface ResultStore {
  readonly nodeList: Section<NodeListResult>
  readonly cloudLink: Section<CloudLinkState>
  /** The newest write per node. */
  readonly writes: Section<ReadonlyMap<string, WriteRecord>>
}

/** An empty store. */
export const makeResultStore = (now: number): ResultStore => ({
  nodeList: new Section<NodeListResult>({
    roster: undefined,
    source: 'none',
    listedAt: 0,
    rule: 'not yet known',
    nodes: new Map(),
    withoutAddress: [],
    problems: [],
  }),
  cloudLink: new Section<CloudLinkState>({ state: 'unknown', since: now, trouble: undefined }),
  writes: new Section<ReadonlyMap<string, WriteRecord>>(new Map()),
})
