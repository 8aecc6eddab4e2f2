// SPDX-License-Identifier: Apache-2.0
import type { SitesView } from './sites.js'
import {
  isAnnotated,
  liveNodes,
  nodeOf,
  statusOf,
  type NodeSnapshot,
  type ZoneSnapshot,
} from './snapshot.js'

const taintWords = (node: NodeSnapshot | undefined): string =>
  node?.object?.spec?.taints?.map(taint => `${taint.key}:${taint.effect}`).join(' ') ?? ''

const describeNode = (snapshot: ZoneSnapshot, name: string): string => {
  const node = nodeOf(snapshot, name)
  const says = (isUp: boolean): number =>
    liveNodes(snapshot).filter(other => other.localinfo?.get(name) === isUp).length
  const opinion = statusOf(snapshot, name)
  const verdict = opinion === undefined ? 'unknown' : `${opinion.verdict}, ${opinion.class}`
  const guards = opinion?.guards.map(guard => guard.kind).join(' ') ?? ''
  return (
    `${name} (${node?.state ?? 'unknown'}): up in ${says(true)} and down in ${says(false)} of ` +
    `${liveNodes(snapshot).length} /localinfo; verdict ${verdict}; guards [${guards}]; ` +
    `taints [${taintWords(node)}]; annotated ${isAnnotated(snapshot, name) ? 'yes' : 'no'}`
  )
}

const describeSites = ({ deployments, topologyKeys, isHeld, sent }: SitesView): string =>
  `grids: ${deployments.map(({ name, site }) => `${name} (site=${site})`).join(', ') || 'no Deployment'}; ` +
  `topologyKeys ${topologyKeys || 'none'}; ${isHeld ? 'held' : 'not held'}; ` +
  `kube-proxy is sent ${sent === undefined ? 'nothing' : `[${sent.join(' ')}]`}`

/** What was seen of these nodes and of grids, a line for each, for a person who wants to know why a claim broke. */
export const describe = (snapshot: ZoneSnapshot, names: readonly string[]): readonly string[] => [
  ...names.map(name => describeNode(snapshot, name)),
  ...(snapshot.sites === undefined ? [] : [describeSites(snapshot.sites)]),
]
