// SPDX-License-Identifier: Apache-2.0

/** Forget what a map or a set remembers of nodes that are not kept: who left the zone. */
export const keepOnly = (
  byName: { keys(): Iterable<string>; delete(name: string): boolean },
  isKept: (node: string) => boolean,
): void => {
  for (const node of byName.keys()) if (!isKept(node)) byName.delete(node)
}
