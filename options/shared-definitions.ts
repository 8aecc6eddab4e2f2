// SPDX-License-Identifier: Apache-2.0
// Options that more than one program has: what is the same in all of them.
import { listenAddress, nodeName, objectName, oneOf, optional, path, text, url } from './kinds.js'

export const nodeNameOption = {
  flag: 'node-name',
  group: 'Node',
  kind: nodeName,
  default: undefined,
  summary: 'name of the Node that this program runs on',
  aliases: [{ name: 'hostname' }],
  env: 'NODE_NAME',
} as const

export const kubeconfigOption = {
  flag: 'kubeconfig',
  group: 'Kubernetes',
  kind: optional(path),
  default: '',
  summary: 'path of a kubeconfig; none: in-cluster credentials are tried',
} as const

export const masterUrlOption = {
  flag: 'master-url',
  group: 'Kubernetes',
  kind: optional(url('https', 'http')),
  default: '',
  summary: 'URL of the apiserver, in place of the one in the kubeconfig',
} as const

/** Each program has a port of its own. */
export const statusAddressOption = {
  flag: 'status-address',
  group: 'Listening',
  kind: listenAddress,
  summary: 'address of /metrics, /status, /healthz and /readyz',
} as const

/** The same of a program that also explains its decisions. */
export const explainingStatusAddressOption = {
  ...statusAddressOption,
  summary: 'address of /metrics, /status, /explain, /healthz and /readyz',
} as const

/** Namespace of the leader election's Lease; each program adds a summary that says what its leader does. */
export const leaseNamespaceOption = {
  flag: 'lease-namespace',
  group: 'Leader',
  kind: objectName,
  default: 'edge-system',
} as const

/** Each program has a Lease of its own. */
export const leaseNameOption = {
  flag: 'lease-name',
  group: 'Leader',
  kind: objectName,
  summary: 'name of the Lease',
} as const

export const leaderIdentityOption = {
  flag: 'identity',
  group: 'Leader',
  kind: optional(text),
  default: '',
  summary: "name of this process in the Lease; none: the machine's name",
  env: 'POD_NAME',
} as const

export const logLevelOption = {
  flag: 'log-level',
  group: 'Log',
  kind: oneOf('debug', 'info', 'warn', 'error'),
  default: 'info',
  summary: 'least severe level that is logged',
} as const
