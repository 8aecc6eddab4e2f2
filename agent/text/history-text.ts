// SPDX-License-Identifier: Apache-2.0
import type { HistoryEntry } from '../history/ring.js'
import type { HistoryKind } from '../http/history-view.js'
import type { NodeClassName } from '../http/status-view.js'
import { classWord } from './headline.js'

/** Names that a sentence spells out. */
const NAMES = 3

const subject = ({ nodes, count }: HistoryEntry): string => {
  if (count <= 1) return nodes[0] ?? ''
  const names = nodes.slice(0, NAMES).join(', ')
  const more = count - Math.min(NAMES, nodes.length)
  return `${count} nodes (${names}${more > 0 ? ` and ${more} more` : ''})`
}

const wordOf = (name: string): string => classWord[name as NodeClassName]

const AGENT: Readonly<Record<string, string>> = {
  started: 'this agent started',
  stopped: 'this agent stopped',
  resumed: 'this agent, or its machine, had stood still: it knew nothing of the time between',
}

const VOICE: Readonly<Record<string, string>> = {
  full: 'this agent takes part in decisions',
  'self-suspect':
    "this agent suspects itself and decides nothing: its own probes fail where others' succeed",
  warming: 'this agent decides nothing until its first round is over',
  leaving: 'this agent is stopping and decides nothing any more',
  minority: 'this agent hears no majority of the zone and decides nothing',
}

const BRAKE: Readonly<Record<string, string>> = {
  on: 'the brake holds: nothing is written about any node that looks dead',
  off: 'the brake is off',
}

const turned = (entry: HistoryEntry): string => {
  const { from, to, count } = entry
  const [is, was] = count > 1 ? ['are', 'were'] : ['is', 'was']
  const before = from === null ? '' : `, ${was} ${wordOf(from)}`
  return `${subject(entry)} ${is} ${wordOf(to)}${before}`
}

/** Without its note. */
const SAID: Readonly<Record<HistoryKind, (entry: HistoryEntry) => string>> = {
  class: turned,
  agent: ({ to }) => AGENT[to] ?? to,
  voice: ({ to }) => VOICE[to] ?? to,
  brake: ({ to }) => BRAKE[to] ?? to,
  'cloud-link': ({ to }) =>
    to === 'cut'
      ? 'this node does not reach the apiserver'
      : 'this node reaches the apiserver again',
  members: entry => `${subject(entry)} ${entry.to} the zone`,
  vouch: entry =>
    `${subject(entry)} is vouched for ${entry.to === 'active' ? 'by its peers' : 'no more'}`,
  write: entry => `write about ${subject(entry)} ${entry.to}`,
}

/** One sentence without a full stop. */
export const historyText = (entry: HistoryEntry): string =>
  entry.note === '' ? SAID[entry.kind](entry) : `${SAID[entry.kind](entry)} (${entry.note})`
