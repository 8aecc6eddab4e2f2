// SPDX-License-Identifier: Apache-2.0
import type { CheckPlugin } from '../core/check.js'
import type { Dial, HttpGet } from '../core/dial.js'
import type { NodeName } from '../core/ids.js'
import type { PluginSpec } from './spec.js'

/** What a node last said about its own kubelet; `unknown` also when its record is too old to count. */
export type SelfReport = 'well' | 'bad' | 'unknown'

/** What check plugins use of the world. */
export interface PluginSeams {
  readonly dial: Dial
  readonly http: HttpGet
  /** The text of a file, read anew on each call, so that a rotated token or CA is picked up. */
  readonly readFile: (path: string) => Promise<string>
  /** What that node's newest record says; answers at once. */
  readonly selfReport: (name: NodeName) => SelfReport
}

/** A key of a plugin's option text beyond those that all plugins share. */
export type OwnKey = 'port' | 'url' | 'ca' | 'token-file'

/** One kind of check plugin: what a new file in this folder exports, and what `registry.ts` lists. */
export interface PluginKind {
  readonly name: string
  /** The keys that it takes beside `weight`, `timeout` and `retrytime`. */
  readonly keys: readonly OwnKey[]
  /** Used when the operator names none; 0 when the kind has no port. */
  readonly defaultPort: number
  /**
   * True when a probe goes to the node itself. A kind that only reads what was received cannot notice that a node is gone, so
   * such kinds alone never make a usable set.
   */
  readonly reachesNode: boolean
  /** @throws InvalidInputError when the keys do not fit together; `thing` is how the error names the option. */
  readonly check?: (spec: PluginSpec, thing: string) => void
  readonly make: (spec: PluginSpec, seams: PluginSeams) => Omit<CheckPlugin, 'reachesNode'>
}
