// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'

/** Marks a number that was read here; its digits follow. It is random per process, so that no document can contain it. */
const MARK = `int ${randomBytes(16).toString('hex')} `
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g')

const MAY_BE_LONG = /(?:^|[\s:,[])-?\d{16}/
/** A string, which is skipped, or a whole number of 16 digits and more. */
const TEXT_OR_LONG = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.+-])-?\d{16,}(?![\w.+-])/gs

/**
 * Parse JSON, but return whole numbers of 16 digits and more as text that `writeExactJson` writes back unchanged. As numbers of
 * JavaScript they would lose their last digits, which breaks an int64 that Go wrote. @throws SyntaxError
 */
export const parseExactJson = (text: string): unknown => {
  const plain: unknown = JSON.parse(text)
  if (!MAY_BE_LONG.test(text)) return plain
  // The text must be valid JSON here: on a string without an end the expression would take quadratic time.
  return JSON.parse(
    text.replace(TEXT_OR_LONG, found => (found.startsWith('"') ? found : `"${MARK}${found}"`)),
  )
}

/** Write JSON; numbers that `parseExactJson` has read are written unchanged. @param value any JSON value */
export const writeExactJson = (value: unknown): string => {
  const text = JSON.stringify(value)
  // A number inside a longer text, such as an error message, is for people: drop the mark there, which is secret.
  return text.includes(MARK) ? text.replace(MARKED, '$1').replaceAll(MARK, '') : text
}
