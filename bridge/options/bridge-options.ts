// SPDX-License-Identifier: Apache-2.0
import type { ListenAddress } from '../../options/kinds.js'
import type { VouchMode } from '../model/vouch/gap.js'

/** All options of the bridge, resolved, checked and frozen. */
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
  /** Whose word renews the Lease of a node that is not heard. @default zone */
  readonly vouch: VouchMode
  /** Where what edges hold is kept at once. @default /var/lib/edge-health-bridge */
  readonly stateDir: string
  /** Where nobody knows what an edge holds, cloudcore's ObjectSyncs are believed. @default false */
  readonly adoptObjectSyncs: boolean
  /** ObjectSyncs are kept as cloudcore would, for the way back to it. @default false */
  readonly writeObjectSyncs: boolean
  /** Where the Lease is, and what edges hold is kept for another bridge. @default edge-system */
  readonly leaseNamespace: string
  /** @default edge-health-bridge */
  readonly leaseName: string
  /** Who we are in the Lease; undefined: the machine's name. */
  readonly identity: string | undefined
  /** Where `/metrics`, `/status`, `/healthz`, `/readyz` and `/explain` are. @default 127.0.0.1:51011 */
  readonly statusAddress: ListenAddress
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
