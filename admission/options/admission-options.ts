// SPDX-License-Identifier: Apache-2.0
import type { ListenAddress } from '../../options/kinds.js'

/** All options of the webhook, resolved, checked and frozen. */
export interface AdmissionOptions {
  readonly kubeconfig: string | undefined
  readonly masterUrl: string | undefined
  /** Which nodes are kept. @default vouched */
  readonly mode: 'vouched' | 'superedge'
  /** How old the peers' word may be. @default 30_000 */
  readonly freshForMs: number
  /** With mode superedge: marked nodes are kept, too. @default false */
  readonly alwaysReachable: boolean
  /** Where reviews are answered. @default 0.0.0.0:8443 */
  readonly listenAddress: ListenAddress
  /** A certificate that somebody else keeps; undefined: we keep our own. With `keyFile` or not at all. */
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  /** Where Service and Secret are; its objects pass as they are. @default edge-system */
  readonly namespace: string
  /** The Service that the apiserver asks; our certificate is for it. @default edge-health-webhook */
  readonly serviceName: string
  /** Of the webhook configurations. @default edge-health-webhook */
  readonly registration: string
  /** Of our own certificates. @default edge-health-webhook-certificates */
  readonly secretName: string
  /** Where `/metrics`, `/status`, `/healthz`, `/readyz` and `/explain` are. @default 127.0.0.1:51010 */
  readonly statusAddress: ListenAddress
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
