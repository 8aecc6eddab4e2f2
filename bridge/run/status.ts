// SPDX-License-Identifier: Apache-2.0
import type { LeaderElection } from '../../controller/leader-election.js'
import type { Clock } from '../../core/clock.js'
import type { NodeName } from '../../core/ids.js'
import type { Listener } from '../../net/listen.js'
import type { OpenHub } from '../hub/hub.js'
import type { WatchDesk } from './agents/watch-desk.js'
import type { Downstream } from './ports.js'
import type { BridgeStatusView } from './status-view.js'
import type { Terms } from './term.js'
import type { UpstreamCounters } from './upstream/counters.js'
import type { Upstream } from './upstream/upstream.js'

/** The running parts of the bridge, as far as they are shown. */
export interface ShownParts {
  readonly clock: Clock
  readonly version: string
  /** Clock ms. */
  readonly startedAt: number
  readonly election: Pick<LeaderElection, 'status'>
  /** These three are undefined until there are certificates. */
  readonly terms: Pick<Terms, 'isServing'> | undefined
  readonly hub: Pick<OpenHub, 'linkOf' | 'listening' | 'status'> | undefined
  readonly enrolment: Pick<Listener, 'status'> | undefined
  readonly downstream: Pick<Downstream, 'explain' | 'informers' | 'status'>
  readonly upstream: Pick<Upstream, 'running' | 'waiting'>
  readonly counters: UpstreamCounters
  readonly watches: Pick<WatchDesk, 'status'>
}

const listenersOf = ({ hub, enrolment }: ShownParts): BridgeStatusView['listeners'] => {
  const edges = hub?.listening
  return edges === undefined || enrolment === undefined
    ? {}
    : { edges, enrolment: enrolment.status }
}

const upstreamOf = ({ upstream, counters }: ShownParts): BridgeStatusView['upstream'] => {
  const { requests, unknown, dropped, leaseSeconds } = counters
  return {
    ...{ running: upstream.running, waiting: upstream.waiting },
    ...{ requests: requests.all, unknown: unknown.all, dropped: dropped.all },
    leaseSeconds: leaseSeconds.show(),
  }
}

/** For `/status`. */
export const bridgeStatus = (parts: ShownParts): BridgeStatusView => {
  const { clock, version, startedAt, election, terms, hub, downstream, watches } = parts
  return {
    version,
    uptimeSeconds: Math.round((clock.now() - startedAt) / 1_000),
    leader: election.status,
    isServing: terms?.isServing === true,
    tables: Object.fromEntries(
      Object.entries(downstream.informers).map(([name, { status }]) => [name, status]),
    ),
    hub: hub?.status,
    listeners: listenersOf(parts),
    upstream: upstreamOf(parts),
    downstream: downstream.status,
    watches: watches.status,
  }
}

/** For `/explain`: a node's connection, and what it is sent. */
export const explainNode = (
  node: NodeName,
  { clock, hub, downstream }: Pick<ShownParts, 'clock' | 'downstream' | 'hub'>,
): object => {
  const link = hub?.linkOf(node)
  return {
    node,
    connection:
      link === undefined
        ? null
        : {
            remote: link.remote,
            sinceSeconds: Math.round((clock.now() - link.since) / 1_000),
            isHeld: link.isHeld,
          },
    ...downstream.explain(node),
  }
}
