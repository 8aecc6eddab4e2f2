// SPDX-License-Identifier: Apache-2.0
import type { ListenAddress } from '../../options/kinds.js'

/** Everything that the bridge can be told, resolved, checked and frozen. */
export interface BridgeOptions {
  readonly kubeconfig: string | undefined
  readonly masterUrl: string | undefined
  /** Where edges connect, over TLS. @default 0.0.0.0:10000 */
  readonly listenAddress: ListenAddress
  /** Where edges get their certificates, over TLS. @default 0.0.0.0:10002 */
  readonly enrolAddress: ListenAddress
  /** IPs and names by which edges reach the bridge: its certificate is for them. */
  readonly advertiseAddresses: readonly string[]
  /** How long a request of an edge may wait before it is answered with 504. @default 30_000 */
  readonly answerWithinMs: number
  /** Where the Lease is. @default edge-system */
  readonly leaseNamespace: string
  /** @default edge-health-bridge */
  readonly leaseName: string
  /** Who we are in the Lease; undefined: the machine's name. */
  readonly identity: string | undefined
  /** Where `/metrics`, `/status`, `/healthz`, `/readyz` and `/explain` are. @default 127.0.0.1:51011 */
  readonly statusAddress: ListenAddress
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
