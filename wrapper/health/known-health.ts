// SPDX-License-Identifier: Apache-2.0
import { isIP } from 'node:net'
import { checkCount, type LocalInfo } from './local-info.js'

/** Maps addresses to nodes; agents of SuperEdge from v0.8.2 on report by address. */
export interface NodeAddresses {
  addressesOf(name: string): readonly string[]
  namesOf(address: string): readonly string[]
}

/** What the agent reported about each node, by name or address. */
export class KnownHealth {
  readonly #addresses: NodeAddresses
  readonly #byKey = new Map<string, boolean>()

  constructor(addresses: NodeAddresses) {
    this.#addresses = addresses
  }

  /** A report by the node's name wins over one by its address. */
  of(name: string): 'normal' | 'dead' | 'unknown' {
    const isNormal =
      this.#byKey.get(name) ??
      this.#addresses
        .addressesOf(name)
        .map(address => this.#byKey.get(address))
        .find(known => known !== undefined)
    if (isNormal === undefined) return 'unknown'
    return isNormal ? 'normal' : 'dead'
  }

  /**
   * Take a whole document: nodes that are missing in it become unknown.
   * @returns the names whose health may have changed
   */
  replace(info: LocalInfo): readonly string[] {
    const gone = [...this.#byKey.keys()].filter(key => !info.has(key))
    return this.change(new Map([...info, ...gone.map(key => [key, null] as const)]))
  }

  /**
   * Take changes.
   * @returns the names whose health may have changed
   * @throws InvalidInputError when there would be too many nodes; then nothing is taken
   */
  change(info: LocalInfo): readonly string[] {
    checkCount(this.#sizeAfter(info))
    const changed = new Set<string>()
    for (const [key, isNormal] of info) {
      if ((this.#byKey.get(key) ?? null) === isNormal) continue
      if (isNormal === null) this.#byKey.delete(key)
      else this.#byKey.set(key, isNormal)
      for (const name of this.#namesOf(key)) changed.add(name)
    }
    return [...changed]
  }

  get size(): number {
    return this.#byKey.size
  }

  /** Names that are dead now. */
  dead(): readonly string[] {
    const names = [...this.#byKey].flatMap(([key, isNormal]) =>
      isNormal ? [] : this.#namesOf(key),
    )
    return [...new Set(names)].filter(name => this.of(name) === 'dead').sort()
  }

  #sizeAfter(info: LocalInfo): number {
    let size = this.#byKey.size
    for (const [key, isNormal] of info) {
      if (this.#byKey.has(key)) size--
      if (isNormal !== null) size++
    }
    return size
  }

  /** An agent may report a node by its address alone. */
  #namesOf(key: string): readonly string[] {
    return isIP(key) === 0 ? [key] : [key, ...this.#addresses.namesOf(key)]
  }
}
