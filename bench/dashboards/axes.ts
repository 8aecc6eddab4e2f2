// SPDX-License-Identifier: Apache-2.0
// Where a value and an instant stand in a panel, and how they are written there.
import type { QueryRange } from '../../testkit/prometheus/server.js'

export const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** A panel's drawing, in CSS pixels. */
export interface Box {
  readonly width: number
  readonly height: number
  /** Left of it are the labels. */
  readonly left: number
  readonly range: QueryRange
}

/** Below it stand the times. */
const FOOT = 16

export const bottomOf = ({ height }: Box): number => height - FOOT

export const xAt = ({ width, left, range: { from, to } }: Box, at: number): number =>
  left + ((at - from) / (to - from)) * (width - left - 8)

/** From this instant for one step. */
export const widthAt = (box: Box, at: number): number =>
  xAt(box, at + box.range.step) - xAt(box, at) + 0.5

export const text = (x: number, y: number, words: string, anchor = 'start'): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escape(words)}</text>`

/** Left of the drawing. */
export const label = ({ left }: Box, y: number, words: string): string =>
  text(left - 6, y, words, 'end')

/** Minutes since the begin, as in the history of the alerts. */
const times = (box: Box): string => {
  const { from, to } = box.range
  const minutes = Math.floor((to - from) / 60)
  const step = Math.max(1, Math.ceil(minutes / 6))
  const marks = Array.from({ length: Math.floor(minutes / step) + 1 }, (_, i) => i * step)
  const write = (minute: number): string =>
    text(xAt(box, from + minute * 60), box.height - 3, `${minute}:00`, minute === 0 ? 'start' : 'middle') // prettier-ignore
  return marks.map(write).join('')
}

/** A drawing over time. */
export const svg = (box: Box, inner: string): string =>
  `<svg width="${box.width}" height="${box.height}" viewBox="0 0 ${box.width} ${box.height}">${inner}${times(box)}</svg>`

const scaled = (value: number, units: readonly string[], step: number): string => {
  let rest = value
  let index = 0
  while (Math.abs(rest) >= step && index < units.length - 1) {
    rest /= step
    index++
  }
  return `${Number(rest.toPrecision(3))} ${units[index]!}`
}

const LENGTHS = [
  [2 * 86_400, 86_400, 'days'],
  [2 * 3_600, 3_600, 'h'],
  [600, 60, 'min'],
] as const

const length = (seconds: number): string => {
  const [, unit, name] = LENGTHS.find(([least]) => seconds >= least) ?? [0, 1, 's']
  return `${Number((seconds / unit).toPrecision(3))} ${name}`
}

/** A value in Grafana's unit. */
export const show = (value: number, unit: string | undefined): string => {
  switch (unit) {
    case 'bytes':
      return scaled(value, ['B', 'KiB', 'MiB', 'GiB'], 1_024)
    case 'Bps':
      return scaled(value, ['B/s', 'kB/s', 'MB/s'], 1_000)
    case 'percentunit':
      return `${Number((value * 100).toPrecision(2))} %`
    case 's':
      return length(value)
    case 'ops':
    case 'reqps':
      return `${Number(value.toPrecision(2))}/s`
    default:
      return String(Number(value.toPrecision(3)))
  }
}

/** What a unit's round numbers are multiples of, near this value. */
const baseOf = (value: number, unit: string | undefined): number => {
  if (unit === 'bytes') return 1_024 ** Math.floor(Math.log(value) / Math.log(1_024))
  if (unit === 's') return LENGTHS.find(([least]) => value >= least)?.[1] ?? 1
  return 1
}

/** The next number that is good to read in this unit: 1, 2, 3, 4, 5, 6 or 8, and zeros. */
export const roundedUp = (value: number, unit: string | undefined): number => {
  const base = baseOf(value, unit)
  const tens = base * 10 ** Math.floor(Math.log10(value / base))
  return tens * ([1, 2, 3, 4, 5, 6, 8].find(digit => digit * tens >= value) ?? 10)
}
