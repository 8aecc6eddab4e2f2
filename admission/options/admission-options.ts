// SPDX-License-Identifier: Apache-2.0
import type { ListenAddress } from '../../options/kinds.js'

/** All options of the webhook, resolved, checked and frozen. */
export interface AdmissionOptions {
  readonly kubeconfig: string | undefined
  readonly masterUrl: string | undefined
  /** When a node's Pods are kept. @default vouched */
  readonly mode: 'vouched' | 'superedge'
  /** Greatest age of the peers' report. @default 30_000 */
  readonly freshForMs: number
  /** In mode superedge: keep marked nodes too. @default false */
  readonly alwaysReachable: boolean
  /** Where reviews are answered. @default 0.0.0.0:8443 */
  readonly listenAddress: ListenAddress
  /** A certificate that somebody else maintains; undefined: the webhook maintains its own. Requires `keyFile`. */
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  /** Namespace of the Service and the Secret; objects in it are never changed. @default edge-system */
  readonly namespace: string
  /**
   * The Service under which the apiserver reaches the webhook, and the name in its certificate. @default
   * edge-health-webhook
   */
  readonly serviceName: string
  /** Name of the webhook configurations. @default edge-health-webhook */
  readonly registration: string
  /** Secret of the webhook's own certificates. @default edge-health-webhook-certificates */
  readonly secretName: string
  /** Where `/metrics`, `/status`, `/healthz`, `/readyz` and `/explain` are. @default 127.0.0.1:51010 */
  readonly statusAddress: ListenAddress
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
