// SPDX-License-Identifier: Apache-2.0
import { generateNodeKeys, type NodeKeys } from '../../agent/identity/node-keys.js'
import type { Pin } from '../../agent/identity/pins.js'
import type { ZoneIdentities } from '../../agent/results.js'
import type { NodeName } from '../../core/ids.js'

/** Nodes' keys, and what their zone knows of them. */
export class TestIdentities {
  readonly #keys = new Map<NodeName, { keys: NodeKeys; generation: number }>()

  constructor(names: readonly NodeName[]) {
    for (const name of names) this.renew(name)
  }

  /** It gets keys, other ones each time. */
  renew(name: NodeName): void {
    const { generation } = this.#keys.get(name) ?? { generation: 0 }
    this.#keys.set(name, { keys: generateNodeKeys(), generation: generation + 1 })
  }

  keysOf(name: NodeName): NodeKeys {
    return this.#keys.get(name)!.keys
  }

  /** What this node knows, of everybody or of some. */
  of(name: NodeName, isKnown: (other: NodeName) => boolean = () => true): ZoneIdentities {
    const pins = [...this.#keys].flatMap(([node, { keys, generation }]): [string, Pin][] =>
      node === name || !isKnown(node)
        ? []
        : [[node, { node, uid: `uid-${node}`, generation, keys: keys.public }]],
    )
    return { own: this.#keys.get(name), pins: new Map(pins) }
  }
}
