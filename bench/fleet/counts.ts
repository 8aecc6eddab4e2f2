// SPDX-License-Identifier: Apache-2.0

/** How often something was, by its name. */
export type Counts = Readonly<Record<string, number>>

/** Of each name of either, what comes of both numbers. */
export const combined = (
  a: Counts,
  b: Counts,
  of: (one: number, other: number) => number,
): Counts =>
  Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map(name => [
      name,
      of(a[name] ?? 0, b[name] ?? 0),
    ]),
  )
