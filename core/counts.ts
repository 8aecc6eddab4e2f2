// SPDX-License-Identifier: Apache-2.0

/** A count for each of some words. */
export class Counts<Word extends string = string> {
  readonly #counts = new Map<string, number>()

  /** @param words that are counted from the start: a rate over a series whose first value is 1 misses that one */
  constructor(words: readonly Word[] = []) {
    for (const word of words) this.#counts.set(word, 0)
  }

  add(word: Word, by = 1): void {
    this.#counts.set(word, (this.#counts.get(word) ?? 0) + by)
  }

  get all(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts)
  }
}

/** Each of `firsts` with each of `seconds`: `apply done`. */
export const pairsOf = <First extends string, Second extends string>(
  firsts: readonly First[],
  seconds: readonly Second[],
): readonly `${First} ${Second}`[] =>
  firsts.flatMap(first => seconds.map(second => `${first} ${second}` as const))
