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
  /** IPs and names by which edges reach the bridge; its certificate names them. */
  readonly advertiseAddresses: readonly string[]
  /** Deadline of an edge's request; after it the answer is 504. @default 30_000 */
  readonly answerWithinMs: number
  /** When the bridge renews the Lease of a disconnected node. @default zone */
  readonly vouch: VouchMode
  /** Local copy of the records of what edges hold. @default /var/lib/edge-health-bridge */
  readonly stateDir: string
  /** Where there is no record of what an edge holds, read cloudcore's ObjectSyncs. @default false */
  readonly adoptObjectSyncs: boolean
  /** Keep ObjectSyncs as cloudcore does, so that it can take over again. @default false */
  readonly writeObjectSyncs: boolean
  /** Namespace of the leader's Lease and of the records that another bridge would read. @default edge-system */
  readonly leaseNamespace: string
  /** @default edge-health-bridge */
  readonly leaseName: string
  /** Shown as the Lease's holder; undefined: the machine's name. */
  readonly identity: string | undefined
  /** Where `/metrics`, `/status`, `/healthz`, `/readyz` and `/explain` are. @default 127.0.0.1:51011 */
  readonly statusAddress: ListenAddress
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
