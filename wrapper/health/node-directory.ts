// SPDX-License-Identifier: Apache-2.0
import type { NodeAddresses } from './known-health.js'

/** The nodes' addresses; they are learnt when an address is asked for the first time. */
export class NodeDirectory implements NodeAddresses {
  readonly #onAsked: () => void
  readonly #addresses = new Map<string, readonly string[]>()
  readonly #names = new Map<string, Set<string>>()

  /** @param onAsked called whenever the node of an address is asked for */
  constructor(onAsked: () => void) {
    this.#onAsked = onAsked
  }

  addressesOf(name: string): readonly string[] {
    return this.#addresses.get(name) ?? []
  }

  namesOf(address: string): readonly string[] {
    this.#onAsked()
    return [...(this.#names.get(address) ?? [])]
  }

  /** All nodes with their addresses, for the disk. */
  get entries(): ReadonlyMap<string, readonly string[]> {
    return this.#addresses
  }

  /**
   * Take all nodes with their addresses.
   * @returns names of nodes that are new, gone, or have other addresses
   */
  update(nodes: ReadonlyMap<string, readonly string[]>): readonly string[] {
    const gone = [...this.#addresses.keys()].filter(name => !nodes.has(name))
    const changed = [...nodes].filter(
      ([name, addresses]) => this.#addresses.get(name)?.join() !== addresses.join(),
    )
    for (const name of gone) this.#set(name, undefined)
    for (const [name, addresses] of changed) this.#set(name, addresses)
    return [...gone, ...changed.map(([name]) => name)]
  }

  #set(name: string, addresses: readonly string[] | undefined): void {
    for (const address of this.addressesOf(name)) this.#names.get(address)?.delete(name)
    if (addresses === undefined) this.#addresses.delete(name)
    else this.#addresses.set(name, addresses)
    for (const address of addresses ?? []) {
      const names = this.#names.get(address)
      if (names === undefined) this.#names.set(address, new Set([name]))
      else names.add(name)
    }
  }
}
