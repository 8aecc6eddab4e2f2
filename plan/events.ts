// SPDX-License-Identifier: Apache-2.0
import { listed } from '../core/text.js'
import type { Explanation } from '../vote/explanation.js'
import type { VouchEnd } from '../vote/vouch.js'
import {
  count,
  describeVouchEnd,
  messageFor,
  MOST_NAMES,
  shorten,
  type Wording,
} from './messages.js'
import type { DesiredMarks } from './node-plan.js'

/** What an Event of events.k8s.io says; the caller adds who reports it and about which object. */
export interface EventWords {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly action: string
  readonly note: string
}

const EVENTS = {
  dead: ['Warning', 'PeersCondemned', 'Condemn'],
  'kubelet-sick': ['Warning', 'PeersCondemned', 'Condemn'],
  vouched: ['Warning', 'CloudLinkCut', 'Vouch'],
  healthy: ['Normal', 'PeersCleared', 'Clear'],
  left: ['Normal', 'NotJudged', 'Clear'],
} as const

/** A note that also says how many Events about the node were left out before it. */
export const withLeftOut = (note: string, leftOut: number): string =>
  leftOut === 0 ? note : shorten(`${note} (${count(leftOut, 'Event')} before it left out)`)

/** The Event for marks that were just written. */
export const eventFor = (
  desired: Exclude<DesiredMarks, 'keep'>,
  explanation: Explanation,
  w: Wording,
): EventWords => {
  const [type, reason, action] = EVENTS[desired]
  return { type, reason, action, note: messageFor(desired, explanation, w) }
}

/** What the Event about the zone's brake says. */
export interface BrakeFacts {
  readonly isOn: boolean
  /** '' for a zone that has no name. */
  readonly zone: string
  readonly members: number
  readonly unhealthy: number
  readonly limit: number
  /** The nodes that look dead. */
  readonly names: readonly string[]
}

/** The Event for the zone's brake. */
export const brakeEvent = ({ isOn, zone, names, ...facts }: BrakeFacts): EventWords => {
  const where = zone === '' ? 'the zone' : `zone ${zone}`
  const who = names.length === 0 ? '' : ` (${listed(names, MOST_NAMES)})`
  const state = `${facts.unhealthy} of ${facts.members} nodes look dead${who}, at most ${facts.limit} may be condemned at one time`
  return isOn
    ? {
        ...{ type: 'Warning', reason: 'ZoneBrakeOn', action: 'Brake' },
        note: shorten(`the brake of ${where} holds, nothing more is marked: ${state}`),
      }
    : {
        ...{ type: 'Normal', reason: 'ZoneBrakeOff', action: 'Brake' },
        note: shorten(`the brake of ${where} lets go: ${state}`),
      }
}

/** The Event for several sites that are one zone because nobody configured zones. */
export const zoneTrapEvent = (trap: string): EventWords => ({
  ...{ type: 'Warning', reason: 'ZoneNotConfigured', action: 'Check' },
  note: shorten(trap),
})

/** The Event for a vouching that ended. Only the link's return is good news. */
export const vouchEndedEvent = (why: VouchEnd): EventWords => ({
  type: why === 'link-back' ? 'Normal' : 'Warning',
  reason: 'VouchingEnded',
  action: 'Vouch',
  note: `peers no longer vouch for this node: ${describeVouchEnd(why)}`,
})
