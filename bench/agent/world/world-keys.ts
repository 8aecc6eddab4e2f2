// SPDX-License-Identifier: Apache-2.0
import { writeIdentity } from '../../../agent/identity/annotation.js'
import { generateNodeKeys, type NodeKeys } from '../../../agent/identity/node-keys.js'
import type { Pin } from '../../../agent/identity/pins.js'
import { rememberPins } from '../../../agent/stages/identity/remembered-pins.js'
import type { NodeName } from '../../../core/ids.js'
import type { Member } from '../../../core/roster.js'

/** Of all keys of the world: nobody has changed them yet. */
export const GENERATION = 1

/** The keys of the world's nodes, each pair made once. */
export class WorldKeys {
  readonly #keys: ReadonlyMap<NodeName, NodeKeys>
  readonly #pins = new Map<NodeName, Pin>()

  constructor(members: readonly Member[]) {
    this.#keys = new Map(members.map(({ name }) => [name, generateNodeKeys()]))
  }

  /** Undefined of a node that is not the world's. */
  of(name: NodeName): NodeKeys | undefined {
    return this.#keys.get(name)
  }

  /** What the annotation of its Node says; undefined of a node that is not the world's. */
  publish(node: NodeName, uid: string): string | undefined {
    const keys = this.#keys.get(node)
    if (keys === undefined) return undefined
    this.#pins.set(node, { node, uid, generation: GENERATION, keys: keys.public })
    return writeIdentity({ clusterId: '', node, uid }, GENERATION, keys)
  }

  /** What an agent that ran here before remembers of the Nodes that were published. */
  get remembered(): string {
    return rememberPins(this.#pins.values())
  }
}
