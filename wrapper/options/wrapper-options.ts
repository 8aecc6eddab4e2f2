// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../core/ids.js'
import type { ListenAddress } from '../../options/kinds.js'

/** SuperEdge's `--service-autonomy-enhancement`: whether the agent's health prunes, and where it is asked. */
export interface Autonomy {
  readonly isOn: boolean
  readonly intervalMs: number
  readonly address: string
}

/** Everything that the wrapper can be told, resolved, checked and frozen. */
export interface WrapperOptions {
  readonly nodeName: NodeName
  readonly stateDir: string
  /** Where kube-proxy and other clients ask. @default 127.0.0.1:51006 */
  readonly bindAddress: ListenAddress
  /** Plain HTTP, on loopback only. @default true */
  readonly insecure: boolean
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  /** Where `/metrics`, `/status`, `/healthz` and `/readyz` are. @default 127.0.0.1:51007 */
  readonly statusAddress: ListenAddress
  /** Changes of a resource that a slow watcher may be behind. @default 8192 */
  readonly notifyChannelSize: number
  readonly kubeconfig: string | undefined
  readonly masterUrl: string | undefined
  /** Whether `default/kubernetes` may be pointed at an address of this node. @default true */
  readonly wrapperInCluster: boolean
  /** @default 'any' */
  readonly topologyKeysMode: 'any' | 'ordered'
  readonly autonomy: Autonomy
  /** How long the last health counts after the agent fell silent. @default 300_000 */
  readonly healthLimitMs: number
  /** How long a boot waits for the apiserver before it serves what the disk remembers. @default 3_000 */
  readonly bootWaitMs: number
  /** A list is written to disk at most once in this period. @default 30_000 */
  readonly savePeriodMs: number
  /** Events that wait for the apiserver, and their bytes. @default 1_000 / 1 MiB */
  readonly eventBuffer: number
  readonly eventBufferBytes: number
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
