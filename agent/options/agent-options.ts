// SPDX-License-Identifier: Apache-2.0
import type { ListenAddress } from '../../options/kinds.js'
import type { NodeName } from '../../core/ids.js'
import type { PlanOptions } from '../../plan/options.js'
import type { VoteOptions } from '../../vote/options.js'
import type { PluginSpec } from '../../plugins/spec.js'

/** How a peer is probed; lengths of time in milliseconds. */
export interface CheckOptions {
  /** Each peer is probed once in this period (P, SuperEdge's healthcheckperiod). @default 10_000 */
  readonly checkPeriodMs: number
  /** A node below this score is down; 0 < line ≤ 100, exact in millionths of a weight: line 100 is 100_000_000. */
  readonly scoreLine: number
  /** Attempts of one round start this far apart (delta). @default 500 */
  readonly attemptSpacingMs: number
  /** How long the last attempt of a round may take (tail). @default 1_000 */
  readonly attemptTailMs: number
  /** Fewest and most attempts of a round; between them the measured loss decides. @default 4 / 6 */
  readonly attemptsMin: number
  readonly attemptsMax: number
  /** A node that is down is probed this often. @default 2_000 */
  readonly downCheckPeriodMs: number
  /** The check plugins, at least one. */
  readonly plugins: readonly PluginSpec[]
  /** Where the own kubelet says how it is. @default http://127.0.0.1:10248/healthz */
  readonly selfReportUrl: string
  /** How often the own kubelet is asked. @default 5_000 */
  readonly selfReportPeriodMs: number
  /** Failures in a row before the own record says that the kubelet is bad. @default 3 */
  readonly selfReportFailures: number
}

/** How results are exchanged; lengths of time in milliseconds. */
export interface ExchangeOptions {
  /** Agents of other clusters that share key and zone name are refused by this name. @default '' */
  readonly clusterId: string
  /** One push-pull with one partner in this period (Tg, SuperEdge's communicateperiod). @default 5_000 */
  readonly exchangePeriodMs: number
  /** The same in a zone of rings, where news has further to go. @default 2_000 */
  readonly ringExchangePeriodMs: number
  /** Up to this many nodes a zone is a full mesh, above that rings. @default 64 */
  readonly meshMax: number
  /** Rings: how many nodes each node watches, and how many watch it (k). @default 10 */
  readonly ringObservers: number
  /** The same while something is contested. @default 500 */
  readonly burstPeriodMs: number
  /** How long a burst lasts after its last cause. @default 15_000 */
  readonly burstMs: number
  /** Limit for one round trip with a peer. @default 2_000 */
  readonly exchangeTimeoutMs: number
  /** Whether nodes sign what they say with keys of their own. @default 'prefer' */
  readonly identity: 'off' | 'prefer' | 'require'
  /** How long a signed sign of life stands for. @default 1_000 */
  readonly linkSlotMs: number
  /** With `require`: how long a node must have been silent before new keys count that its old ones did not sign. */
  readonly identityChangeAfterMs: number
  /** A flip waits this long for others to travel with it. @default 50 */
  readonly pushBatchMs: number
  /** A partner that failed is left out this long. @default 15_000 */
  readonly partnerBackoffMs: number
  /** Whether SuperEdge agents are talked to: not at all, each in its own dialect, or always in one dialect. @default 'off' */
  readonly superedgePeers: 'off' | 'on' | 'v0.6' | 'v0.9'
  /** How often a SuperEdge peer gets our results. @default 10_000 */
  readonly superedgePeriodMs: number
  /** Attempts of one PUT to a SuperEdge peer (communicateretrytime). @default 1 */
  readonly superedgeAttempts: number
}

/** All options of the agent, resolved, checked and frozen. */
export interface AgentOptions extends VoteOptions, PlanOptions, CheckOptions, ExchangeOptions {
  readonly nodeName: NodeName
  /** Where peers reach this agent; undefined takes the first InternalIP of the own Node. */
  readonly nodeAddress: string | undefined
  /** Port for peers, on all agents of the zone. @default 51005 */
  readonly port: number
  /** Where the own node asks. @default 127.0.0.1 : 51005 */
  readonly localAddress: string
  readonly localPort: number
  /** What `/localinfo` says in `Time`: SuperEdge's zero time, the present time (RFC 3339 or Unix seconds), or nothing. @default 'zero' */
  readonly localinfoTime: 'zero' | 'rfc3339' | 'unix' | 'omit'
  /** Where `/metrics` alone is served to others, such as Prometheus; undefined: nowhere. */
  readonly metricsAddress: ListenAddress | undefined
  /** Certificate and key of that listener, PEM files; both or none. Undefined: plain HTTP. */
  readonly metricsCertFile: string | undefined
  readonly metricsKeyFile: string | undefined
  /** Which nodes have series of their own. @default 'all' */
  readonly metricsNodes: 'all' | 'troubled' | 'none'
  /** Where the ConfigMaps and the Secret live. @default edge-system */
  readonly namespace: string
  /** Path of a kubeconfig; undefined tries in-cluster credentials. */
  readonly kubeconfig: string | undefined
  /** Replaces the server of the kubeconfig; undefined keeps it. */
  readonly masterUrl: string | undefined
  /** Folder for roster, zone config, keys and heartbeat, 0700. @default /var/lib/edge-health */
  readonly stateDir: string
  /** Only nodes that match this label selector take part, beside the zone rule; '' takes all. */
  readonly edgeSelector: string
  /** Secret with `primary` and, while rotating, `secondary`. @default edge-health-keys */
  readonly keySecret: string
  /** Accept the key that SuperEdge compiles in and publishes. @default false */
  readonly allowDefaultHmacKey: boolean
  /** How often the roster is read again from what the watches hold. @default 10_000 */
  readonly nodeListPeriodMs: number
  /** Nodes of a zone that are watched one by one; a larger zone is polled. @default 25 */
  readonly zoneWatchUpTo: number
  /** How often a larger zone is listed. @default 600_000 */
  readonly zonePollPeriodMs: number
  /** How often the vote runs when nothing changes (SuperEdge's voteperiod); every third time where all is well. @default 10_000 */
  readonly votePeriodMs: number
  /** By what the cloud link is judged. @default auto */
  readonly cloudCheck: 'auto' | 'livez' | 'write'
  /** How often the apiserver is asked for a sign of life, and for how long. @default 10_000 / 3_000 */
  readonly cloudCheckPeriodMs: number
  readonly cloudCheckTimeoutMs: number
  /** Failures in a row before the link counts as cut. @default 2 */
  readonly cloudCheckFailures: number
  /** How often a vouched node's Lease is renewed. @default 10_000 */
  readonly vouchRenewPeriodMs: number
  /** `tcp://host:port` or an http(s) URL, with `witness: 'target'`. */
  readonly witnessTarget: string | undefined
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
