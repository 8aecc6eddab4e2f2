// SPDX-License-Identifier: Apache-2.0
import { ageText, clean, listed, secondsSince, table, type Paint } from '../../core/text.js'
import type { GuardKind, NodeStatus, StatusView } from '../http/status-view.js'
import { withOtherKeys } from './key-sets.js'
import { classColour, looksDead, maintenanceNotes } from './headline.js'
import { silenceText, worstFirst, zoneHeadline } from './standing.js'

/** While keys are rotated, or differ between members: how far the rotation is. */
const keyLine = (view: StatusView): readonly string[] => {
  const { keys, zone } = view
  const others = withOtherKeys(view)
  if (keys.set === null || (keys.state !== 'rotating' && others.length === 0)) return []
  const names =
    others.length === 0 ? '' : `; another set: ${others.map(({ name }) => name).join(', ')}`
  return [`key set ${keys.set} is shared by ${keys.sharedBy} of ${zone.members} members${names}`]
}

const rosterTrouble = ({ roster, stages }: StatusView): readonly string[] => {
  if (roster.source !== 'none') return []
  const detail = stages.find(({ name }) => name === 'get-node-list')?.detail ?? ''
  return [`the roster is not known yet${detail === '' ? '' : `: ${detail}`}`]
}

const keyTrouble = ({ keys: { state, trouble } }: StatusView): readonly string[] => {
  const why = trouble === null ? '' : `: ${trouble}`
  if (state === 'missing') return [`no usable key, so nothing is judged${why}`]
  return trouble === null ? [] : [`the last good keys are used${why}`]
}

/** Members that do not sign. */
const unsigned = ({ nodes }: StatusView): string =>
  listed(nodes.filter(({ peer }) => peer?.isSigned === false).map(({ name }) => name))

/** How far a zone is on its way to `--identity=require`. */
const identityLine = (view: StatusView): readonly string[] => {
  const { mode, generation, members } = view.identity
  if (mode === 'off' || generation === null) return []
  const names = mode === 'prefer' ? unsigned(view) : ''
  const others = names === '' ? '' : `; not of ${names}`
  return [
    `identities of ${members} of ${view.zone.members} members are known (--identity=${mode})${others}`,
  ]
}

/** Whether the agents' account is confined, as last found out; that it is not is among the troubles. */
const confinementLine = ({ confinement, at }: StatusView): readonly string[] => {
  const { state, reason } = confinement
  const since = secondsSince(confinement.at, at)
  const checked = since === null ? '' : ` (checked ${ageText(since)} ago)`
  if (state === 'yes') return [`the account of the agents is confined${checked}`]
  return state === 'no'
    ? []
    : [`it is unknown whether the account of the agents is confined${checked}: ${reason}`]
}

/** That members do not count because they have no identity, or that the own one is of no use yet. */
const identityTrouble = (view: StatusView): readonly string[] => {
  const { mode, generation, trouble } = view.identity
  const isRequired = mode === 'require'
  if (mode === 'off') return []
  if (generation === null) {
    const so = isRequired ? 'it exchanges no votes' : "it signs with the zone's key alone"
    const why = trouble === null ? '' : ` (${trouble})`
    return [`the identity of this node is not published yet${why}, and until then ${so}`]
  }
  const names = unsigned(view)
  return isRequired && names !== ''
    ? [`members without a known identity do not count: ${names}`]
    : []
}

/** Members that speak SuperEdge's protocol. */
const replayLine = ({ nodes }: StatusView): readonly string[] => {
  const names = nodes.filter(node => node.peer?.dialect.startsWith('superedge')).map(n => n.name)
  return names.length === 0
    ? []
    : [
        `SuperEdge agents vote, and anybody who recorded their results can replay them: ${names.join(', ')}`,
      ]
}

/** That nothing is written about nodes that look dead; undefined while it may be. */
export const brakeText = ({ brake, zone }: StatusView): string | undefined =>
  brake.isOn
    ? `the brake holds: ${brake.unhealthy} of ${zone.members} nodes look dead, at most ${brake.limit} may be condemned at one time`
    : undefined

/** What else is wrong with the zone or with this agent, one line each. */
export const troubles = (view: StatusView): readonly string[] => [
  ...rosterTrouble(view),
  ...(view.roster.source === 'disk'
    ? [`the roster comes from disk and is ${ageText(view.roster.ageSeconds)} old`]
    : []),
  ...(view.zone.trouble === null ? [] : [view.zone.trouble]),
  ...(view.roster.trouble === null ? [] : [`roster: ${view.roster.trouble}`]),
  ...keyTrouble(view),
  ...(view.disk.trouble === null
    ? []
    : [
        `after a restart this agent would lack what ${view.disk.path} cannot keep: ${view.disk.trouble}`,
      ]),
  ...(view.peerListener.trouble === null
    ? []
    : [`peers cannot reach this agent: ${view.peerListener.trouble}`]),
  ...(view.confinement.state === 'no'
    ? [`the account of the agents is not confined: ${view.confinement.reason}`]
    : []),
  ...keyLine(view),
  ...identityTrouble(view),
  ...replayLine(view),
  ...(view.selfSuspect
    ? ["this agent suspects itself: its own probes fail where others' succeed"]
    : []),
  ...view.stages
    .filter(stage => stage.state === 'failing')
    .map(stage => `stage ${stage.name} fails: ${stage.detail}`),
]

const probeText = ({ isSelf, probe }: NodeStatus): string => {
  if (isSelf) return 'self'
  if (probe === null) return '–'
  return probe.vote
}

const WAITS: Partial<Readonly<Record<GuardKind, string>>> = { hold: 'waits for --write-hold' }

/** What keeps a pending verdict from being final, in a few words. */
const waitsFor = ({ guards }: NodeStatus): string =>
  guards.map(({ kind }) => WAITS[kind] ?? `held by ${kind}`).join(', ')

const pendingNotes = (node: NodeStatus): readonly string[] =>
  node.pending === null
    ? []
    : [`pending ${node.pending === 'unhealthy' ? 'dead' : node.pending}: ${waitsFor(node)}`]

/** What there is to tell of a node beside its class, each in a few words. */
export const notesOf = (node: NodeStatus, at: string): readonly string[] => {
  const silence = silenceText(node)
  const notes = [...maintenanceNotes(node), ...pendingNotes(node)]
  if (silence !== undefined) notes.push(silence)
  if (node.vouch.state === 'active') notes.push(`vouched for by ${node.vouch.by ?? 'its peers'}`)
  if (node.vouch.state === 'blocked') notes.push(`not vouched for: ${node.vouch.reason}`)
  if (node.probe !== null && node.probe.vote !== 'up' && node.probe.reason !== '')
    notes.push(node.probe.vote === 'down' ? node.probe.reason : `not looked: ${node.probe.reason}`)
  if (node.kubeletReason !== null) notes.push(`kubelet ${node.kubelet}: ${node.kubeletReason}`)
  if (node.lastWrite !== null && node.verdict === 'unhealthy')
    notes.push(
      `written by ${node.lastWrite.by} ${ageText(secondsSince(node.lastWrite.at, at))} ago`,
    )
  return notes
}

/** The status for people. */
export const statusText = (view: StatusView, paint: Paint): string => {
  const { zone, self, cloudLink, at } = view
  const since = secondsSince(cloudLink.since, at)
  const link = `cloud link ${cloudLink.state}${since === null ? '' : ` for ${ageText(since)}`}`
  const head = [
    `zone ${zone.name === '' ? '(whole cluster)' : zone.name}: ${zone.members} nodes (${zone.rule}), seen from ${self.name}, ${link}`,
    `${zoneHeadline(view.nodes, zone.members)}; disruption ${view.disruption}`,
    ...confinementLine(view),
    ...identityLine(view),
  ]
  const rows = worstFirst(view.nodes).map(node => [
    { text: node.name, colour: 'bold' as const },
    { text: node.class, colour: looksDead(node) ? ('red' as const) : classColour[node.class] },
    ageText(secondsSince(node.since, at)),
    node.local === 'up' ? 'up' : { text: 'down', colour: 'red' as const },
    probeText(node),
    `${node.votes.down}/${node.votes.up}/${node.votes.needed}`,
    ageText(node.recordAgeSeconds),
    notesOf(node, at).join('; '),
  ])
  const header = ['NODE', 'CLASS', 'FOR', 'HERE', 'PROBE', 'DOWN/UP/NEED', 'RECORD', 'NOTE']
  const brake = brakeText(view)
  return [
    ...head.map(line => `${clean(line)}\n`),
    ...[...(brake === undefined ? [] : [brake]), ...troubles(view)].map(
      line => `${paint('yellow', `! ${clean(line)}`)}\n`,
    ),
    ...(rows.length === 0 ? [] : ['\n', table([header, ...rows], paint)]),
  ].join('')
}
