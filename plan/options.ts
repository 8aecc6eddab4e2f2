// SPDX-License-Identifier: Apache-2.0
import type { Taint } from '../core/node.js'

/** A taint of our own: what the API needs of it. */
export type OwnTaint = Pick<Taint, 'key' | 'value' | 'effect'>

/** Which taints of our own are put on nodes. */
export interface PlanOptions {
  /** Put on a condemned node beside the annotation; undefined puts none. @default undefined */
  readonly deadTaint: OwnTaint | undefined
  /** Keeps new pods away from a vouched node; undefined puts none. @default edge-health/cloud-link-cut:NoSchedule */
  readonly cutTaint: OwnTaint | undefined
}
