// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { GuardKind, NodeStatus, StatusView } from '../agent/http/status-view.js'
import { agentOption, fetchStatus, parseAgentUrl, watchStatus } from './agent-client.js'
import {
  ageText,
  clean,
  outputOption,
  paintFor,
  secondsSince,
  table,
  type Format,
  type Paint,
} from './format.js'
import type { ExitCode, Run, CliContext } from './cli-context.js'
import { classColour, looksDead } from './headline.js'

/** Most peers cannot reach it, and a guard still keeps that from being final. */
const isPending = (node: NodeStatus): boolean => looksDead(node) && node.verdict !== 'unhealthy'

const classCounts = (nodes: readonly NodeStatus[]): string => {
  const counts = new Map<string, number>()
  for (const node of nodes) {
    const name = isPending(node) ? 'pending dead' : node.class
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ')
}

/** While keys are rotated, or differ between members: how far the rotation is. */
const keyLine = ({ keys, zone, nodes }: StatusView): readonly string[] => {
  const others = nodes.filter(
    ({ peer }) => peer !== null && peer.keySet !== null && peer.keySet !== keys.set,
  )
  if (keys.set === null || (keys.state !== 'rotating' && others.length === 0)) return []
  const names =
    others.length === 0 ? '' : `; another set: ${others.map(({ name }) => name).join(', ')}`
  return [`key set ${keys.set} is shared by ${keys.sharedBy} of ${zone.members} members${names}`]
}

/** Members that speak SuperEdge's protocol. */
const replayLine = ({ nodes }: StatusView): readonly string[] => {
  const names = nodes.filter(node => node.peer?.dialect.startsWith('superedge')).map(n => n.name)
  return names.length === 0
    ? []
    : [
        `SuperEdge agents vote, and whoever recorded their results can send them again: ${names.join(', ')}`,
      ]
}

/** What is wrong with the zone or with this agent, one line each. */
const troubles = (view: StatusView): readonly string[] => [
  ...(view.roster.source === 'none' ? ['the roster is not known yet'] : []),
  ...(view.roster.source === 'disk'
    ? [`the roster comes from disk and is ${ageText(view.roster.ageSeconds)} old`]
    : []),
  ...(view.roster.trouble === null ? [] : [`roster: ${view.roster.trouble}`]),
  ...(view.keys.trouble === null ? [] : [`keys: ${view.keys.trouble}`]),
  ...(view.peerListener.trouble === null
    ? []
    : [`peers cannot reach this agent: ${view.peerListener.trouble}`]),
  ...(view.confinement.state === 'no'
    ? [`the account of the agents is not confined: ${view.confinement.reason}`]
    : []),
  ...keyLine(view),
  ...replayLine(view),
  ...(view.brake.isOn
    ? [
        `the brake holds: ${view.brake.unhealthy} of ${view.zone.members} nodes look dead, at most ${view.brake.limit} may be condemned at one time`,
      ]
    : []),
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

const noteOf = (node: NodeStatus, at: string): string => {
  const notes = [...pendingNotes(node)]
  if (node.vouch.state === 'active') notes.push(`vouched for by ${node.vouch.by ?? 'its peers'}`)
  if (node.vouch.state === 'blocked') notes.push(`not vouched for: ${node.vouch.reason}`)
  if (node.probe !== null && node.probe.vote !== 'up' && node.probe.reason !== '')
    notes.push(node.probe.vote === 'down' ? node.probe.reason : `not looked: ${node.probe.reason}`)
  if (node.kubeletReason !== null) notes.push(`kubelet ${node.kubelet}: ${node.kubeletReason}`)
  if (node.lastWrite !== null && node.verdict === 'unhealthy')
    notes.push(
      `written by ${node.lastWrite.by} ${ageText(secondsSince(node.lastWrite.at, at))} ago`,
    )
  return notes.join('; ')
}

/** The status for people. */
export const statusText = (view: StatusView, paint: Paint): string => {
  const { zone, self, cloudLink, at } = view
  const since = secondsSince(cloudLink.since, at)
  const link = `cloud link ${cloudLink.state}${since === null ? '' : ` for ${ageText(since)}`}`
  const head = [
    `zone ${zone.name === '' ? '(whole cluster)' : zone.name}: ${zone.members} nodes (${zone.rule}), seen from ${self.name}, ${link}`,
    `${view.nodes.length === 0 ? 'no nodes' : classCounts(view.nodes)}; disruption ${view.disruption}`,
  ]
  const rows = view.nodes.map(node => [
    { text: node.name, colour: 'bold' as const },
    { text: node.class, colour: looksDead(node) ? ('red' as const) : classColour[node.class] },
    ageText(secondsSince(node.since, at)),
    node.local === 'up' ? 'up' : { text: 'down', colour: 'red' as const },
    probeText(node),
    `${node.votes.down}/${node.votes.up}/${node.votes.needed}`,
    ageText(node.recordAgeSeconds),
    noteOf(node, at),
  ])
  const header = ['NODE', 'CLASS', 'FOR', 'HERE', 'PROBE', 'DOWN/UP/NEED', 'RECORD', 'NOTE']
  return [
    ...head.map(line => `${clean(line)}\n`),
    ...troubles(view).map(line => `${paint('yellow', `! ${clean(line)}`)}\n`),
    ...(rows.length === 0 ? [] : ['\n', table([header, ...rows], paint)]),
  ].join('')
}

/** 1 when a node is dead, even if a guard keeps that from being written. */
export const exitOf = (nodes: readonly Pick<NodeStatus, 'verdict' | 'pending'>[]): ExitCode =>
  nodes.some(looksDead) ? 1 : 0

/** The alternate screen: what the terminal showed before comes back afterwards. */
const OPEN_SCREEN = '\u001b[?1049h'
const CLOSE_SCREEN = '\u001b[?1049l'
const CLEAR = '\u001b[H\u001b[2J'

interface StatusFlags {
  readonly agent: string
  readonly output: Format
  readonly watch?: boolean
}

type Show = (view: StatusView) => void

/** One view after the other, until the context's signal; the last one. */
const watchInPlace = async (
  base: string,
  context: CliContext,
  show: Show,
): Promise<StatusView | undefined> => {
  const { stdout } = context
  let last: StatusView | undefined
  stdout.write(OPEN_SCREEN)
  try {
    for await (const view of watchStatus(base, context)) {
      stdout.write(CLEAR)
      show(view)
      last = view
    }
  } finally {
    stdout.write(CLOSE_SCREEN)
    if (last !== undefined) show(last)
  }
  return last
}

/** The same where there is no terminal: one below the other, with `between` between them. */
const watchInLines = async (
  base: string,
  context: CliContext,
  show: Show,
  between: string,
): Promise<StatusView | undefined> => {
  let last: StatusView | undefined
  for await (const view of watchStatus(base, context)) {
    if (last !== undefined && between !== '') context.stdout.write(between)
    show(view)
    last = view
  }
  return last
}

const runStatus = async (flags: StatusFlags, context: CliContext): Promise<ExitCode> => {
  const { stdout } = context
  const base = parseAgentUrl(flags.agent)
  const paint = paintFor(context, stdout)
  const isText = flags.output === 'text'
  const print: Show = view =>
    stdout.write(isText ? statusText(view, paint) : `${JSON.stringify(view)}\n`)
  if (flags.watch === true) {
    const last =
      isText && stdout.isTTY === true
        ? await watchInPlace(base, context, print)
        : await watchInLines(base, context, print, isText ? '\n' : '')
    return exitOf(last?.nodes ?? [])
  }
  const view = await fetchStatus(base, context)
  print(view)
  return exitOf(view.nodes)
}

/** `edge-health status`. */
export const registerStatus = (program: Command, context: CliContext, run: Run): void => {
  program
    .command('status')
    .description('show the zone as the agent of this node sees it; exit 1 when a node is dead')
    .addOption(agentOption(context))
    .addOption(outputOption('text', 'json'))
    .option('-w, --watch', 'show it again with every change, until Ctrl-C')
    .addHelpText(
      'after',
      '\nExit codes: 0 nobody is dead, 1 somebody is, 2 bad usage, 3 no agent answers.',
    )
    .action((flags: StatusFlags) => run(() => runStatus(flags, context)))
}
