// SPDX-License-Identifier: Apache-2.0

/** One bar and what was measured. */
export interface Row {
  readonly what: string
  readonly bar: string
  readonly measured: string
  /** Undefined: it could not be measured here. */
  readonly isMet: boolean | undefined
  /** What the table says in place of that. */
  readonly verdict?: string | undefined
}

/** Nearest rank. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN
}

const verdictOf = ({ isMet, verdict }: Row): string =>
  verdict ?? (isMet === undefined ? 'not measured' : isMet ? 'met' : 'MISSED')

export const drawTable = (rows: readonly Row[]): string => {
  const cells = [
    ['what', 'bar', 'measured', ''],
    ...rows.map(row => [row.what, row.bar, row.measured, verdictOf(row)]),
  ]
  const widths = [0, 1, 2, 3].map(i => Math.max(...cells.map(row => row[i]!.length)))
  const lines = cells.map(row => `| ${row.map((text, i) => text.padEnd(widths[i]!)).join(' | ')} |`)
  const rule = `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |`
  return [lines[0], rule, ...lines.slice(1)].join('\n')
}

/** All that is known of the rows as JSON, or the table. */
export const rowsText = (rows: readonly Row[], output: string): string =>
  output === 'json' ? JSON.stringify(rows, undefined, 1) : drawTable(rows)
