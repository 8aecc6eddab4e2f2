// SPDX-License-Identifier: Apache-2.0

/** A count for each of some words. */
export class Counts {
  readonly #counts = new Map<string, number>()

  /** @param words that are counted from the start: a rate over a series whose first value is 1 misses that one */
  constructor(words: readonly string[] = []) {
    for (const word of words) this.#counts.set(word, 0)
  }

  add(word: string, by = 1): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + by)
  }

  get all(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts)
  }
}
