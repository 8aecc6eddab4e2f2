// SPDX-License-Identifier: Apache-2.0
import type { Range } from './fields.js'

/** One endpoint of a slice, or one address of an Endpoints object: where it lies, and what pruning asks about it. */
export interface EndpointView extends Range {
  /** The node that it runs on; undefined when the object does not say. */
  readonly node: string | undefined
  /** Its first address. Read from the bytes each time: for people, not for rules. */
  readonly address: string
  /** Would a proxy send traffic to it: ready, or still serving while it terminates. */
  readonly isUsable: boolean
}
