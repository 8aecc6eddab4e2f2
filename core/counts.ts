// SPDX-License-Identifier: Apache-2.0

/** A count per word. */
export class Counts<Word extends string = string> {
  readonly #counts = new Map<string, number>()

  /** @param words that have a count of 0 from the start: a rate misses the first event of a series that begins at 1 */
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
