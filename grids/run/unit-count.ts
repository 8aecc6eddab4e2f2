// SPDX-License-Identifier: Apache-2.0
import type { UnitSource } from '../model/grid.js'
import { unitsOfNode } from '../model/units.js'

/** A Node, as far as units depend on it. */
export interface NodeView {
  readonly labels: Readonly<Record<string, string>>
}

/** The same for sources of the same units. */
export const sourceKey = (source: UnitSource): string =>
  source.by === 'label-value' ? `=${source.key}` : `:${source.names?.join(' ') ?? '*'}`

/** Counts the nodes in each unit of a source. */
export class UnitCount {
  readonly #source: UnitSource
  readonly #nodes = new Map<string, number>()
  #units: readonly string[] | undefined

  constructor(source: UnitSource, nodes: readonly NodeView[]) {
    this.#source = source
    for (const node of nodes) this.change(undefined, node)
  }

  /** Sorted; the same array until it changes. */
  get units(): readonly string[] {
    return (this.#units ??= [...this.#nodes.keys()].sort())
  }

  /** @returns whether a unit appeared or disappeared */
  change(before: NodeView | undefined, after: NodeView | undefined): boolean {
    const gone = this.#add(before, -1)
    const came = this.#add(after, 1)
    const isOther = [...gone].some(unit => !came.delete(unit)) || came.size > 0
    if (isOther) this.#units = undefined
    return isOther
  }

  /** @returns units that appear or disappear by this */
  #add(node: NodeView | undefined, by: 1 | -1): Set<string> {
    const changed = new Set<string>()
    for (const unit of node === undefined ? [] : unitsOfNode(this.#source, node.labels)) {
      const count = (this.#nodes.get(unit) ?? 0) + by
      if (count === 0) this.#nodes.delete(unit)
      else this.#nodes.set(unit, count)
      if (count === 0 || (by === 1 && count === 1)) changed.add(unit)
    }
    return changed
  }
}
