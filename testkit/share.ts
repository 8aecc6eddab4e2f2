// SPDX-License-Identifier: Apache-2.0
// Tests that play many cases of the same thing: `npm test` plays a share of them, `npm test -- --all` all, and so does a test
// file that runs by itself.
import type { Test } from 'tap'

/** How many are played of so many cases: `few` where a share is asked for. What is left out is told at the end of the run. */
export const shareOf = (t: Test, many: number, few: number, what: string): number => {
  // Set by test/run.mjs; the words of the comment are read by test/tap-output.mjs.
  if (process.env['TEST_SHARE'] !== '1' || many <= few) return many
  t.comment(`left out: ${many - few} of ${many} ${what}`)
  return few
}

/** Of these cases those that are played: the first ones where a share is asked for. */
export const share = <T>(t: Test, cases: readonly T[], few: number, what: string): readonly T[] =>
  cases.slice(0, shareOf(t, cases.length, few, what))
