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
    summary: 'address at which peers reach this agent; none: the first InternalIP of its Node',
    env: 'NODE_IP',
  },
  stateDir: {
    flag: 'state-dir',
    group: 'Node',
    kind: path,
    default: '/var/lib/edge-health',
    summary:
      'folder for roster, zone config, keys and heartbeat, so that an agent that restarts without the cloud can still vote',
  },
  edgeSelector: {
    flag: 'edge-selector',
    group: 'Node',
    kind: selector,
    default: '',
    summary:
      'label selector that nodes must match, as well as the zone rule, to take part; empty matches all',
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
    summary: 'address for requests from this node itself: /localinfo, /status, /metrics, the page',
    relation: 'with --local-port it must differ from --node-address with --port',
  },
  localPort: {
    flag: 'local-port',
    group: 'Listening',
    kind: port,
    default: '51005',
    summary: 'port for requests from this node itself',
    aliases: [{ name: 'communicateserverport' }],
  },
  localinfoTime: {
    flag: 'localinfo-time',
    group: 'Listening',
    kind: oneOf('zero', 'rfc3339', 'unix', 'omit'),
    default: 'zero',
    summary: "what /localinfo shows as Time: SuperEdge's zero time, the present time, or nothing",
  },
  metricsAddress: {
    flag: 'metrics-address',
    group: 'Listening',
    kind: optional(listenAddress),
    default: '',
    summary:
      'address that serves /metrics, and nothing else, to other machines, such as 0.0.0.0:51009',
    relation: 'its port must differ from --port and --local-port',
  },
  metricsCertFile: {
    flag: 'metrics-cert-file',
    group: 'Listening',
    kind: optional(path),
    default: '',
    summary:
      'certificate of the listener at --metrics-address, PEM, read again every minute; none: plain HTTP',
    relation: 'given if and only if --metrics-key-file is',
  },
  metricsKeyFile: {
    flag: 'metrics-key-file',
    group: 'Listening',
    kind: optional(path),
    default: '',
    summary: 'key of the certificate in --metrics-cert-file, PEM',
    relation: 'given if and only if --metrics-cert-file is',
  },
  metricsNodes: {
    flag: 'metrics-nodes',
    group: 'Listening',
    kind: oneOf('all', 'troubled', 'none'),
    default: 'all',
    summary:
      'which nodes have series of their own in /metrics; all on every agent is N² series in a zone of N, so take troubled in large zones',
    relation: 'with none, no alert about a single node fires',
  },
  namespace: {
    flag: 'namespace',
    group: 'Kubernetes',
    kind: objectName,
    default: 'edge-system',
    summary: 'namespace of the ConfigMaps and the Secret',
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
    summary:
      'accept the key that is compiled into SuperEdge and public; anybody who knows it can vote',
  },
  nodeListPeriodMs: {
    flag: 'node-list-period',
    group: 'Kubernetes',
    kind: duration('500ms', '1h'),
    default: '10s',
    profiles: { fast: '5s' },
    summary: 'how often the roster is computed again from what the watches have received',
  },
  zoneWatchUpTo: {
    flag: 'zone-watch-up-to',
    group: 'Kubernetes',
    kind: integer(0, 10_000),
    default: '25',
    summary:
      'largest zone whose nodes are all watched, at 0.14 MB a day each; in a larger zone only joins are watched, and the nodes are listed every --zone-poll-period',
  },
  zonePollPeriodMs: {
    flag: 'zone-poll-period',
    group: 'Kubernetes',
    kind: duration('10s', '1h'),
    default: '10m',
    summary:
      'how often a zone of more than --zone-watch-up-to nodes is listed; there, deleting the Node of a machine that still runs is noticed up to this much later',
  },
  votePeriodMs: {
    flag: 'vote-period',
    group: 'Vote',
    kind: duration('500ms', '1h'),
    default: '10s',
    profiles: { fast: '2s', superedge: '10s' },
    summary:
      'how often the zone is judged when nothing changes, or a third as often while all is well; a change is judged at once',
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
    summary: 'how often the cloud link is checked',
    relation: 'at least --cloud-check-timeout',
  },
  cloudCheckTimeoutMs: {
    flag: 'cloud-check-timeout',
    group: 'Kubernetes',
    kind: duration('50ms', '1m'),
    default: '3s',
    profiles: { fast: '1s' },
    summary: 'timeout of one check of the cloud link',
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
