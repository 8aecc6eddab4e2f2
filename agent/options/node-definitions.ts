// SPDX-License-Identifier: Apache-2.0
import {
  address,
  boolean,
  duration,
  integer,
  listenAddress,
  objectName,
  oneOf,
  optional,
  path,
  port,
  selector,
  url,
} from '../../options/kinds.js'
import {
  kubeconfigOption,
  logLevelOption,
  masterUrlOption,
  nodeNameOption,
} from '../../options/shared-definitions.js'
import type { PlanOptions } from '../../plan/options.js'
import type { VoteOptions } from '../../vote/options.js'
import type { AgentOptions, CheckOptions, ExchangeOptions } from './agent-options.js'
import type { DefinitionsOf } from './definition.js'

type NodeOptions = Omit<
  AgentOptions,
  keyof CheckOptions | keyof ExchangeOptions | keyof VoteOptions | keyof PlanOptions
>

/** Who we are, where we listen, and how Kubernetes is reached. */
export const nodeDefinitions: DefinitionsOf<NodeOptions> = {
  nodeName: nodeNameOption,
  nodeAddress: {
    flag: 'node-address',
    group: 'Node',
    kind: optional(address),
    default: '',
    summary: 'where peers reach this agent; none takes the first InternalIP of the own Node',
    env: 'NODE_IP',
  },
  stateDir: {
    flag: 'state-dir',
    group: 'Node',
    kind: path,
    default: '/var/lib/edge-health',
    summary:
      'folder for roster, zone config, keys and heartbeat, so that a restart without the cloud still votes',
  },
  edgeSelector: {
    flag: 'edge-selector',
    group: 'Node',
    kind: selector,
    default: '',
    summary:
      'only nodes that match this label selector take part, beside the zone rule; empty takes all',
    relation: 'must be the same on all agents of a zone',
  },
  port: {
    flag: 'port',
    group: 'Listening',
    kind: port,
    default: '51005',
    summary: 'port for peers',
    relation: 'must be the same on all agents of a zone',
    aliases: [{ name: 'communicateserverport' }],
  },
  localAddress: {
    flag: 'local-address',
    group: 'Listening',
    kind: address,
    default: '127.0.0.1',
    summary: 'where the own node asks: /localinfo, /status, /metrics, the page',
    relation: 'with --local-port it must differ from --node-address with --port',
  },
  localPort: {
    flag: 'local-port',
    group: 'Listening',
    kind: port,
    default: '51005',
    summary: 'port for the own node',
    aliases: [{ name: 'communicateserverport' }],
  },
  localinfoTime: {
    flag: 'localinfo-time',
    group: 'Listening',
    kind: oneOf('zero', 'rfc3339', 'unix', 'omit'),
    default: 'zero',
    summary: "what /localinfo says in Time: SuperEdge's zero time, the present time, or nothing",
  },
  metricsAddress: {
    flag: 'metrics-address',
    group: 'Listening',
    kind: optional(listenAddress),
    default: '',
    summary: 'where /metrics, and nothing else, is served off the node, such as 0.0.0.0:51009',
    relation: 'its port must differ from --port and --local-port',
  },
  metricsCertFile: {
    flag: 'metrics-cert-file',
    group: 'Listening',
    kind: optional(path),
    default: '',
    summary: 'certificate of that listener, PEM; none is plain HTTP; read again every minute',
    relation: 'given if and only if --metrics-key-file is',
  },
  metricsKeyFile: {
    flag: 'metrics-key-file',
    group: 'Listening',
    kind: optional(path),
    default: '',
    summary: 'key of that certificate, PEM',
    relation: 'given if and only if --metrics-cert-file is',
  },
  metricsNodes: {
    flag: 'metrics-nodes',
    group: 'Listening',
    kind: oneOf('all', 'troubled', 'none'),
    default: 'all',
    summary:
      'which nodes have series of their own in /metrics: all on every agent is N² in a zone of N; in large zones take troubled; with none no alert about one node fires',
  },
  namespace: {
    flag: 'namespace',
    group: 'Kubernetes',
    kind: objectName,
    default: 'edge-system',
    summary: 'where the ConfigMaps and the Secret live',
  },
  kubeconfig: kubeconfigOption,
  masterUrl: { ...masterUrlOption, aliases: [{ name: 'masterurl' }] },
  keySecret: {
    flag: 'key-secret',
    group: 'Kubernetes',
    kind: objectName,
    default: 'edge-health-keys',
    summary: 'Secret with the key ring: primary and, while rotating, secondary',
  },
  allowDefaultHmacKey: {
    flag: 'allow-default-hmac-key',
    group: 'Kubernetes',
    kind: boolean,
    default: 'false',
    summary: 'accept the key that SuperEdge compiles in and publishes; whoever knows it can vote',
  },
  nodeListPeriodMs: {
    flag: 'node-list-period',
    group: 'Kubernetes',
    kind: duration('500ms', '1h'),
    default: '10s',
    profiles: { fast: '5s' },
    summary: 'how often the roster is read again from what the watches hold',
  },
  zoneWatchUpTo: {
    flag: 'zone-watch-up-to',
    group: 'Kubernetes',
    kind: integer(0, 10_000),
    default: '25',
    summary:
      'nodes of a zone that are watched, at 0.14 MB a day each; of a larger zone joins are watched, and the rest is listed every --zone-poll-period',
  },
  zonePollPeriodMs: {
    flag: 'zone-poll-period',
    group: 'Kubernetes',
    kind: duration('10s', '1h'),
    default: '10m',
    summary:
      'how often a zone of more than --zone-watch-up-to nodes is listed; the deletion of a Node that still runs is noticed up to this much later',
  },
  votePeriodMs: {
    flag: 'vote-period',
    group: 'Vote',
    kind: duration('500ms', '1h'),
    default: '10s',
    profiles: { fast: '2s', superedge: '10s' },
    summary:
      'how often the vote runs when nothing changes, every third time where all is well; a change is voted on at once',
    aliases: [{ name: 'voteperiod', seconds: true }],
  },
  cloudCheck: {
    flag: 'cloud-check',
    group: 'Kubernetes',
    kind: oneOf('auto', 'livez', 'write'),
    default: 'auto',
    summary:
      "how the cloud link is judged: by /livez, or by writing a Lease of the agent's own; auto writes where the API is KubeEdge's MetaServer (local port 10550)",
  },
  cloudCheckPeriodMs: {
    flag: 'cloud-check-period',
    group: 'Kubernetes',
    kind: duration('100ms', '10m'),
    default: '10s',
    profiles: { fast: '2s' },
    summary: 'how often the apiserver is asked for a sign of life',
    relation: 'at least --cloud-check-timeout',
  },
  cloudCheckTimeoutMs: {
    flag: 'cloud-check-timeout',
    group: 'Kubernetes',
    kind: duration('50ms', '1m'),
    default: '3s',
    profiles: { fast: '1s' },
    summary: 'how long that may take',
    relation: 'at most --cloud-check-period',
  },
  cloudCheckFailures: {
    flag: 'cloud-check-failures',
    group: 'Kubernetes',
    kind: integer(1, 100),
    default: '2',
    summary: 'failures in a row before the cloud link counts as cut',
  },
  vouchRenewPeriodMs: {
    flag: 'vouch-renew-period',
    group: 'Vouching',
    kind: duration('500ms', '20s'),
    default: '10s',
    profiles: { fast: '5s' },
    summary:
      "how often a vouched node's Lease is renewed; with --vouch=taint, its condition PeerHealth",
    relation: "well below the control plane's node-monitor-grace-period (40 s or 50 s)",
  },
  witnessTarget: {
    flag: 'witness-target',
    group: 'Vote',
    kind: optional(url('tcp', 'http', 'https')),
    default: '',
    summary: 'what the witness is: tcp://host:port or an http(s) URL, such as the gateway',
    relation: 'given if and only if --witness is target',
  },
  logLevel: {
    ...logLevelOption,
    summary: 'least severe level that is logged; changeable at run time by PUT /debug/flags/v',
  },
}
