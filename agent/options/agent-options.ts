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
  /** Timeout of the last attempt of a round (tail). @default 1_000 */
  readonly attemptTailMs: number
  /** Fewest and most attempts of a round; the measured loss decides between the two. @default 4 / 6 */
  readonly attemptsMin: number
  readonly attemptsMax: number
  /** A node that is down is probed this often. @default 2_000 */
  readonly downCheckPeriodMs: number
  /** The check plugins, at least one. */
  readonly plugins: readonly PluginSpec[]
  /** Health URL of this node's kubelet. @default http://127.0.0.1:10248/healthz */
  readonly selfReportUrl: string
  /** How often this node's kubelet is asked. @default 5_000 */
  readonly selfReportPeriodMs: number
  /** Failures in a row before this agent's record says that its kubelet is bad. @default 3 */
  readonly selfReportFailures: number
}

/** How results are exchanged; lengths of time in milliseconds. */
export interface ExchangeOptions {
  /** Name of this cluster: agents of other clusters are refused even if they share key and zone name. @default '' */
  readonly clusterId: string
  /** One push-pull with one partner in this period (Tg, SuperEdge's communicateperiod). @default 5_000 */
  readonly exchangePeriodMs: number
  /** The same in a zone of rings, where news has further to go. @default 2_000 */
  readonly ringExchangePeriodMs: number
  /** Up to this many nodes a zone is a full mesh; a larger zone has rings. @default 64 */
  readonly meshMax: number
  /** Rings: how many nodes each node watches, and how many watch it (k). @default 10 */
  readonly ringObservers: number
  /** The same while something is contested. @default 500 */
  readonly burstPeriodMs: number
  /** How long `burstPeriodMs` applies after its last cause. @default 15_000 */
  readonly burstMs: number
  /** Timeout of one round trip with a peer. @default 2_000 */
  readonly exchangeTimeoutMs: number
  /** Whether nodes sign what they say with keys of their own. @default 'prefer' */
  readonly identity: 'off' | 'prefer' | 'require'
  /** Time slot that each signed sign of life covers. @default 1_000 */
  readonly linkSlotMs: number
  /**
   * With `require`: how long a node must be silent before new keys that its old ones did not sign, or the removal of its
   * keys, take effect.
   */
  readonly identityChangeAfterMs: number
  /** A change waits this long, so that further ones can be sent with it. @default 50 */
  readonly pushBatchMs: number
  /** A partner whose exchange failed is not chosen again for this long. @default 15_000 */
  readonly partnerBackoffMs: number
  /** Whether results of SuperEdge agents count, and in which dialect agents are answered: each one's own, or one. @default 'off' */
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
  /** Address and port for requests from this node itself. @default 127.0.0.1 : 51005 */
  readonly localAddress: string
  readonly localPort: number
  /** What `/localinfo` says in `Time`: SuperEdge's zero time, the present time (RFC 3339 or Unix seconds), or nothing. @default 'zero' */
  readonly localinfoTime: 'zero' | 'rfc3339' | 'unix' | 'omit'
  /** Address that serves only `/metrics` to other machines, such as Prometheus; undefined: none. */
  readonly metricsAddress: ListenAddress | undefined
  /** Certificate and key of that listener, PEM files; both or none. Undefined: plain HTTP. */
  readonly metricsCertFile: string | undefined
  readonly metricsKeyFile: string | undefined
  /** Which nodes have metric series of their own. @default 'all' */
  readonly metricsNodes: 'all' | 'troubled' | 'none'
  /** Namespace of the ConfigMaps and the Secret. @default edge-system */
  readonly namespace: string
  /** Path of a kubeconfig; undefined tries in-cluster credentials. */
  readonly kubeconfig: string | undefined
  /** Replaces the server of the kubeconfig; undefined keeps it. */
  readonly masterUrl: string | undefined
  /** Folder for roster, zone config, keys and heartbeat, 0700. @default /var/lib/edge-health */
  readonly stateDir: string
  /** Nodes must match this label selector, as well as the zone rule, to take part; '' matches all. */
  readonly edgeSelector: string
  /** Secret with `primary` and, while rotating, `secondary`. @default edge-health-keys */
  readonly keySecret: string
  /** Accept the key that is compiled into SuperEdge and public. @default false */
  readonly allowDefaultHmacKey: boolean
  /** How often the roster is computed again from what the watches have received. @default 10_000 */
  readonly nodeListPeriodMs: number
  /** Largest zone whose nodes are all watched; a larger one is polled. @default 25 */
  readonly zoneWatchUpTo: number
  /** How often a larger zone is listed. @default 600_000 */
  readonly zonePollPeriodMs: number
  /** How often the zone is judged when nothing changes, a third as often while all is well (voteperiod). @default 10_000 */
  readonly votePeriodMs: number
  /** How the cloud link is judged. @default auto */
  readonly cloudCheck: 'auto' | 'livez' | 'write'
  /** How often the cloud link is checked, and the timeout of one check. @default 10_000 / 3_000 */
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
