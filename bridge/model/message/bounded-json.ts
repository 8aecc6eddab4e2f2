// SPDX-License-Identifier: Apache-2.0
import { parseExactJson } from '../../../core/exact-json.js'
import { InvalidInputError } from '../../../core/errors.js'

/** The hub refuses longer frames. Counted in characters, which are never more than bytes. */
export const MAX_FRAME_LENGTH = 8 * 1024 * 1024
/** Deeper than any object of the API is nested. */
const MAX_DEPTH = 64
/** A short text such as `[[[…` or `{},{},…` could otherwise take a hundred times its size in memory. */
const MAX_VALUES = 100_000
/** A number as long as `parseExactJson` reads apart, which takes it much longer than others. */
const LONG_NUMBER = 16
const MAX_LONG_NUMBERS = 10_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPENERS: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSERS: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** The index after the string that begins at `start`; the text's length if it does not end. */
const endOfText = (json: string, start: number): number => {
  let at = start + 1
  while (at < json.length && json.charCodeAt(at) !== QUOTE)
    at += json.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

const checkCount = (thing: string, count: number, most: number, what: string): void => {
  if (count > most) throw new InvalidInputError(thing, `must have at most ${most} ${what}`, count)
}

const checkShape = (thing: string, json: string): void => {
  let depth = 0
  let values = 1
  let digits = 0
  let longNumbers = 0
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    digits = isDigit(code) ? digits + 1 : 0
    if (digits === LONG_NUMBER) longNumbers++
    else if (code === QUOTE) at = endOfText(json, at)
    else if (code === COMMA) values++
    else if (CLOSERS.has(code)) depth--
    else if (OPENERS.has(code)) {
      depth++
      values++
    }
    if (depth > MAX_DEPTH)
      throw new InvalidInputError(thing, `must be at most ${MAX_DEPTH} levels deep`, depth)
    checkCount(thing, values, MAX_VALUES, 'values')
    checkCount(thing, longNumbers, MAX_LONG_NUMBERS, `numbers of ${LONG_NUMBER} digits`)
  }
}

/**
 * Parse untrusted JSON, as `parseExactJson` does. Errors never quote the text, which may be secret.
 * @throws InvalidInputError that names the thing when the text is too long, too deep, has too many values or long numbers, or is
 * not JSON
 */
export const parseBoundedJson = (thing: string, json: string): unknown => {
  if (json.length > MAX_FRAME_LENGTH)
    throw new InvalidInputError(
      thing,
      `must be at most ${MAX_FRAME_LENGTH} characters long`,
      json.length,
    )
  checkShape(thing, json)
  try {
    return parseExactJson(json)
  } catch {
    throw new InvalidInputError(thing, 'must be JSON', `text of ${json.length} characters`)
  }
}
