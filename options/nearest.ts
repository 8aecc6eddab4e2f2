// SPDX-License-Identifier: Apache-2.0

/** Edits (insert, delete, replace, swap of neighbours) between two short words. */
const distance = (a: string, b: string): number => {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
    }
    before = last
    last = row
  }
  return last[b.length]!
}

/** The known name that was probably meant; undefined when none is close. */
export const nearest = (given: string, known: readonly string[]): string | undefined => {
  if (given.length > 64) return undefined
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(given.length / 3)) + 1
  for (const name of known) {
    const edits = distance(given, name)
    if (edits < bestDistance) {
      best = name
      bestDistance = edits
    }
  }
  return best
}

/** ` (did you mean X?)`, or nothing. */
export const suggestion = (given: string, known: readonly string[], before = ''): string => {
  const name = nearest(given, known)
  return name === undefined ? '' : ` (did you mean ${before}${name}?)`
}
