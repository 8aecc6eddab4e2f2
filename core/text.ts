// SPDX-License-Identifier: Apache-2.0

export type Colour = 'red' | 'yellow' | 'green' | 'bold' | 'dim'

/** Colours text, or leaves it as it is. */
export type Paint = (colour: Colour, text: string) => string

/** Texts as they are. */
export const plain: Paint = (_colour, text) => text

/** `23 s`, `52 min`, `3 h`, `4 d`; an en dash for nothing. */
export const ageText = (seconds: number | null): string => {
  if (seconds === null) return '–'
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** Seconds from one instant to another, both ISO; null when there is no first. */
export const secondsSince = (since: string | null, at: string): number | null =>
  since === null ? null : Math.max(0, (Date.parse(at) - Date.parse(since)) / 1_000)

/**
 * Make text from outside, such as names and reasons, safe for a terminal: replace whatever could move, colour, hide or reorder
 * the text around it. That is control characters, format characters such as those of writing direction, and line separators.
 */
export const clean = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')

/** The same for a text of several lines. */
export const cleanLines = (text: string): string => text.split('\n').map(clean).join('\n')

/** `a, b, c`, or the first few and how many more there are; empty for none. */
export const listed = (names: readonly string[], most = 6): string =>
  names.slice(0, most).join(', ') + (names.length > most ? ` and ${names.length - most} more` : '')

interface Cell {
  readonly text: string
  readonly colour?: Colour
}

/** Columns as wide as their widest cell, two spaces apart, nothing after the last one. */
export const table = (rows: readonly (readonly (string | Cell)[])[], paint: Paint): string => {
  const cells = rows.map(row =>
    row.map(cell => {
      const { text, colour } = typeof cell === 'string' ? { text: cell } : cell
      return { text: clean(text), colour: colour }
    }),
  )
  const widths: number[] = []
  for (const row of cells)
    for (const [index, { text }] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, text.length)
  const lines = cells.map(row => {
    const last = row.findLastIndex(({ text }) => text !== '')
    return row
      .slice(0, last + 1)
      .map(({ text, colour }, index) => {
        const padded = index === last ? text : text.padEnd(widths[index]!)
        return colour === undefined ? padded : paint(colour, padded)
      })
      .join('  ')
  })
  return `${lines.join('\n')}\n`
}
