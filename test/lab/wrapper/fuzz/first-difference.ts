// SPDX-License-Identifier: Apache-2.0
// Where two values part, in words.

const MOST_CHARS = 300

const shown = (value: unknown): string => {
  const text = value === undefined ? '(none)' : JSON.stringify(value)
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Place = readonly (string | number)[]

interface Parting {
  readonly at: Place
  readonly one: unknown
  readonly other: unknown
}

/** The values behind each other in a list, an object or a text of lines; undefined for what is one value. */
const partsOf = (one: unknown, other: unknown): readonly (string | number)[] | undefined => {
  if (Array.isArray(one) && Array.isArray(other))
    return Array.from({ length: Math.max(one.length, other.length) }, (_, i) => i)
  if (isObject(one) && isObject(other))
    return [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return undefined
}

const parting = (one: unknown, other: unknown, at: Place): Parting | undefined => {
  if (Object.is(one, other)) return undefined
  const parts = partsOf(one, other)
  if (parts === undefined) return { at, one, other }
  for (const part of parts) {
    const inner = (whole: unknown): unknown => (whole as Readonly<Record<string, unknown>>)[part]
    const found = parting(inner(one), inner(other), [...at, part])
    if (found !== undefined) return found
  }
  return undefined
}

const lines = (value: unknown): unknown =>
  typeof value === 'string' && value.includes('\n') ? value.split('\n') : value

/** The first path at which they differ, and what each has there; texts are compared by lines, counted from 0. */
export const firstDifference = (straight: unknown, wrapped: unknown): string => {
  const found = parting(lines(straight), lines(wrapped), [])
  if (found === undefined) return 'the same'
  const path = found.at.map(part => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('')
  return `at ${path === '' ? 'the top' : path}: straight ${shown(found.one)}, wrapper ${shown(found.other)}`
}
