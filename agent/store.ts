// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../core/ids.js'
import type { Roster } from '../core/roster.js'
import type { News } from './records/table.js'
import type * as results from './results.js'

type Reader<T> = (news: T) => void

/** Something that happens in one stage and matters in another. Nothing of it is kept. */
export class Signal<T> {
  readonly #readers = new Set<Reader<T>>()

  /** For the one stage in which it happens. Readers are called at once, in the order in which they subscribed. */
  emit(news: T): void {
    for (const reader of this.#readers) reader(news)
  }

  /** Be called each time; the returned function ends it. */
  subscribe(reader: Reader<T>): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }
}

/** One section of the result store: one stage writes it, all read it. What is in it is frozen, unless it says so. */
export class Section<T> extends Signal<T> {
  #current: T

  constructor(first: T) {
    super()
    this.#current = first
  }

  get current(): T {
    return this.#current
  }

  /** For the section's one writer. Readers are called as for a signal. */
  set(next: T): void {
    this.#current = next
    this.emit(next)
  }
}

/** Where the stages meet; nothing else connects them. */
export interface ResultStore {
  // get-node-list
  readonly nodeList: Section<results.NodeListResult>
  readonly keys: Section<results.KeyResult>
  /** Once for each broken version of an object. */
  readonly configProblem: Signal<results.ConfigProblem>

  // identity
  readonly identities: Section<results.ZoneIdentities>
  /** Asks whether the agent at the node's address has the node's known keys. */
  readonly whoHasKeys: Signal<NodeName>

  // check
  readonly ownNode: Section<results.OwnNodeResult>
  readonly round: Signal<results.RoundOutcome>
  readonly endedVote: Signal<results.EndedVote>
  /** Other observers of the node should look now. */
  readonly callForVotes: Signal<NodeName>
  /** Asks which agent answers at the node's address. */
  readonly whoIsThere: Signal<NodeName>

  // commun
  /** Undefined until zone and keys are known. */
  readonly records: Section<results.ZoneRecords | undefined>
  /** The records' votes have to be counted again, if what is new about them matters. Fires often. */
  readonly evidence: Signal<News>
  /** This member seems to have other keys than those that are known. */
  readonly unknownIdentity: Signal<NodeName>
  /** This node should be probed now. */
  readonly probeNow: Signal<NodeName>

  // vote
  /** Undefined until there are records. */
  readonly zone: Section<results.ZoneState | undefined>
  /** After each vote, whatever it changed. */
  readonly vote: Signal<results.VoteOutcome>
  readonly endedVouch: Signal<results.EndedVouch>

  // write
  /** Members whose Nodes carry SuperEdge's mark, of those that were read. */
  readonly marked: Section<ReadonlySet<string>>
  readonly write: Signal<results.WriteRecord>
  /** The newest write about each member, Events apart. */
  readonly writes: Section<ReadonlyMap<string, results.WriteRecord>>
  /** By node, the `renewTime` that this agent last wrote into its Lease in its place. */
  readonly renewals: Section<ReadonlyMap<string, string>>

  // the listener
  /** No trouble with it until some is reported. */
  readonly peerListener: Section<results.PeerListenerStatus>
}

/** The entries of those who are in the roster. */
export const membersOnly = <T>(
  byName: ReadonlyMap<string, T>,
  roster: Roster | undefined,
): ReadonlyMap<string, T> =>
  new Map([...byName].filter(([name]) => roster?.indexOf(name) !== undefined))

/** An empty store. */
export const makeResultStore = (now: number): ResultStore => ({
  nodeList: new Section<results.NodeListResult>({
    roster: undefined,
    source: 'none',
    listedAt: 0,
    rule: 'not yet known',
    ownNode: () => undefined,
    isRegistered: false,
    isOfZone: () => false,
    withoutAddress: [],
    problems: [],
  }),
  keys: new Section<results.KeyResult>({ ring: undefined, problem: undefined }),
  configProblem: new Signal(),
  identities: new Section<results.ZoneIdentities>({ own: undefined, pins: new Map() }),
  whoHasKeys: new Signal(),
  ownNode: new Section<results.OwnNodeResult>({
    cloudLink: { state: 'unknown', since: now, trouble: undefined },
    kubelet: 'unknown',
    isWarming: true,
  }),
  round: new Signal(),
  endedVote: new Signal(),
  callForVotes: new Signal(),
  whoIsThere: new Signal(),
  records: new Section<results.ZoneRecords | undefined>(undefined),
  evidence: new Signal(),
  unknownIdentity: new Signal(),
  probeNow: new Signal(),
  zone: new Section<results.ZoneState | undefined>(undefined),
  vote: new Signal(),
  endedVouch: new Signal(),
  marked: new Section<ReadonlySet<string>>(new Set()),
  write: new Signal(),
  writes: new Section<ReadonlyMap<string, results.WriteRecord>>(new Map()),
  renewals: new Section<ReadonlyMap<string, string>>(new Map()),
  peerListener: new Section<results.PeerListenerStatus>({ address: '', trouble: null }),
})
