// SPDX-License-Identifier: Apache-2.0
import t from 'tap'

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}
// A plain script, since it runs before anything is compiled.
const { parseCounts, judgePart, addCounts, showCounts } = (await import(
  new URL('./counts.mjs', import.meta.url).href
)) as {
  parseCounts: (line: string) => Counts | undefined
  judgePart: (code: number | null, counts: Counts | undefined) => Counts
  addCounts: (a: Counts, b: Counts) => Counts
  showCounts: (counts: Counts) => string
}

const counts = (passed: number, failed: number, skipped = 0): Counts => ({
  passed,
  failed,
  skipped,
})

t.test('a last line is read, and nothing that merely looks like one', async t => {
  t.strictSame(parseCounts('12 passed, 0 failed'), counts(12, 0))
  t.strictSame(parseCounts('12 passed, 3 failed, 4 skipped'), counts(12, 3, 4))
  for (const line of ['', 'statics: 1 passed, 0 failed', '1 passed, 0 failed in 3 s', '1 passed'])
    t.equal(parseCounts(line), undefined, line)
})

const parts: [why: string, code: number | null, given: Counts | undefined, want: Counts][] = [
  ['all held', 0, counts(3, 0), counts(3, 0)],
  ['a failure is counted once', 1, counts(3, 2, 1), counts(3, 2, 1)],
  ['it failed and shows no failure', 1, counts(3, 0), counts(3, 1)],
  ['it failed and says nothing', 2, undefined, counts(0, 1)],
  ['it was ended', null, counts(3, 0), counts(3, 1)],
  ['it claims success with failures', 0, counts(3, 1), counts(3, 2)],
  ['it asserted nothing', 0, counts(0, 0), counts(0, 1)],
  ['it ended well and says nothing', 0, undefined, counts(0, 1)],
]
for (const [why, code, given, want] of parts)
  t.test(why, async t => t.strictSame(judgePart(code, given), want))

t.test('parts are added up', async t => {
  t.strictSame(addCounts(counts(1, 2, 3), counts(10, 20, 30)), counts(11, 22, 33))
  t.equal(showCounts(counts(1, 2)), '1 passed, 2 failed')
  t.equal(showCounts(counts(1, 0, 3)), '1 passed, 0 failed, 3 skipped')
})
