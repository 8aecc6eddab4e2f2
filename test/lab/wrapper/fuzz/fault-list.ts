// SPDX-License-Identifier: Apache-2.0
/** Faults that look alike are told so many times; then they are counted. */
const TOLD = 2
const ALIKE_CHARS = 90

/** What faults of one sort have in common: their words without numbers and names. */
const sortOf = (what: string, how: string): string =>
  `${what}: ${how
    .replaceAll(/[\d"\\]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .slice(0, ALIKE_CHARS)}`

/** The faults that a run found, by sort. */
export class FaultList {
  readonly #counts = new Map<string, number>()
  readonly #say: (line: string) => void

  constructor(say: (line: string) => void) {
    this.#say = say
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Whether enough of the kind were told. */
  isKnown(what: string, how: string): boolean {
    return (this.#counts.get(sortOf(what, how)) ?? 0) >= TOLD
  }

  /** @param where the request in full */
  add(what: string, how: string, where: string): void {
    if (!this.isKnown(what, how)) this.#say(`  NOT OK ${where}\n    ${how}`)
    const sort = sortOf(what, how)
    this.#counts.set(sort, (this.#counts.get(sort) ?? 0) + 1)
  }

  /** A line for each sort, the most frequent first. */
  table(): readonly string[] {
    return [...this.#counts]
      .toSorted(([, a], [, b]) => b - a)
      .map(([sort, count]) => `  ${String(count).padStart(6)}  ${sort}`)
  }
}
