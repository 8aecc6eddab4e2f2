// SPDX-License-Identifier: Apache-2.0
import type {
  NodeDetail,
  NodeStatus,
  StatusView,
  ZoneStatus,
} from '../../agent/http/status-view.js'
import type { HistoryEntryView, HistoryView } from '../../agent/http/history-view.js'
import type { MatrixView } from '../../agent/http/matrix-view.js'
import type { Counts, LocalView, Views } from '../../agent/http/views.js'

/** A zone in which nothing is wrong, seen from node-1. */
export const zoneFixture = (change: Partial<ZoneStatus> = {}): ZoneStatus => ({
  version: '0.1.0',
  at: '2026-01-01T10:00:00.000Z',
  uptimeSeconds: 4_000,
  zone: { name: 'shanghai', members: 5, rule: 'zone label', trouble: null },
  self: { name: 'node-1', address: '10.0.0.1' },
  peerListener: { address: '10.0.0.1', trouble: null },
  roster: { source: 'api', ageSeconds: 3, trouble: null },
  keys: { state: 'ok', trouble: null, set: '1a2b3c4d', sharedBy: 5 },
  identity: { mode: 'off', generation: null, members: 0, trouble: null },
  disk: { path: '/var/lib/edge-health', trouble: null },
  stages: [
    {
      name: 'get-node-list',
      state: 'ok',
      rounds: 7,
      lastAt: '2026-01-01T09:59:59.000Z',
      detail: '5 members',
    },
    {
      name: 'vote',
      state: 'ok',
      rounds: 9,
      lastAt: '2026-01-01T09:59:59.000Z',
      detail: '5 nodes, 0 down from here, 0 condemned',
    },
    {
      name: 'write',
      state: 'ok',
      rounds: 9,
      lastAt: '2026-01-01T09:59:59.000Z',
      detail: 'all is written',
    },
  ],
  cloudLink: { state: 'up', since: '2026-01-01T09:08:00.000Z' },
  confinement: { state: 'yes', reason: 'refused', at: '2026-01-01T09:09:00.000Z' },
  disruption: 'normal',
  brake: { isOn: false, unhealthy: 0, limit: 2 },
  selfSuspect: false,
  correlatedFailure: false,
  topology: { kind: 'mesh', observers: 4 },
  ...change,
})

/** A healthy node. */
export const nodeFixture = (
  number: number,
  change: Partial<NodeStatus> = {},
): NodeStatus & Pick<NodeDetail, 'identity' | 'keyFingerprint'> => ({
  name: `node-${number}`,
  address: `10.0.0.${number}`,
  isSelf: number === 1,
  verdict: 'healthy',
  pending: null,
  pendingSince: null,
  class: 'healthy',
  since: '2026-01-01T09:08:00.000Z',
  local: 'up',
  votes: { down: 0, up: 4, notLooked: 0, needed: 3 },
  guards: [],
  probe:
    number === 1
      ? null
      : {
          vote: 'up',
          score: 100,
          scoreLine: 100,
          failedRounds: 0,
          loss: 0.05,
          roundTripSeconds: 0.004,
          lastRoundSeconds: 4,
          reason: '',
          heldSeconds: 0,
        },
  recordAgeSeconds: number === 1 ? 0 : 2,
  isHeard: true,
  kubelet: 'well',
  kubeletReason: null,
  cloudCutSince: null,
  ...{ maintenance: null, maintenanceTrouble: null },
  peer:
    number === 1
      ? null
      : {
          state: 'ok',
          dialect: 'edge-health',
          lastHeardSeconds: 2,
          trouble: null,
          isSigned: false,
          keySet: '1a2b3c4d',
          isKeyRefused: false,
        },
  vouch: { state: 'idle', since: null, by: null, reason: 'its link to the apiserver is up' },
  lastWrite: null,
  nextWrite: null,
  ...{ keyFingerprint: null, identity: null },
  ...change,
})

/** A whole zone of five; `changes` by node number. */
export const statusFixture = (
  changes: Readonly<Record<number, Partial<NodeStatus>>> = {},
  zone: Partial<ZoneStatus> = {},
): StatusView => ({
  ...zoneFixture(zone),
  nodes: [1, 2, 3, 4, 5].map(number => nodeFixture(number, changes[number])),
})

const noCounts: Counts = {
  probeRounds: { up: 3, down: 1, void: 0 },
  probeAttempts: 9,
  probeDuration: { bounds: [0.001, 0.5], atMost: [1, 3], count: 3, sum: 0.042 },
  flips: { probe: 1, local: 1, verdict: 0 },
  exchange: {
    sentBytes: 100,
    receivedBytes: 200,
    sent: 2,
    failed: 0,
    received: 2,
    refused: { 'bad-signature': 1 },
    proved: 7,
    equivocations: 1,
  },
  writes: [{ kind: 'lease', result: 'done', count: 4 }],
  watchLists: 1,
  configProblems: 0,
  suspensions: 0,
  connectionsEvicted: { peers: 2, local: 0, metrics: 0 },
}

/** Views that a test moves by hand. */
export class FakeViews implements Views {
  view: StatusView = statusFixture()
  details: NodeDetail[] = []
  local: LocalView = { generation: 1, nodes: [] }
  ready = { isReady: false, reason: 'the roster is not known yet' }
  verbosity = -1
  interest: readonly string[] = []
  isInterestTrusted: boolean | undefined
  tallies: Counts = noCounts
  entries: HistoryEntryView[] = []
  votes: MatrixView = {
    ...{ at: '2026-01-01T10:00:00.000Z', members: 5, isPartial: false },
    ...{ targets: [], roundTripSeconds: [], voters: [] },
  }
  readonly historyListeners = new Set<(entry: HistoryEntryView) => void>()
  readonly listeners = new Set<(what: 'local' | 'status') => void>()

  localView(): LocalView {
    return this.local
  }
  status(): StatusView {
    return this.view
  }
  zone(): ZoneStatus {
    // JSON leaves out what is undefined.
    return Object.assign({}, this.view, { nodes: undefined })
  }
  node(name: string): NodeDetail | undefined {
    return this.details.find(node => node.name === name)
  }
  history(after = 0): HistoryView {
    const { at, self } = this.view
    return { at, self, capacity: 1_024, entries: this.entries.filter(({ id }) => id > after) }
  }
  subscribeHistory(onEntry: (entry: HistoryEntryView) => void): () => void {
    this.historyListeners.add(onEntry)
    return () => this.historyListeners.delete(onEntry)
  }
  lastEntry(): number {
    return this.entries.at(-1)?.id ?? 0
  }
  matrix(): MatrixView {
    return this.votes
  }
  /** One more entry. */
  happened(entry: HistoryEntryView): void {
    this.entries.push(entry)
    for (const listener of this.historyListeners) listener(entry)
  }
  counts(): Counts {
    return this.tallies
  }
  readiness(): { isReady: boolean; reason: string } {
    return this.ready
  }
  subscribe(onChange: (what: 'local' | 'status') => void): () => void {
    this.listeners.add(onChange)
    return () => this.listeners.delete(onChange)
  }
  setInterest(names: readonly string[], isTrusted: boolean): void {
    this.interest = names
    this.isInterestTrusted = isTrusted
  }
  setVerbosity(verbosity: number): void {
    this.verbosity = verbosity
  }

  /** Change the local view: `{ a: true }` adds or sets, `null` takes away. */
  /** @param heard 'unheard': nobody is told, as when a roster changes between two votes. */
  setLocal(change: Readonly<Record<string, boolean | null>>, heard = 'heard'): void {
    const nodes = new Map(this.local.nodes.map(({ name, isUp }) => [name, isUp]))
    for (const [name, isUp] of Object.entries(change)) {
      if (isUp === null) nodes.delete(name)
      else nodes.set(name, isUp)
    }
    this.local = {
      generation: this.local.generation + 1,
      nodes: [...nodes].sort().map(([name, isUp]) => ({ name, isUp })),
    }
    if (heard === 'heard') for (const listener of this.listeners) listener('local')
  }
  changed(): void {
    for (const listener of this.listeners) listener('status')
  }
}
