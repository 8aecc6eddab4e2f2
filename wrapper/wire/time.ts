// SPDX-License-Identifier: Apache-2.0

/** 0001-01-01T00:00:00Z in seconds, which is Go's zero time: "never". */
export const FIRST_SECOND = -62_135_596_800
/** The Gregorian calendar repeats after this; `Date` supports only some of the years that 64 bits of seconds can reach. */
const CYCLE_YEARS = 400
const CYCLE_SECONDS = 12_622_780_800
/** A year of the cycle that `Date` writes with four digits. */
const BASE_YEAR = 2_000
const BASE_SECOND = 946_684_800

/** Seconds since the epoch as Go writes them, for any year, with at least four digits of it. */
export const timeText = (seconds: number): string => {
  const cycles = Math.floor((seconds - BASE_SECOND) / CYCLE_SECONDS)
  const date = new Date((seconds - cycles * CYCLE_SECONDS) * 1000)
  const year = date.getUTCFullYear() + cycles * CYCLE_YEARS
  const digits = String(Math.abs(year)).padStart(4, '0')
  return `${year < 0 ? '-' : ''}${digits}${date.toISOString().slice(4, -5)}Z`
}

const RFC3339 = /^(-?\d{4,12})(-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))$/

/** The whole seconds of a time as `timeText` writes it, or with fractions and an offset; NaN when it is not a time. */
export const secondsOf = (text: string): number => {
  const found = RFC3339.exec(text)
  if (found === null) return NaN
  const [, yearText, rest] = found
  const year = Number(yearText)
  const cycles = Math.floor((year - BASE_YEAR) / CYCLE_YEARS)
  const base = Date.parse(`${year - cycles * CYCLE_YEARS}${rest!}`)
  return Math.floor(base / 1000) + cycles * CYCLE_SECONDS
}
