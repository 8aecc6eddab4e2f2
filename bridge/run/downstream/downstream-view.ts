// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { countsBy, metricFactory, type Metric } from '../../../net/metrics-text.js'
import type { NodeName } from '../../../core/ids.js'
import type { EdgeRecord } from '../../model/record/held.js'
import type { RecorderStatus } from '../recorder/recorder.js'
import type { LeaseRenewerStatus } from '../vouch/lease-renewer.js'
import { noMessages, type MessageCounts } from './message-counts.js'
import type { NodeLane } from './node-lane.js'

/** The parts that run during one term, as far as they are shown. */
export interface ShownParts {
  readonly sender: {
    readonly lanes: readonly NodeLane[]
    readonly reading: number
    readonly counts: Readonly<MessageCounts>
    laneOf(node: NodeName): NodeLane | undefined
  }
  readonly recorder: { readonly status: RecorderStatus }
  readonly renewer: {
    readonly status: LeaseRenewerStatus
    sinceOf(node: NodeName): number | undefined
  }
}

const { gauge, counter } = metricFactory('edge_health_bridge_')

const secondsSince = (at: number, clock: Clock): number => Math.round((clock.now() - at) / 1_000)

const sum = (lanes: readonly NodeLane[], of: (lane: NodeLane) => number): number =>
  lanes.reduce((total, lane) => total + of(lane), 0)

const IDLE = { isLeading: false } as const

/** For `/status`. @param parts undefined while another bridge leads */
export const downstreamStatus = (parts: ShownParts | undefined): object => {
  if (parts === undefined) return IDLE
  const { sender, recorder, renewer } = parts
  const { lanes, reading, counts: messages } = sender
  return {
    isLeading: true,
    waiting: sum(lanes, ({ lane }) => lane.messages),
    waitingBytes: sum(lanes, ({ lane }) => lane.bytes),
    unacknowledged: sum(lanes, ({ lane }) => lane.inFlight),
    aside: sum(lanes, ({ lane }) => lane.deferrals().length),
    reading,
    messages,
    record: recorder.status,
    vouching: renewer.status,
  }
}

const NONE: ShownParts = {
  sender: {
    ...{ lanes: [], reading: 0, counts: noMessages() },
    laneOf: () => undefined,
  },
  recorder: { status: { isDiskFailing: false, unsaved: 0, failing: 0 } },
  renewer: { status: { gaps: 0, renewals: 0, ended: {} }, sinceOf: () => undefined },
}

export const downstreamMetrics = (parts: ShownParts = NONE): readonly Metric[] => {
  const { lanes, counts } = parts.sender
  const { isDiskFailing, unsaved } = parts.recorder.status
  const { gaps, renewals, ended } = parts.renewer.status
  return [
    gauge('messages_waiting', 'Messages to edges that are not acknowledged yet', [
      sum(lanes, ({ lane }) => lane.messages),
    ]),
    gauge('objects_aside', 'Objects that edges did not take and that are tried again later', [
      sum(lanes, ({ lane }) => lane.deferrals().length),
    ]),
    counter('messages_sent', 'Messages to edges, by outcome', ...countsBy('result', { ...counts })),
    gauge('record_unsaved', 'Nodes whose latest record is not in the cluster yet', [unsaved]),
    gauge('record_disk_failing', '1 while records cannot be kept on disk', [isDiskFailing ? 1 : 0]),
    gauge('gaps', 'Nodes that are disconnected and whose Leases the bridge may renew', [gaps]),
    counter('lease_renewals', 'Leases that the bridge renewed for disconnected nodes', [renewals]),
    counter(
      'gaps_ended',
      'Nodes whose Leases the bridge stopped renewing',
      ...countsBy('reason', ended),
    ),
  ]
}

const holdsOf = (held: EdgeRecord): object => {
  const kinds: Record<string, number> = {}
  for (const { type } of held.values()) kinds[type] = (kinds[type] ?? 0) + 1
  const isUnsure = [...held.values()].filter(({ version }) => version === '0').length
  return { ...kinds, unsure: isUnsure }
}

const deferralsOf = ({ lane }: NodeLane, clock: Clock): readonly object[] =>
  lane.deferrals().map(({ key, reason, until, times }) => ({
    ...{ object: key, reason, times, againInSeconds: Math.max(0, -secondsSince(until, clock)) },
  }))

/** For `/explain`: what was sent to a node, what is queued and why, and what it holds. */
export const explainNode = (
  node: NodeName,
  parts: ShownParts | undefined,
  clock: Clock,
): object => {
  if (parts === undefined) return IDLE
  const lane = parts.sender.laneOf(node)
  const since = parts.renewer.sinceOf(node)
  const vouching = since === undefined ? null : { since: new Date(since).toISOString() }
  if (lane === undefined) return { isLeading: true, vouching, sending: null }
  const { comparedAt } = lane
  return {
    ...{ isLeading: true, vouching },
    sending: {
      waiting: lane.lane.messages,
      waitingBytes: lane.lane.bytes,
      unacknowledged: lane.lane.inFlight,
      aside: deferralsOf(lane, clock),
      messages: { ...lane.counts },
      comparedSecondsAgo: comparedAt === undefined ? null : secondsSince(comparedAt, clock),
    },
    holds: holdsOf(lane.record.held),
  }
}
