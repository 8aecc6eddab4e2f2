// SPDX-License-Identifier: Apache-2.0
import { allOf } from '../../core/all-of.js'
import { ageText, type Colour } from '../../core/text.js'
import type { NodeClassName, NodeStatus } from '../http/status-view.js'
import { classColour, classWord, looksDead } from './headline.js'

type Judged = Pick<NodeStatus, 'verdict' | 'pending' | 'class'>

/** Most peers cannot reach it, and a guard still keeps that from being final. */
export const isPending = (node: Judged): boolean => looksDead(node) && node.verdict !== 'unhealthy'

type Standing = 'pending dead' | (typeof classWord)[NodeClassName]

/** How a node stands, in one or two words. */
export const standingOf = (node: Judged): Standing =>
  isPending(node) ? 'pending dead' : classWord[node.class]

export const standingColour = (node: Judged): Colour =>
  looksDead(node) ? 'red' : classColour[node.class]

/** Worst first. */
const ORDER = allOf<Standing>({
  ...{ dead: true, 'pending dead': true, 'kubelet sick': true, undecided: true },
  ...{ 'zone cut': true, cut: true, healthy: true },
})

/** The zone in one line: `2 dead · 1 cut · 47 healthy`. */
export const zoneHeadline = (nodes: readonly Judged[], members = nodes.length): string => {
  if (nodes.length === 0) return members === 0 ? 'no nodes' : 'nothing is judged yet'
  const counts = new Map<Standing, number>()
  for (const node of nodes) {
    const word = standingOf(node)
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  return ORDER.filter(word => counts.has(word))
    .map(word => `${counts.get(word)!} ${word}`)
    .join(' · ')
}

/** The colour of the worst node. */
export const zoneColour = (nodes: readonly Judged[]): Colour => {
  const colours = new Set(nodes.map(standingColour))
  if (colours.has('red')) return 'red'
  return colours.has('yellow') ? 'yellow' : 'green'
}

/** That the agent of a node that does not look dead is silent; undefined while it is heard. */
export const silenceText = (node: NodeStatus): string | undefined => {
  if (node.isHeard || looksDead(node)) return undefined
  if (node.recordAgeSeconds === null) return 'agent never heard'
  return `agent not heard for ${ageText(node.recordAgeSeconds)}`
}

/** Healthy, and yet there is something to tell: it is not reached or heard, somebody says down, or it is on its way. */
export const isDoubtful = (node: NodeStatus): boolean =>
  node.local === 'down' ||
  node.votes.down > 0 ||
  node.pending !== null ||
  node.kubelet === 'bad' ||
  silenceText(node) !== undefined ||
  (node.probe !== null && node.probe.vote !== 'up')

const rankOf = (node: NodeStatus): number => {
  const rank = ORDER.indexOf(standingOf(node))
  return rank === ORDER.length - 1 && !isDoubtful(node) ? ORDER.length : rank
}

/** The worst first; of those who stand alike the one that turned last, and of those by name. */
export const worstFirst = <N extends NodeStatus>(nodes: readonly N[]): readonly N[] => {
  const turnedAt = ({ since }: N): number => (since === null ? 0 : Date.parse(since))
  const isWell = (node: N): boolean => rankOf(node) === ORDER.length
  const byName = (a: N, b: N): number => (a.name < b.name ? -1 : 1)
  return [...nodes].sort((a, b) => {
    const worse = rankOf(a) - rankOf(b)
    if (worse !== 0) return worse
    return isWell(a) ? byName(a, b) : turnedAt(b) - turnedAt(a) || byName(a, b)
  })
}
