// SPDX-License-Identifier: Apache-2.0

/** The value below which this share of the list lies; NaN of an empty list. */
export const quantile = (list: readonly number[], share: number): number => {
  const sorted = [...list].sort((a, b) => a - b)
  const place = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))
  return sorted[place] ?? Number.NaN
}

export const mean = (list: readonly number[]): number =>
  list.reduce((sum, value) => sum + value, 0) / list.length

/** One decimal; – for what is not finite. */
export const inSeconds = (ms: number): string =>
  Number.isFinite(ms) ? (ms / 1_000).toFixed(1) : '–'

/** `p50/p99` of milliseconds, in seconds. */
export const spread = (list: readonly number[]): string =>
  `${inSeconds(quantile(list, 0.5))}/${inSeconds(quantile(list, 0.99))}`

/** Few digits, and 0 as 0: what was never seen is no small number. */
export const short = (value: number): string =>
  value === 0 ? '0' : Number.isFinite(value) ? String(Number(value.toPrecision(2))) : '–'

/** Rows of text in columns. */
export const inColumns = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string => {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return all.map(line).join('\n')
}
