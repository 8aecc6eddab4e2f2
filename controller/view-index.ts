// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../core/errors.js'

/** The values under which a view is found; none when it is not in this index. */
export type IndexOf<View> = (view: View) => readonly string[]

/** Keys of views by their values, for several indices. */
export class ViewIndex<View> {
  readonly #indices: readonly (readonly [name: string, of: IndexOf<View>])[]
  readonly #keys: ReadonlyMap<string, Map<string, Set<string>>>

  constructor(indices: Readonly<Record<string, IndexOf<View>>>) {
    this.#indices = Object.entries(indices)
    this.#keys = new Map(this.#indices.map(([name]) => [name, new Map<string, Set<string>>()]))
  }

  /** A view's values in each index. @throws what an index function throws */
  valuesOf(view: View): readonly (readonly string[])[] {
    return this.#indices.map(([, of]) => [...new Set(of(view))])
  }

  add(key: string, values: readonly (readonly string[])[]): void {
    this.#each(values, (keys, value) => {
      const found = keys.get(value) ?? new Set<string>()
      keys.set(value, found.add(key))
    })
  }

  remove(key: string, values: readonly (readonly string[])[]): void {
    this.#each(values, (keys, value) => {
      const found = keys.get(value)!
      found.delete(key)
      if (found.size === 0) keys.delete(value)
    })
  }

  /** @throws InvalidInputError when there is no such index */
  keys(index: string, value: string): readonly string[] {
    const keys = this.#keys.get(index)
    if (keys === undefined)
      throw new InvalidInputError(
        'index',
        `must be one of ${[...this.#keys.keys()].join(', ')}`,
        index,
      )
    return [...(keys.get(value) ?? [])]
  }

  #each(
    values: readonly (readonly string[])[],
    visit: (keys: Map<string, Set<string>>, value: string) => void,
  ): void {
    this.#indices.forEach(([name], i) => {
      for (const value of values[i]!) visit(this.#keys.get(name)!, value)
    })
  }
}
