// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../core/ids.js'
import type { ListenAddress } from '../../options/kinds.js'

/**
 * SuperEdge's `--service-autonomy-enhancement`: whether endpoints of dead nodes are left out, and where the agent
 * is asked.
 */
export interface Autonomy {
  readonly isOn: boolean
  readonly intervalMs: number
  readonly address: string
}

/** The wrapper's options, resolved, checked and frozen. */
export interface WrapperOptions {
  readonly nodeName: NodeName
  readonly stateDir: string
  /**
   * Where kube-proxy and other clients connect.
   * @default 127.0.0.1:51006
   */
  readonly bindAddress: ListenAddress
  /** Plain HTTP, on loopback only. @default true */
  readonly insecure: boolean
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  /** Where `/metrics`, `/status`, `/healthz` and `/readyz` are. @default 127.0.0.1:51007 */
  readonly statusAddress: ListenAddress
  /**
   * Changes of a resource that are remembered for slow watchers.
   * @default 8192
   */
  readonly notifyChannelSize: number
  readonly kubeconfig: string | undefined
  readonly masterUrl: string | undefined
  /** Whether `default/kubernetes` may be pointed at an address of this node. @default true */
  readonly wrapperInCluster: boolean
  /** @default 'any' */
  readonly topologyKeysMode: 'any' | 'ordered'
  readonly autonomy: Autonomy
  /**
   * How long the agent's last report of health is used after the agent fell silent.
   * @default 300_000, or three times the interval of `autonomy` if that is longer
   */
  readonly healthLimitMs: number
  /**
   * How long the wrapper waits for the apiserver at its start before it serves the lists on disk.
   * @default 3_000
   */
  readonly bootWaitMs: number
  /**
   * Least time between two writes of a list to disk.
   * @default 30_000
   */
  readonly savePeriodMs: number
  /**
   * Most Events that wait for the apiserver, and their bytes.
   * @default 1_000 / 1 MiB
   */
  readonly eventBuffer: number
  readonly eventBufferBytes: number
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
