// SPDX-License-Identifier: Apache-2.0
import type { ListenAddress } from '../../options/kinds.js'

/** All options of the grids' controller, resolved, checked and frozen. */
export interface GridsOptions {
  readonly kubeconfig: string | undefined
  readonly masterUrl: string | undefined
  /** Namespace of the leader's Lease. @default edge-system */
  readonly leaseNamespace: string
  /** @default edge-health-grids */
  readonly leaseName: string
  /** Shown as the Lease's holder and in Events; undefined: the machine's name. */
  readonly identity: string | undefined
  /** How long a unit must be gone before its children are deleted. @default 300_000 */
  readonly unitGraceMs: number
  /** Concurrent writes of all grids together. @default 16 */
  readonly writesAtOnce: number
  /** Where `/metrics`, `/status`, `/healthz` and `/readyz` are. @default 127.0.0.1:51008 */
  readonly statusAddress: ListenAddress
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}
