// SPDX-License-Identifier: Apache-2.0
// What each part of the checks ends with: `N passed, N failed[, N skipped]`.

const LINE = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/

/** The counts that a line tells; undefined when it tells none. */
export const parseCounts = line => {
  const [, passed, failed, skipped = '0'] = LINE.exec(line) ?? []
  if (passed === undefined) return undefined
  return { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) }
}

/**
 * What a part counts for: its own last line, if its end fits to it. A part that told nothing, that asserted nothing, or
 * that failed without a failure to show, is a failure.
 */
export const judgePart = (code, counts) => {
  const { passed = 0, failed = 0, skipped = 0 } = counts ?? {}
  const isExplained = code === 0 ? passed > 0 && failed === 0 : failed > 0
  return { passed, failed: isExplained ? failed : failed + 1, skipped }
}

export const addCounts = (a, b) => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
})

export const showCounts = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
