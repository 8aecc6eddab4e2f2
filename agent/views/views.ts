// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { listed } from '../../core/text.js'
import { brakeLimit } from '../../vote/verdicts.js'
import { makeJudgement } from '../../vote/judgement.js'
import type { History } from '../history/history.js'
import { CAPACITY } from '../history/ring.js'
import { showKeySet } from '../key-ring.js'
import type { EngineStatus } from '../stages/exchange/status.js'
import type { HistoryView } from '../http/history-view.js'
import type { MatrixView } from '../http/matrix-view.js'
import type { StatusView, ZoneStatus } from '../http/status-view.js'
import type { Views } from '../http/views.js'
import type { AgentOptions } from '../options/agent-options.js'
import type { PeerListenerStatus } from '../results.js'
import type { StateFolder } from '../state-folder.js'
import type { ResultStore } from '../store.js'
import type { CheckStage } from '../stages/check/stage.js'
import type { ExchangeStage } from '../stages/exchange/stage.js'
import type { NodeListStage } from '../stages/node-list/stage.js'
import type { VoteStage } from '../stages/vote/stage.js'
import type { WriteStage } from '../stages/write/stage.js'
import { countsOf, type CountSeams } from './counts.js'
import { makeLocalView } from './local-view.js'
import { matrixOf } from './matrix.js'
import type { NodeScene } from './node-scene.js'
import { nodeDetailOf, nodeStatusOf } from './node-status.js'
import { historyEntryView } from './history-view.js'
import { timesOf } from './times.js'

/** What the views look at; they change nothing. */
export interface ViewSeams extends Pick<Views, 'setVerbosity'>, CountSeams {
  readonly clock: Clock
  readonly folder: Pick<StateFolder, 'path' | 'troubles'>
  readonly history: Pick<History, 'entries' | 'lastId' | 'added'>
  readonly nodeList: Pick<NodeListStage, 'status' | 'lists'>
  readonly check: CheckStage
  readonly exchange: Pick<ExchangeStage, 'status' | 'report'>
  readonly vote: Pick<VoteStage, 'status'>
  readonly write: WriteStage
  readonly version: string
}

type Parts = Readonly<{ options: AgentOptions; seams: ViewSeams; startedAt: number }>

/** What is shown before there was a first vote. */
const UNJUDGED = makeJudgement(0)

const rosterOf = ({ seams }: Parts, wall: number): ZoneStatus['roster'] => {
  const { source, listedAt, problems } = seams.store.nodeList.current
  const trouble = problems.map(({ problem }) => problem).join('; ')
  const ageSeconds = source === 'none' ? null : (wall - listedAt) / 1_000
  return { source, ageSeconds, trouble: trouble === '' ? null : trouble }
}

const keysOf = ({ seams: { store } }: Parts, report?: EngineStatus): ZoneStatus['keys'] => {
  const keys = store.keys.current
  const kept = keys.ring?.keys.length ?? 0
  const state = kept === 0 ? 'missing' : kept > 1 ? 'rotating' : 'ok'
  const set = keys.ring === undefined ? null : showKeySet(keys.ring.setHash)
  const trouble = keys.problem?.problem ?? null
  return { state, trouble, set, sharedBy: set === null ? 0 : (report?.sharingKeys ?? 0) + 1 }
}

const diskOf = ({ seams }: Parts): ZoneStatus['disk'] => {
  const { path, troubles } = seams.folder
  const [reason] = troubles.values()
  const trouble = reason === undefined ? null : `${listed([...troubles.keys()])}: ${reason}`
  return { path, trouble }
}

const identityOf = ({ options, seams }: Parts, report?: EngineStatus): ZoneStatus['identity'] => ({
  mode: options.identity,
  generation: seams.store.identities.current.own?.generation ?? null,
  members: report?.identity.members ?? 0,
  trouble: seams.store.identities.current.trouble ?? null,
})

const judgedOf = (
  { options, seams }: Parts,
  size: number,
): Pick<ZoneStatus, 'disruption' | 'brake' | 'selfSuspect' | 'correlatedFailure'> => {
  const { disruption, brake, dead, selfSuspect, correlatedFailure } =
    seams.store.zone.current?.judgement ?? UNJUDGED
  return {
    disruption,
    brake: { isOn: brake, unhealthy: dead, limit: brakeLimit(size, options) },
    selfSuspect,
    correlatedFailure,
  }
}

/** How the zone is watched: how many watch this node. */
const topologyOf = ({ seams }: Parts): ZoneStatus['topology'] => {
  const table = seams.store.zone.current?.table
  if (table === undefined) return { kind: 'mesh', observers: 0 }
  const { topology, self } = table
  const kind = topology.kind === 'mesh' ? 'mesh' : 'rings'
  return { kind, observers: topology.observersOf(self).length }
}

/** Peers look for this agent at the first InternalIP of its Node, whatever its own option says. */
const peerListenerOf = ({ options, seams }: Parts): PeerListenerStatus => {
  const { peerListener, nodeList } = seams.store
  const address = nodeList.current.ownNode()?.internalIPs[0]
  const isElsewhere =
    options.nodeAddress !== undefined && address !== undefined && address !== options.nodeAddress
  const trouble = `--node-address is ${options.nodeAddress}, but the Node's first InternalIP is ${address}`
  return isElsewhere ? { ...peerListener.current, trouble } : peerListener.current
}

const selfOf = (
  { nodeName }: AgentOptions,
  members: readonly { readonly name: string; readonly address: string }[],
): ZoneStatus['self'] => ({
  name: nodeName,
  address: members.find(({ name }) => name === nodeName)?.address ?? '',
})

const zoneOf = (parts: Parts): ZoneStatus => {
  const { options, seams, startedAt } = parts
  const { roster, rule } = seams.store.nodeList.current
  const { state, since } = seams.store.ownNode.current.cloudLink
  const times = timesOf(seams.clock)
  const { nodeList, check, exchange, vote, write } = seams
  const members = roster?.members ?? []
  const { report } = exchange
  return {
    version: seams.version,
    at: new Date(times.wall).toISOString(),
    uptimeSeconds: (times.now - startedAt) / 1_000,
    zone: {
      name: roster?.zone ?? '',
      members: members.length,
      rule,
      trouble: write.zoneTrap ?? null,
    },
    self: selfOf(options, members),
    peerListener: peerListenerOf(parts),
    roster: rosterOf(parts, times.wall),
    keys: keysOf(parts, report),
    identity: identityOf(parts, report),
    disk: diskOf(parts),
    stages: [nodeList, check, exchange, vote, write].map(({ status }) => status),
    cloudLink: { state, since: times.iso(since) },
    confinement: { ...write.confinement, at: times.iso(write.confinement.at) },
    ...judgedOf(parts, members.length),
    topology: topologyOf(parts),
  }
}

const sceneOf = ({ options, seams }: Parts): NodeScene | undefined => {
  const { store, check, exchange, write: writer } = seams
  const state = store.zone.current
  const engine = exchange.report
  if (engine === undefined || state === undefined) return undefined
  const peers = new Map(engine.peers.map(peer => [peer.name, peer]))
  return { options, state, store, check, writer, peers, times: timesOf(seams.clock) }
}

const statusOf = (parts: Parts): StatusView => {
  const scene = sceneOf(parts)
  const nodes = scene?.state.roster.members.map((_, index) => nodeStatusOf(scene, index)) ?? []
  return { ...zoneOf(parts), nodes: nodes.sort((a, b) => (a.name < b.name ? -1 : 1)) }
}

const readinessOf = (parts: Parts): ReturnType<Views['readiness']> => {
  const { seams } = parts
  const { roster, source, problems } = seams.store.nodeList.current
  if (roster === undefined) {
    const trouble = problems[0]?.problem ?? seams.nodeList.status.detail
    return { isReady: false, reason: `the zone is not known yet: ${trouble}` }
  }
  const keys = seams.store.keys.current
  if (keys.ring === undefined) {
    const trouble = keys.problem?.problem ?? 'not read yet'
    return { isReady: false, reason: `no usable key: ${trouble}` }
  }
  const { trouble } = seams.check
  if (trouble !== undefined) return { isReady: false, reason: trouble }
  const unreached = peerListenerOf(parts).trouble
  if (unreached !== null)
    return { isReady: false, reason: `peers cannot reach this agent: ${unreached}` }
  return { isReady: true, reason: `${roster.members.length} nodes, from ${source}` }
}

/** Calls back after the local view, or anything else that is shown, changed. The returned function ends that. */
const subscribe = (store: ResultStore, onChange: (what: 'local' | 'status') => void) => {
  const ends = [
    store.records.subscribe(() => onChange('local')),
    store.vote.subscribe(({ changes, vouchMoved }) => {
      if (changes.local.length > 0) onChange('local')
      else if (changes.state || vouchMoved || changes.verdict.length > 0) onChange('status')
    }),
    store.writes.subscribe(() => onChange('status')),
    store.peerListener.subscribe(() => onChange('status')),
  ]
  return () => {
    for (const end of ends) end()
  }
}

const NO_VOTES = { members: 0, isPartial: false, targets: [], roundTripSeconds: [], voters: [] }

const votesOf = ({ options, seams }: Parts): MatrixView => {
  const { clock, store, check } = seams
  const state = store.zone.current
  const now = clock.now()
  const wall = clock.wall()
  if (state === undefined) return { at: new Date(wall).toISOString(), ...NO_VOTES }
  return matrixOf(state, { now, wall, options }, name => check.stateOf(name)?.roundTripMs)
}

const historyOf = ({ options, seams }: Parts, after: number): HistoryView => {
  const times = timesOf(seams.clock)
  const members = seams.store.nodeList.current.roster?.members ?? []
  return {
    at: new Date(times.wall).toISOString(),
    self: selfOf(options, members),
    capacity: CAPACITY,
    entries: seams.history.entries
      .filter(({ id }) => id > after)
      .map(entry => historyEntryView(entry, times)),
  }
}

/** Everything that HTTP shows of one agent. */
export const makeViews = (options: AgentOptions, seams: ViewSeams): Views => {
  const parts: Parts = { options, seams, startedAt: seams.clock.now() }
  return {
    localView: makeLocalView(seams.store),
    setInterest: (names, isTrusted) => seams.check.setInterest(names, isTrusted),
    status: () => statusOf(parts),
    zone: () => zoneOf(parts),
    node: name => {
      const scene = sceneOf(parts)
      const index = scene?.state.roster.indexOf(name)
      return scene === undefined || index === undefined ? undefined : nodeDetailOf(scene, index)
    },
    lastEntry: () => seams.history.lastId,
    matrix: () => votesOf(parts),
    history: (after = 0) => historyOf(parts, after),
    subscribeHistory: onEntry =>
      seams.history.added.subscribe(entry =>
        onEntry(historyEntryView(entry, timesOf(seams.clock))),
      ),
    counts: () => countsOf(seams),
    readiness: () => readinessOf(parts),
    subscribe: onChange => subscribe(seams.store, onChange),
    setVerbosity: verbosity => seams.setVerbosity(verbosity),
  }
}
