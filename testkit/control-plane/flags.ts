// SPDX-License-Identifier: Apache-2.0
// The arguments of the three programs, and what the apiserver reads beside them.
import { join } from 'node:path'

export const API_PORT = 6443
export const ETCD = 'http://127.0.0.1:2379'
const ETCD_PEER = 'http://127.0.0.1:2380'
export const MANAGER_PORT = 10257

/** The audit log has these accounts alone: reads by others fill a disk and prove nothing. */
export const auditPolicy = (accounts: readonly string[]): string => `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: Request
    users: ${JSON.stringify(accounts)}
    verbs: [create, update, patch, delete]
  - level: Metadata
    users: ${JSON.stringify(accounts)}
  - level: None
`

/** The ServiceAccount of deploy/base, as the apiserver calls it. */
export const AGENT_ACCOUNT = 'system:serviceaccount:edge-system:edge-health-agent'
export const WRAPPER_ACCOUNT = 'system:serviceaccount:edge-system:edge-health-wrapper'
/** All that deploy/ runs with. */
export const OWN_ACCOUNTS: readonly string[] = [
  ...[AGENT_ACCOUNT, WRAPPER_ACCOUNT],
  ...['webhook', 'bridge', 'grids'].map(
    name => `system:serviceaccount:edge-system:edge-health-${name}`,
  ),
]

const seconds = (ms: number): string => `${Math.max(1, Math.round(ms / 1000))}s`

/** The node-lifecycle controller's round: its own default, or less, so that it does not add much to a short patience. */
export const monitorMsOf = (graceMs: number): number =>
  1_000 * Math.max(1, Math.round(Math.min(5_000, graceMs / 10) / 1_000))

/** Controllers that judge nodes, and those that act on that. */
export const CONTROLLERS = [
  'node-lifecycle-controller',
  'taint-eviction-controller',
  'endpointslice-controller',
]

export const lifecycleFlags = (graceMs: number): readonly string[] => [
  `--node-monitor-period=${seconds(monitorMsOf(graceMs))}`,
  `--node-monitor-grace-period=${seconds(graceMs)}`,
  `--node-startup-grace-period=${seconds(graceMs + 10_000)}`,
  '--node-eviction-rate=10',
  '--secondary-node-eviction-rate=10',
  '--unhealthy-zone-threshold=1',
]

export const auditLogOf = (dir: string): string => join(dir, 'audit.log')

export const etcdFlags = (dir: string): readonly string[] => {
  return [
    `--data-dir=${join(dir, 'etcd')}`,
    '--unsafe-no-fsync',
    // As kubeadm: without it watches of what never changes get no bookmarks. The name that etcd 3.5 and 3.6 both have.
    '--experimental-watch-progress-notify-interval=5s',
    '--log-level=warn',
    '--name=lab',
    `--listen-client-urls=${ETCD}`,
    `--advertise-client-urls=${ETCD}`,
    `--listen-peer-urls=${ETCD_PEER}`,
    `--initial-advertise-peer-urls=${ETCD_PEER}`,
    `--initial-cluster=lab=${ETCD_PEER}`,
  ]
}

interface ServerOptions {
  readonly admission?: readonly string[]
  readonly serverFlags?: readonly string[]
}

export const serverFlags = (
  dir: string,
  { admission = [], serverFlags = [] }: ServerOptions,
): readonly string[] => {
  const file = (name: string): string => join(dir, name)
  return [
    `--etcd-servers=${ETCD}`,
    '--bind-address=0.0.0.0',
    `--secure-port=${API_PORT}`,
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${file('serving.pem')}`,
    `--tls-private-key-file=${file('serving.key')}`,
    `--client-ca-file=${file('serving.pem')}`,
    `--token-auth-file=${file('tokens.csv')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('sa.key')}`,
    `--service-account-signing-key-file=${file('sa.key')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
    // Pods are made by hand here, with the token that a kubelet would have mounted.
    '--disable-admission-plugins=ServiceAccount',
    ...(admission.length === 0 ? [] : [`--enable-admission-plugins=${admission.join()}`]),
    `--audit-policy-file=${file('audit-policy.yaml')}`,
    `--audit-log-path=${auditLogOf(dir)}`,
    // In megabytes; by default the log is rotated after a hundred, and earlier lines are in another file.
    '--audit-log-maxsize=100000',
    ...serverFlags,
  ]
}
