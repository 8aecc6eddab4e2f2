// SPDX-License-Identifier: Apache-2.0
import { PEER_HEALTH, UNHEALTHY_ANNOTATION } from '../../core/marks.js'
import type { AgentNode, AgentStatus, LocalInfo } from '../agent-view.js'
import type { SitesView } from './sites.js'
import { conditionsOf, type NodeObject, readyOf, taintsOf } from '../node-object.js'

/** One node as observed at one moment. */
export interface NodeSnapshot {
  readonly name: string
  /** Last action on its processes. */
  readonly state: 'running' | 'killed' | 'frozen'
  /** Its link to the API is cut. */
  readonly isCut: boolean
  /** The Node object. */
  readonly object: NodeObject | undefined
  /** Its agent's answers; undefined without one. */
  readonly localinfo: LocalInfo | undefined
  readonly status: AgentStatus | undefined
}

/** The zone at one moment, from outside. */
export interface ZoneSnapshot {
  readonly nodes: readonly NodeSnapshot[]
  /** Undefined while no controller of grids runs. */
  readonly sites?: SitesView | undefined
}

export const nodeOf = (snapshot: ZoneSnapshot, name: string): NodeSnapshot | undefined =>
  snapshot.nodes.find(node => node.name === name)

/** Nodes whose agents run. */
export const liveNodes = (snapshot: ZoneSnapshot): readonly NodeSnapshot[] =>
  snapshot.nodes.filter(node => node.state === 'running')

/**
 * All running agents but the node's own call it up (or down) in /localinfo; an agent that does not answer counts
 * as neither.
 */
export const othersSay = (snapshot: ZoneSnapshot, name: string, isUp: boolean): boolean => {
  const others = liveNodes(snapshot).filter(node => node.name !== name)
  return others.length > 0 && others.every(node => node.localinfo?.get(name) === isUp)
}

/** Every agent answers and calls every node up. */
export const allSayUp = (snapshot: ZoneSnapshot): boolean =>
  snapshot.nodes.every(node =>
    snapshot.nodes.every(({ name }) => node.localinfo?.get(name) === true),
  )

/** Every agent that runs knows with which keys every node signs. */
export const allKnowAll = (snapshot: ZoneSnapshot): boolean =>
  liveNodes(snapshot).every(({ status }) => status?.identity.members === snapshot.nodes.length)

export const isAnnotated = (snapshot: ZoneSnapshot, name: string): boolean =>
  nodeOf(snapshot, name)?.object?.metadata.annotations?.[UNHEALTHY_ANNOTATION] === 'yes'

export const isReady = (
  snapshot: ZoneSnapshot,
  name: string,
  status: 'True' | 'Unknown',
): boolean => {
  const object = nodeOf(snapshot, name)?.object
  return object !== undefined && readyOf(object)?.status === status
}

/** The effects of a taint key that the Node carries. */
export const effectsOf = (snapshot: ZoneSnapshot, name: string, key: string): readonly string[] => {
  const object = nodeOf(snapshot, name)?.object
  if (object === undefined) return []
  return taintsOf(object)
    .filter(taint => taint.key === key)
    .map(taint => taint.effect)
}

/** Ready, and without taints or annotations of ours or of the controller. */
export const isClean = (snapshot: ZoneSnapshot, name: string): boolean => {
  const object = nodeOf(snapshot, name)?.object
  if (object === undefined || !isReady(snapshot, name, 'True')) return false
  return taintsOf(object).length === 0 && !isAnnotated(snapshot, name)
}

/** Reason of the condition PeerHealth. */
export const peerHealthReason = (snapshot: ZoneSnapshot, name: string): string => {
  const object = nodeOf(snapshot, name)?.object
  const conditions = object === undefined ? [] : conditionsOf(object)
  return conditions.find(condition => condition.type === PEER_HEALTH)?.reason ?? ''
}

/** What an agent's /status says of a node, preferably another node's agent. */
export const statusOf = (snapshot: ZoneSnapshot, name: string): AgentNode | undefined => {
  const live = liveNodes(snapshot)
  const asked = [...live.filter(node => node.name !== name), ...live]
  for (const { status } of asked) {
    const found = status?.nodes.find(node => node.name === name)
    if (found !== undefined) return found
  }
  return undefined
}
