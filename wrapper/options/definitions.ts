// SPDX-License-Identifier: Apache-2.0
import { inGroups, type Definitions, type OptionSet } from '../../options/definition.js'
import {
  boolean,
  duration,
  integer,
  listenAddress,
  oneOf,
  optional,
  path,
} from '../../options/kinds.js'
import { klogFlags } from '../../options/klog.js'
import {
  kubeconfigOption,
  logLevelOption,
  masterUrlOption,
  nodeNameOption,
  explainingStatusAddressOption,
} from '../../options/shared-definitions.js'
import { AUTONOMY, autonomy } from './own-kinds.js'
import type { WrapperOptions } from './wrapper-options.js'

type Group = 'Node' | 'Listening' | 'Kubernetes' | 'Pruning' | 'Offline' | 'Log'

/** The one definition of each option: its name, unit, default and purpose. */
export const wrapperDefinitions: Definitions<WrapperOptions, Group> = {
  nodeName: nodeNameOption,
  stateDir: {
    flag: 'state-dir',
    group: 'Node',
    kind: path,
    default: '/var/lib/edge-health-wrapper',
    summary: 'folder for the last lists, which are served after a boot without the cloud',
  },
  bindAddress: {
    flag: 'bind-address',
    group: 'Listening',
    kind: listenAddress,
    default: '127.0.0.1:51006',
    summary: 'where kube-proxy and other clients of this node connect',
    relation: 'loopback only, unless --insecure is false',
  },
  insecure: {
    flag: 'insecure',
    group: 'Listening',
    kind: boolean,
    default: 'true',
    summary:
      'true: plain HTTP; false: TLS, and clients must show a certificate that --ca-file signed',
    relation: 'false needs --ca-file, --cert-file and --key-file',
  },
  caFile: {
    flag: 'ca-file',
    group: 'Listening',
    kind: optional(path),
    default: '',
    summary: 'CA that signs client certificates, PEM',
    relation: 'with --insecure=false only',
  },
  certFile: {
    flag: 'cert-file',
    group: 'Listening',
    kind: optional(path),
    default: '',
    summary: "the wrapper's own certificate, PEM",
    relation: 'with --insecure=false only',
  },
  keyFile: {
    flag: 'key-file',
    group: 'Listening',
    kind: optional(path),
    default: '',
    summary: 'key of the certificate in --cert-file, PEM',
    relation: 'with --insecure=false only',
  },
  statusAddress: {
    ...explainingStatusAddressOption,
    default: '127.0.0.1:51007',
    relation: 'must differ from --bind-address',
  },
  notifyChannelSize: {
    flag: 'notify-channel-size',
    group: 'Listening',
    kind: integer(100, 1_000_000),
    default: '8192',
    summary:
      'how many changes of a resource are remembered; a watch that falls further behind ends with 410, and its client lists again',
  },
  kubeconfig: kubeconfigOption,
  masterUrl: masterUrlOption,
  wrapperInCluster: {
    flag: 'wrapper-in-cluster',
    group: 'Pruning',
    kind: boolean,
    default: 'true',
    summary:
      'serve default/kubernetes with the address in its annotations superedge.io/local-endpoint and superedge.io/local-port, where it has them',
  },
  topologyKeysMode: {
    flag: 'topology-keys-mode',
    group: 'Pruning',
    kind: oneOf('any', 'ordered'),
    default: 'any',
    summary:
      'how several topology keys combine: one that matches is enough (any), or the first that finds an endpoint decides (ordered)',
  },
  autonomy: {
    flag: 'service-autonomy-enhancement',
    group: 'Pruning',
    kind: autonomy,
    default: autonomy.format(AUTONOMY),
    summary:
      "whether endpoints of dead nodes are left out, and where the agent is asked; interval is how often SuperEdge's agents are polled, in seconds; ours push",
  },
  healthLimitMs: {
    flag: 'health-limit',
    group: 'Pruning',
    kind: duration('10s', '24h'),
    default: '5m',
    summary:
      "how long the agent's last report is used after it fell silent; then every endpoint is served",
    relation:
      'at least three times interval of --service-autonomy-enhancement, while that is enabled; by default that or 5m, whichever is longer',
  },
  bootWaitMs: {
    flag: 'boot-wait',
    group: 'Offline',
    kind: duration('0ms', '1m'),
    default: '3s',
    summary:
      'how long the wrapper waits for the apiserver at its start before it serves the lists on disk',
  },
  savePeriodMs: {
    flag: 'save-period',
    group: 'Offline',
    kind: duration('1s', '24h'),
    default: '30s',
    summary: 'least time between two writes of a list to disk; longer for large lists',
  },
  eventBuffer: {
    flag: 'event-buffer',
    group: 'Offline',
    kind: integer(0, 100_000),
    default: '1000',
    summary:
      'most Events that wait in memory for the apiserver, at most half of them from one user; 0 refuses them',
  },
  eventBufferBytes: {
    flag: 'event-buffer-bytes',
    group: 'Offline',
    kind: integer(0, 100_000_000),
    default: '1048576',
    summary: 'most bytes of these Events, shared in the same way',
  },
  logLevel: logLevelOption,
}

/** In the order of help and reference. */
const groups: Readonly<Record<Group, string>> = {
  Node: 'Who we are',
  Listening: 'Where we listen',
  Kubernetes: 'How Kubernetes is reached',
  Pruning: 'What is left out',
  Offline: 'Without the cloud',
  Log: 'What is logged',
}

const FLOW = 'the wrapper keeps few lists and watches, and the apiserver limits clients itself'

/** The wrapper's options. */
export const wrapperOptionSet: OptionSet = {
  command: 'wrapper',
  example: wrapperDefinitions.savePeriodMs.flag,
  groups,
  definitions: inGroups(groups, Object.values(wrapperDefinitions)),
  profiles: {},
  ignored: {
    ...klogFlags,
    'kube-qps': FLOW,
    'kube-burst': FLOW,
    'support-endpointslice': 'EndpointSlices are always served, Endpoints on request',
    debug: 'there is no pprof; --log-level debug says more',
  },
}
