// SPDX-License-Identifier: Apache-2.0

/** The members of a list by their `keyOf`; keys and members keep the order of the list. */
export const groupBy = <K, T>(list: readonly T[], keyOf: (item: T) => K): Map<K, readonly T[]> => {
  const groups = new Map<K, T[]>()
  for (const item of list) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
