// SPDX-License-Identifier: Apache-2.0
import { readNode } from '../wire/node.js'
import { WireError } from '../wire/wire-error.js'
import type { NodeAddresses } from './known-health.js'

/** A Node as the store keeps it. */
export interface NodeBytes {
  readonly key: string
  readonly raw: Uint8Array
}

interface Entry {
  readonly raw: Uint8Array
  readonly ips: readonly string[]
  /** Addresses and labels as one text, to compare. */
  readonly mark: string
}

const entryOf = (raw: Uint8Array): Entry => {
  try {
    const { internalIPs, labels } = readNode(raw)
    return { raw, ips: internalIPs, mark: JSON.stringify([internalIPs, [...labels]]) }
  } catch (error) {
    // Already logged by the store.
    if (error instanceof WireError) return { raw, ips: [], mark: '' }
    throw error
  }
}

/** Which addresses the nodes have. */
export class NodeDirectory implements NodeAddresses {
  readonly #nodes = new Map<string, Entry>()
  readonly #names = new Map<string, Set<string>>()

  addressesOf(name: string): readonly string[] {
    return this.#nodes.get(name)?.ips ?? []
  }

  namesOf(address: string): readonly string[] {
    return [...(this.#names.get(address) ?? [])]
  }

  /**
   * Take the complete set of Nodes; only those whose bytes have changed are decoded.
   * @returns names of nodes that are new, gone, or changed in addresses or labels: a heartbeat is not a change
   */
  update(nodes: readonly NodeBytes[]): readonly string[] {
    const changed: string[] = []
    const now = new Set(nodes.map(({ key }) => key))
    for (const name of [...this.#nodes.keys()])
      if (!now.has(name)) changed.push(...this.#set(name, undefined))
    for (const { key, raw } of nodes)
      if (this.#nodes.get(key)?.raw !== raw) changed.push(...this.#set(key, entryOf(raw)))
    return changed
  }

  #set(name: string, entry: Entry | undefined): readonly string[] {
    const before = this.#nodes.get(name)
    for (const ip of before?.ips ?? []) this.#names.get(ip)?.delete(name)
    if (entry === undefined) this.#nodes.delete(name)
    else this.#nodes.set(name, entry)
    for (const ip of entry?.ips ?? []) this.#nameOf(ip, name)
    return before?.mark === entry?.mark ? [] : [name]
  }

  #nameOf(ip: string, name: string): void {
    const names = this.#names.get(ip)
    if (names === undefined) this.#names.set(ip, new Set([name]))
    else names.add(name)
  }
}
