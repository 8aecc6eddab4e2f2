// SPDX-License-Identifier: Apache-2.0

/** Delete every entry of a map or set whose key is not kept, such as nodes that left the zone. */
export const keepOnly = <K>(
  entries: { keys(): Iterable<K>; delete(key: K): boolean },
  isKept: (key: K) => boolean,
): void => {
  for (const key of entries.keys()) if (!isKept(key)) entries.delete(key)
}
