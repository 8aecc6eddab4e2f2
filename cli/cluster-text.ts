// SPDX-License-Identifier: Apache-2.0
import { maintenanceFact, maintenanceNotes } from '../agent/text/headline.js'
import { ageText, clean, secondsSince, table, type Colour, type Paint } from '../core/text.js'
import type { ClusterEvent } from './cluster-look.js'
import type { ClusterClass, ClusterNode, ClusterView, ClusterZone } from './cluster-view.js'

const COLOUR: Readonly<Record<ClusterClass, Colour>> = {
  healthy: 'green',
  dead: 'red',
  'kubelet-sick': 'red',
  'cloud-link-cut': 'yellow',
  'not-ready': 'yellow',
}

const notesText = ({ notes }: ClusterView, paint: Paint): string =>
  notes.map(note => `${paint('yellow', `! ${clean(note)}`)}\n`).join('')

const age = (since: string | null, at: string): string => ageText(secondsSince(since, at))

const zoneName = (name: string | null): string =>
  name === null ? '–' : name === '' ? '(whole cluster)' : name

const some = (count: number, colour: Colour): string | { text: string; colour: Colour } =>
  count === 0 ? '0' : { text: String(count), colour }

const brakeText = ({ brake }: ClusterZone, at: string): string =>
  brake === null ? '–' : `${brake.isOn ? 'on' : 'off'}, ${age(brake.at, at)} ago`

const zoneNote = (zone: ClusterZone, at: string): string => {
  const last = zone.lastEvent
  return [
    ...(zone.isUnheard ? ['nobody is heard: the link of the whole zone may be cut'] : []),
    ...(last === null ? [] : [`${last.reason} of ${last.node}, ${age(last.at, at)} ago`]),
  ].join('; ')
}

/** `zones`. */
export const zonesText = (view: ClusterView, paint: Paint): string => {
  const { zones, at } = view
  const alone = view.nodes.filter(({ zone }) => zone === null)
  const header = ['ZONE', 'NODES', 'HEALTHY', 'DEAD', 'SICK', 'CUT', 'NOT READY', 'MAINT', 'BRAKE']
  const rows = zones.map(zone => [
    { text: zoneName(zone.name), colour: 'bold' as const },
    String(zone.nodes),
    String(zone.classes.healthy),
    some(zone.classes.dead, 'red'),
    some(zone.classes['kubelet-sick'], 'red'),
    some(zone.classes['cloud-link-cut'], 'yellow'),
    some(zone.classes['not-ready'], 'yellow'),
    String(zone.inMaintenance),
    zone.brake?.isOn === true
      ? { text: brakeText(zone, at), colour: 'red' as const }
      : brakeText(zone, at),
    zoneNote(zone, at),
  ])
  const list = rows.length === 0 ? 'no zones\n' : table([[...header, 'NOTE'], ...rows], paint)
  const rest =
    alone.length === 0
      ? ''
      : clean(`\n${alone.length} more nodes are in no zone and judge nobody: see nodes`).trim()
  return `${notesText(view, paint)}${list}${rest === '' ? '' : `${rest}\n`}`
}

const leaseText = ({ lease }: ClusterNode): string => {
  if (lease === null) return '–'
  const by = lease.by === 'peers' ? ' by its peers' : ''
  return `${ageText(lease.ageSeconds)}${by}`
}

const nodeNote = (node: ClusterNode): string =>
  [
    ...maintenanceNotes(node),
    ...(node.zone === null ? [node.rule] : []),
    ...(node.class === 'healthy' ? [] : [node.reason ?? node.ready?.message ?? '']),
  ]
    .filter(text => text !== '')
    .join('; ')

/** `nodes`. */
export const nodesText = (view: ClusterView, paint: Paint): string => {
  const header = ['ZONE', 'NODE', 'CLASS', 'FOR', 'READY', 'PEERS SAY', 'LEASE', 'NOTE']
  const rows = view.nodes.map(node => [
    zoneName(node.zone),
    { text: node.name, colour: 'bold' as const },
    { text: node.class, colour: COLOUR[node.class] },
    age(node.since, view.at),
    node.ready?.status ?? '–',
    node.peerHealth?.reason ?? '–',
    leaseText(node),
    nodeNote(node),
  ])
  const list = rows.length === 0 ? 'no nodes\n' : table([header, ...rows], paint)
  return `${notesText(view, paint)}${list}`
}

const HEADLINE: Readonly<Record<ClusterClass, string>> = {
  healthy: 'is healthy: its kubelet is heard, and its peers wrote nothing against it',
  dead: 'is dead: a majority of its peers cannot reach it',
  'kubelet-sick': 'runs and its agent answers, but its kubelet does not work',
  'cloud-link-cut': 'is alive: only its own link to the cloud is cut',
  'not-ready': 'is not ready for the control plane, and no peer has written anything about it',
}

const conditionText = (condition: ClusterNode['ready'], at: string, nothing: string): string => {
  if (condition === null) return nothing
  const { status, reason, message, since } = condition
  const why = [reason, message].filter(text => text !== null && text !== '').join(': ')
  return `${status} for ${age(since, at)}${why === '' ? '' : `, ${why}`}`
}

const leaseLine = ({ lease }: ClusterNode): string => {
  if (lease === null) return 'none'
  const who = {
    kubelet: 'by its kubelet: its cloud link works',
    peers: 'by its peers, in its place',
    unknown: '',
  }[lease.isExpired ? 'unknown' : lease.by]
  return `renewed ${ageText(lease.ageSeconds)} ago${lease.isExpired ? ', expired' : ''}${who === '' ? '' : `, ${who}`}`
}

const MOST_EVENTS = 20

const eventRows = (events: readonly ClusterEvent[], at: string): readonly string[][] =>
  events
    .slice(0, MOST_EVENTS)
    .map(({ at: then, reason, by, note }) => [`  ${age(then, at)} ago`, reason, by, note])

/** `explain`: the first line gives the verdict, the rest shows why. */
export const clusterExplainText = (
  {
    node,
    at,
    notes,
  }: { readonly node: ClusterNode; readonly at: string; readonly notes: readonly string[] },
  paint: Paint,
): string => {
  const fact = (name: string, text: string): string => clean(`${name.padEnd(13)}${text}`)
  const title = `${node.name} (${node.address ?? 'no InternalIP'}) ${HEADLINE[node.class]}.`
  const { maintenance } = node
  const lines = [
    ...notes.map(note => paint('yellow', `! ${clean(note)}`)),
    paint(COLOUR[node.class], clean(title)),
    '',
    fact('zone', `${zoneName(node.zone)}: ${node.rule}`),
    fact(
      'peers',
      conditionText(node.peerHealth, at, 'wrote nothing: they reach it, or there are none'),
    ),
    fact('kubelet', conditionText(node.ready, at, 'has never reported')),
    fact('lease', leaseLine(node)),
    fact('marks', node.isMarkedUnhealthy ? 'nodeunhealth=yes' : 'none'),
    fact('taints', node.taints.length === 0 ? 'none' : node.taints.join(', ')),
    fact(
      'maintenance',
      maintenance === null
        ? (node.maintenanceTrouble ?? 'none')
        : `${maintenanceFact(maintenance)}: nobody is alerted`,
    ),
    '',
    `events: ${node.events.length === 0 ? 'none (the API deletes them, usually after an hour)' : node.events.length}`,
  ]
  const rows = eventRows(node.events, at)
  const list = rows.length === 0 ? '' : table([['  WHEN', 'REASON', 'BY', 'NOTE'], ...rows], paint)
  return `${lines.join('\n')}\n${list}`
}
