// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { StageStatus } from '../../core/stage.js'
import { brakeLimit } from '../../vote/verdicts.js'
import { makeJudgement } from '../../vote/judgement.js'
import type { AgentCounters } from '../counters.js'
import { showKeySet } from '../key-ring.js'
import type { EngineStatus } from '../stages/exchange/status.js'
import type { Detector } from '../detector.js'
import type { PeerListenerStatus } from '../http/peer-listener.js'
import type { StatusView, ZoneStatus } from '../http/status-view.js'
import type { Counts, Views } from '../http/views.js'
import type { KeyKeeper } from '../stages/node-list/keys.js'
import type { AgentOptions } from '../options/agent-options.js'
import type { ResultStore } from '../store.js'
import type { Writer } from '../stages/write/writer.js'
import { makeLocalView } from './local-view.js'
import { nodeDetailOf, nodeStatusOf, type NodeScene } from './node-status.js'
import { timesOf } from './times.js'

/** What the views look at; they change nothing. */
export interface ViewSeams extends Pick<Views, 'subscribe' | 'setVerbosity'> {
  readonly clock: Clock
  readonly store: ResultStore
  readonly counters: AgentCounters
  readonly keys: Pick<KeyKeeper, 'ring' | 'problem'>
  readonly writer: Pick<Writer, 'nextWrite' | 'taintBackoff' | 'heldUntil' | 'confinement'>
  readonly detector: () => Detector | undefined
  /** What the own kubelet last answered, in words; empty when it is well. */
  readonly ownKubelet: () => string
  /** get-node-list and vote. */
  readonly stages: () => readonly [StageStatus, StageStatus]
  readonly watchLists: () => number
  readonly version: string
}

type Parts = Readonly<{ o: AgentOptions; seams: ViewSeams; startedAt: number }>

const checkStage = ({ seams }: Parts): StageStatus => {
  const detector = seams.detector()
  const { rounds } = seams.counters
  const stage = { name: 'check', rounds, lastAt: null } as const
  if (detector === undefined)
    return { ...stage, state: 'waiting', detail: 'waiting for zone and keys' }
  const { trouble } = detector.checker
  if (trouble !== undefined) return { ...stage, state: 'failing', detail: trouble }
  return { ...stage, state: 'ok', detail: `${rounds} rounds` }
}

const communStage = ({ seams }: Parts): StageStatus => {
  const engine = seams.detector()?.engine.status()
  if (engine === undefined)
    return {
      name: 'commun',
      state: 'waiting',
      rounds: 0,
      lastAt: null,
      detail: 'waiting for zone and keys',
    }
  const silent = engine.peers.filter(peer => peer.trouble !== null)
  const detail = `${engine.peers.length - silent.length} of ${engine.peers.length} peers take our messages`
  const isAlone = engine.peers.length > 0 && silent.length === engine.peers.length
  return {
    name: 'commun',
    state: isAlone ? 'failing' : 'ok',
    rounds: engine.messagesSent,
    lastAt: null,
    detail,
  }
}

/** What is shown before there was a first vote. */
const UNJUDGED = makeJudgement(0)

const rosterOf = ({ seams }: Parts, wall: number): ZoneStatus['roster'] => {
  const { source, listedAt, problems } = seams.store.nodeList.current
  const trouble = problems.map(({ problem }) => problem).join('; ')
  const ageSeconds = source === 'none' ? null : (wall - listedAt) / 1_000
  return { source, ageSeconds, trouble: trouble === '' ? null : trouble }
}

const keysOf = ({ seams: { keys, detector } }: Parts): ZoneStatus['keys'] => {
  const kept = keys.ring?.keys.length ?? 0
  const state = kept === 0 ? 'missing' : kept > 1 ? 'rotating' : 'ok'
  const set = keys.ring === undefined ? null : showKeySet(keys.ring.setHash)
  const peers = detector()?.engine.status().peers ?? []
  const sharing = peers.filter(({ keySetHash }) => keySetHash === set).length
  const trouble = keys.problem?.problem ?? null
  return { state, trouble, set, sharedBy: set === null ? 0 : sharing + 1 }
}

const judgedOf = (
  { o, seams }: Parts,
  size: number,
): Pick<ZoneStatus, 'disruption' | 'brake' | 'selfSuspect' | 'correlatedFailure'> => {
  const { disruption, brake, dead, selfSuspect, correlatedFailure } =
    seams.store.zone.current?.judgement ?? UNJUDGED
  return {
    disruption,
    brake: { isOn: brake, unhealthy: dead, limit: brakeLimit(size, o) },
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
const peerListenerOf = ({ o, seams }: Parts): PeerListenerStatus => {
  const { peerListener, nodeList } = seams.store
  const address = nodeList.current.nodes.get(o.nodeName)?.internalIPs[0]
  const isElsewhere =
    o.nodeAddress !== undefined && address !== undefined && address !== o.nodeAddress
  const trouble = `--node-address is ${o.nodeAddress}, but the Node's first InternalIP is ${address}`
  return isElsewhere ? { ...peerListener.current, trouble } : peerListener.current
}

const zoneOf = (parts: Parts): ZoneStatus => {
  const { o, seams, startedAt } = parts
  const { roster, rule } = seams.store.nodeList.current
  const { state, since } = seams.store.cloudLink.current
  const times = timesOf(seams.clock)
  const { confinement } = seams.writer
  const [nodeList, vote] = seams.stages()
  const members = roster?.members ?? []
  const address = members.find(({ name }) => name === o.nodeName)?.address ?? ''
  return {
    version: seams.version,
    at: new Date(times.wall).toISOString(),
    uptimeSeconds: (times.now - startedAt) / 1_000,
    zone: { name: roster?.zone ?? '', members: members.length, rule },
    self: { name: o.nodeName, address },
    peerListener: peerListenerOf(parts),
    roster: rosterOf(parts, times.wall),
    keys: keysOf(parts),
    stages: [nodeList, checkStage(parts), communStage(parts), vote],
    cloudLink: { state, since: times.iso(since) },
    confinement: { ...confinement, at: times.iso(confinement.at) },
    ...judgedOf(parts, members.length),
    topology: topologyOf(parts),
  }
}

const sceneOf = ({ o, seams }: Parts): NodeScene | undefined => {
  const { store, writer } = seams
  const detector = seams.detector()
  const state = store.zone.current
  if (detector === undefined || state === undefined) return undefined
  const { checker } = detector
  return {
    o,
    state,
    store,
    checker,
    writer,
    engine: detector.engine.status(),
    times: timesOf(seams.clock),
    ownKubelet: seams.ownKubelet(),
  }
}

const statusOf = (parts: Parts): StatusView => {
  const scene = sceneOf(parts)
  const nodes = scene?.state.roster.members.map((_, index) => nodeStatusOf(scene, index)) ?? []
  return { ...zoneOf(parts), nodes: nodes.sort((a, b) => (a.name < b.name ? -1 : 1)) }
}

const exchangeOf = (engine: EngineStatus): Counts['exchange'] => ({
  sentBytes: engine.bytesSent,
  receivedBytes: engine.bytesReceived,
  sent: engine.messagesSent,
  failed: engine.peers.reduce((sum, peer) => sum + peer.failures, 0),
  received: engine.messagesReceived,
  refused: engine.refusals,
})

const NO_EXCHANGE: Counts['exchange'] = {
  sentBytes: 0,
  receivedBytes: 0,
  sent: 0,
  failed: 0,
  received: 0,
  refused: {},
}

const countsOf = ({ seams }: Parts): Counts => {
  const detector = seams.detector()
  const members = seams.store.zone.current?.roster.members ?? []
  const voids = members.map(({ name }) => detector?.checker.stateOf(name)?.voidRounds ?? 0)
  return {
    ...seams.counters.show(voids.reduce((sum, count) => sum + count, 0)),
    exchange: detector === undefined ? NO_EXCHANGE : exchangeOf(detector.engine.status()),
    watchLists: seams.watchLists(),
  }
}

const readinessOf = (parts: Parts): ReturnType<Views['readiness']> => {
  const { seams } = parts
  const { roster, source, problems } = seams.store.nodeList.current
  if (roster === undefined) {
    const trouble = problems[0]?.problem ?? seams.stages()[0].detail
    return { isReady: false, reason: `the zone is not known yet: ${trouble}` }
  }
  if (seams.keys.ring === undefined) {
    const trouble = seams.keys.problem?.problem ?? 'not read yet'
    return { isReady: false, reason: `no usable key: ${trouble}` }
  }
  const trouble = seams.detector()?.checker.trouble
  if (trouble !== undefined) return { isReady: false, reason: trouble }
  const unreached = peerListenerOf(parts).trouble
  if (unreached !== null)
    return { isReady: false, reason: `peers cannot reach this agent: ${unreached}` }
  return { isReady: true, reason: `${roster.members.length} nodes, from ${source}` }
}

/** Everything that HTTP shows of one agent. */
export const makeViews = (o: AgentOptions, seams: ViewSeams): Views => {
  const parts: Parts = { o, seams, startedAt: seams.clock.now() }
  return {
    localView: makeLocalView(seams.store),
    setInterest: names => seams.detector()?.setInterest(names),
    status: () => statusOf(parts),
    zone: () => zoneOf(parts),
    node: name => {
      const scene = sceneOf(parts)
      const index = scene?.state.roster.indexOf(name)
      return scene === undefined || index === undefined ? undefined : nodeDetailOf(scene, index)
    },
    counts: () => countsOf(parts),
    readiness: () => readinessOf(parts),
    subscribe: onChange => seams.subscribe(onChange),
    setVerbosity: verbosity => seams.setVerbosity(verbosity),
  }
}
