// SPDX-License-Identifier: Apache-2.0
import { ageText, secondsSince, type Colour } from '../../core/text.js'
import type { NodeStatus, StatusView } from '../http/status-view.js'
import { headline } from './headline.js'
import { isDoubtful, standingColour, standingOf, worstFirst, zoneColour, zoneHeadline } from './standing.js' // prettier-ignore
import { brakeText, notesOf, troubles } from './status-text.js'

/** One sentence about the zone or this agent. */
export interface Fact {
  readonly text: string
  readonly colour: Colour
}

/** One node with something to tell. */
export interface BoardRow {
  readonly name: string
  readonly standing: string
  readonly colour: Colour
  /** Since when it stands so; null since the agent's start. */
  readonly since: string | null
  /** How long that is: `3 min`. */
  readonly age: string
  readonly reason: string
}

/** What the page shows. */
export interface Board {
  readonly at: string
  readonly self: string
  readonly zone: string
  readonly version: string
  /** `2 dead · 1 cut · 47 healthy`. */
  readonly headline: string
  /** That of the worst node, for the icon. */
  readonly colour: Colour
  readonly facts: readonly Fact[]
  /** Worst first. */
  readonly rows: readonly BoardRow[]
  /** Names of nodes about which there is nothing to tell. */
  readonly healthy: readonly string[]
  /** Id of the newest entry of the history. */
  readonly lastEntry: number
}

const linkFact = ({ cloudLink, at }: StatusView): Fact => {
  const since = secondsSince(cloudLink.since, at)
  const age = since === null ? '' : ` for ${ageText(since)}`
  switch (cloudLink.state) {
    case 'up':
      return { text: `cloud link up${age}`, colour: 'green' }
    case 'cut':
      return { text: `cloud link cut${age}: this agent writes nothing`, colour: 'yellow' }
    case 'unknown':
      return { text: 'cloud link not known yet', colour: 'yellow' }
  }
}

const brakeFact = (view: StatusView): Fact => {
  const text = brakeText(view)
  return text === undefined ? { text: 'brake off', colour: 'green' } : { text, colour: 'red' }
}

/** Who writes next, and what: each node has a writer of its own. */
const writerFact = ({ nodes }: StatusView): Fact => {
  const due = nodes.flatMap(({ name, nextWrite }) => (nextWrite === null ? [] : [{ name, nextWrite }])) // prettier-ignore
  const [first] = due
  if (first === undefined) return { text: 'nothing to write', colour: 'green' }
  const { what, by, inSeconds } = first.nextWrite
  const when = inSeconds === null ? 'once no guard holds' : `in ${ageText(inSeconds)}`
  const more = due.length === 1 ? '' : `, and about ${due.length - 1} more`
  return { text: `${by} writes about ${first.name} ${when}: ${what}${more}`, colour: 'yellow' }
}

/** What there is to tell of a node, in words; empty for a healthy one without trouble. */
const reasonOf = (node: NodeStatus, view: StatusView): string => {
  const isWell = standingOf(node) === 'healthy'
  const { down } = node.votes
  const doubts = [
    ...(node.local === 'down' ? ['not reached from this node'] : []),
    ...(down > 0 ? [`${down} of ${view.zone.members} say down`] : []),
  ]
  return [...(isWell ? doubts : [headline(node, view)]), ...notesOf(node, view.at)].join('; ')
}

const rowOf = (node: NodeStatus, view: StatusView): BoardRow => ({
  name: node.name,
  standing: standingOf(node),
  colour: standingOf(node) === 'healthy' ? 'yellow' : standingColour(node),
  since: node.since,
  age: ageText(secondsSince(node.since, view.at)),
  reason: reasonOf(node, view),
})

/** The zone as the page shows it. */
export const boardOf = (view: StatusView, lastEntry: number): Board => {
  const nodes = worstFirst(view.nodes)
  const isShown = (node: NodeStatus): boolean => standingOf(node) !== 'healthy' || isDoubtful(node)
  return {
    ...{ at: view.at, self: view.self.name, zone: view.zone.name, version: view.version },
    headline: zoneHeadline(nodes, view.zone.members),
    colour: view.brake.isOn ? 'red' : zoneColour(nodes),
    facts: [
      ...[brakeFact(view), linkFact(view), writerFact(view)],
      ...troubles(view).map((text): Fact => ({ text, colour: 'yellow' })),
    ],
    rows: nodes.filter(isShown).map(node => rowOf(node, view)),
    healthy: nodes.filter(node => !isShown(node)).map(({ name }) => name),
    lastEntry,
  }
}
