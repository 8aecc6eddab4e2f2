// SPDX-License-Identifier: Apache-2.0
import type { Distribution } from '../../net/metrics-text.js'
import type { HistoryEntryView, HistoryView } from './history-view.js'
import type { MatrixView } from './matrix-view.js'
import type { NodeDetail, StatusView, ZoneStatus } from './status-view.js'

/** What the own node may rely on: who is reachable. */
export interface LocalView {
  /** Grows with every change; never shared by two contents. */
  readonly generation: number
  /** Sorted by name; empty until the roster is known. */
  readonly nodes: readonly { readonly name: string; readonly isUp: boolean }[]
}

/** Numbers that only grow, since the start. */
export interface Counts {
  readonly probeRounds: { readonly up: number; readonly down: number; readonly void: number }
  readonly probeAttempts: number
  /** In seconds: how long the rounds took that found their node up. */
  readonly probeDuration: Distribution
  /** Changes of own probe verdicts, of the local view, and of verdicts of the zone. */
  readonly flips: { readonly probe: number; readonly local: number; readonly verdict: number }
  readonly exchange: {
    readonly sentBytes: number
    readonly receivedBytes: number
    readonly sent: number
    readonly failed: number
    readonly received: number
    /** By a short reason; all reasons, also those that never happened. */
    readonly refused: Readonly<Record<string, number>>
    /** Signatures of members that were checked, good or bad. */
    readonly proved: number
    /** Different statements of one member with the same number: its keys are on two machines, or it lies. */
    readonly equivocations: number
  }
  /** By what was written (`status`, `taints`, `lease`, `event`) and how it ended; every pair, also those that never happened. */
  readonly writes: readonly {
    readonly kind: string
    readonly result: 'done' | 'conflict' | 'refused' | 'unreachable' | 'withheld'
    readonly count: number
  }[]
  readonly watchLists: number
  readonly configProblems: number
  /** Times that the agent or its machine stood still and began anew. */
  readonly suspensions: number
  /** Connections that were closed to make room for others, by listener. */
  readonly connectionsEvicted: Readonly<Record<'peers' | 'local' | 'metrics', number>>
}

/** What HTTP shows. Functions return plain data that nobody changes afterwards; none of them waits. */
export interface Views {
  /** The same object until it changes. */
  localView(): LocalView
  /**
   * A program of this node depends on these nodes: probe them from here for a while.
   * @param isTrusted the program is root's or our own user's
   */
  setInterest(names: readonly string[], isTrusted: boolean): void
  status(): StatusView
  /** The zone without its nodes: cheap. */
  zone(): ZoneStatus
  /** One node with its voters; undefined when the roster does not have it. */
  node(name: string): NodeDetail | undefined
  /** Entries whose id is above `after`. @param after @default 0: all */
  history(after?: number): HistoryView
  /** Id of the newest entry; 0 before the first. */
  lastEntry(): number
  /** Calls back with each new entry. The returned function ends that. */
  subscribeHistory(onEntry: (entry: HistoryEntryView) => void): () => void
  /** Who says what about whom. */
  matrix(): MatrixView
  counts(): Counts
  /** Ready when the roster is known; `reason` says what is missing, or what makes it ready. */
  readiness(): { readonly isReady: boolean; readonly reason: string }
  /** Calls back after the local view or anything else changed. The returned function ends that. */
  subscribe(onChange: (what: 'local' | 'status') => void): () => void
  /** klog's verbosity, 0 to 10. */
  setVerbosity(verbosity: number): void
}
