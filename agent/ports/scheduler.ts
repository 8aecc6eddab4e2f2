// SPDX-License-Identifier: Apache-2.0

/** Starts the rounds of the stages. */
export interface Scheduler {
  /**
   * Run `round` about every `periodMs` until `signal` aborts. Two rounds of one name never overlap; a round that is
   * due while the last one still runs is left out. Steps of the wall clock neither stop the rounds nor replay them.
   * `round` must not reject.
   */
  every(name: string, periodMs: number, signal: AbortSignal, round: () => Promise<void>): void
}
