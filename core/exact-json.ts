// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'

/** Before the digits of a number that was read here. Made anew by each process: nobody outside can write it. */
const MARK = `int ${randomBytes(16).toString('hex')} `
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g')

const MAY_BE_LONG = /(?:^|[\s:,[])-?\d{16}/
/** Text, which is stepped over, or a whole number of 16 digits and more. */
const TEXT_OR_LONG = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.+-])-?\d{16,}(?![\w.+-])/gs

/**
 * Parse JSON, but with whole numbers of 16 digits and more as text that `writeExactJson` knows: a number of JavaScript would
 * lose their last digits, and an int64 that Go wrote would no longer be one. @throws SyntaxError
 */
export const parseExactJson = (text: string): unknown => {
  const plain: unknown = JSON.parse(text)
  if (!MAY_BE_LONG.test(text)) return plain
  // Known to be JSON: a text that never ends would cost the expression the square of its length.
  return JSON.parse(
    text.replace(TEXT_OR_LONG, found => (found.startsWith('"') ? found : `"${MARK}${found}"`)),
  )
}

/** Write JSON, with every number that `parseExactJson` has read as it was. @param value any JSON value */
export const writeExactJson = (value: unknown): string => {
  const text = JSON.stringify(value)
  // What stands in a longer text, such as an error's, is for people; and nobody is to learn the mark.
  return text.includes(MARK) ? text.replace(MARKED, '$1').replaceAll(MARK, '') : text
}
