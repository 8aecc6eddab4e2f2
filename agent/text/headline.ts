// SPDX-License-Identifier: Apache-2.0
import type { Maintenance } from '../../core/maintenance.js'
import type { GuardView, NodeClassName, NodeStatus, ZoneStatus } from '../http/status-view.js'
import { ageText, secondsSince, type Colour } from '../../core/text.js'

/** Red is dead, yellow is alive but troubled. */
export const classColour: Readonly<Record<NodeClassName, Colour>> = {
  healthy: 'green',
  dead: 'red',
  'kubelet-sick': 'red',
  'cloud-link-cut': 'yellow',
  'zone-link-cut': 'yellow',
  undecided: 'yellow',
}

/** In a few letters, for counts and lists. */
export const classWord = {
  healthy: 'healthy',
  dead: 'dead',
  'kubelet-sick': 'kubelet sick',
  'cloud-link-cut': 'cut',
  'zone-link-cut': 'zone cut',
  undecided: 'undecided',
} as const satisfies Readonly<Record<NodeClassName, string>>

const count = (node: NodeStatus): string =>
  `${node.votes.down} down, ${node.votes.up} up, ${node.votes.needed} needed`

/** Final or not, most peers cannot reach it. */
export const looksDead = (node: Pick<NodeStatus, 'verdict' | 'pending'>): boolean =>
  node.verdict === 'unhealthy' || node.pending === 'unhealthy'

/** A hold is known by its option. */
const namesOf = (guards: readonly GuardView[]): string =>
  guards.map(({ kind }) => (kind === 'hold' ? '--write-hold' : kind)).join(', ')

const pendingHeadline = (node: NodeStatus, { brake, zone }: ZoneStatus): string => {
  const votes = `looks dead (${count(node)}), but`
  if (node.guards.some(({ kind }) => kind === 'brake'))
    return `${votes} the brake holds: ${brake.unhealthy} of ${zone.members} nodes look dead, at most ${brake.limit} may be condemned at one time; nothing is written about any of them`
  return `${votes} that is not final yet; what holds it: ${namesOf(node.guards)}`
}

/** Work that was announced, behind the word maintenance. */
export const maintenanceFact = ({ by, until }: Maintenance): string =>
  by === 'cordoned' ? 'cordoned' : `until ${until ?? ''}`

/** Work that was announced, in a few words. */
export const maintenanceText = (maintenance: Maintenance): string =>
  `${maintenance.by === 'cordoned' ? '' : 'in maintenance '}${maintenanceFact(maintenance)}`

/** That, or why the annotation is not used. */
export const maintenanceNotes = (
  { maintenance, maintenanceTrouble }: Pick<NodeStatus, 'maintenance' | 'maintenanceTrouble'>,
  text = maintenanceText,
): readonly string[] => [
  ...(maintenance === null ? [] : [text(maintenance)]),
  ...(maintenanceTrouble === null ? [] : [maintenanceTrouble]),
]

/** Verdict and class in one sentence without the name. */
export const headline = (node: NodeStatus, zone: ZoneStatus): string => {
  if (node.verdict !== 'unhealthy' && node.pending === 'unhealthy')
    return pendingHeadline(node, zone)
  switch (node.class) {
    case 'dead':
      return `is dead: a majority of its peers cannot reach it (${count(node)})`
    case 'kubelet-sick':
      return `runs and its agent answers, but its kubelet does not work (${count(node)})`
    case 'cloud-link-cut': {
      const since = ageText(secondsSince(node.cloudCutSince, zone.at))
      const kept = node.vouch.state === 'active' ? '; its peers vouch for it' : ''
      return `is alive: only its own link to the cloud is cut, for ${since} by its own word${kept}`
    }
    case 'zone-link-cut':
      return 'is alive: the link between the whole zone and the cloud is cut, and nobody here can write'
    case 'healthy':
      return `is healthy (${count(node)})`
    case 'undecided':
      return `is undecided: neither side has a majority (${count(node)}); nothing is changed`
  }
}
