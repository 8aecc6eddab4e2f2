// SPDX-License-Identifier: Apache-2.0
import { createHash, createPrivateKey } from 'node:crypto'
import { readNodeKeys, type NodeKeys } from '../../agent/identity/node-keys.js'
import type { Pin } from '../../agent/identity/pins.js'
import type { ZoneIdentities } from '../../agent/results.js'
import type { NodeName } from '../../core/ids.js'

/** What stands before the 32 bytes of a private key in PKCS #8 (RFC 8410). */
const PKCS8 = {
  ed25519: Buffer.from('302e020100300506032b657004220420', 'hex'),
  x25519: Buffer.from('302e020100300506032b656e04220420', 'hex'),
}

/** The same name and generation have the same keys in each run: which keys share their id byte is no matter of luck. */
const keysOf = (name: NodeName, generation: number): NodeKeys => {
  const part = (kind: keyof typeof PKCS8): { x: string; d: string } => {
    const secret = createHash('sha256').update(`${kind} ${name} ${generation}`).digest()
    const der = Buffer.concat([PKCS8[kind], secret])
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const { x = '', d = '' } = key.export({ format: 'jwk' })
    return { x, d }
  }
  return readNodeKeys({ ed25519: part('ed25519'), x25519: part('x25519') })
}

/** Nodes' keys, and what their zone knows of them. */
export class TestIdentities {
  readonly #keys = new Map<NodeName, { keys: NodeKeys; generation: number }>()

  constructor(names: readonly NodeName[]) {
    for (const name of names) this.renew(name)
  }

  /** It gets keys, other ones each time. */
  renew(name: NodeName): void {
    const generation = (this.#keys.get(name)?.generation ?? 0) + 1
    this.#keys.set(name, { keys: keysOf(name, generation), generation })
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
