// SPDX-License-Identifier: Apache-2.0

const MAY_BE_LONG = /[\s:,[]-?\d{16}/
/** Text, which is stepped over, or a whole number of 16 digits and more. */
const TEXT_OR_LONG = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.+-])-?\d{16,}(?![\w.+-])/gs

/**
 * Parse JSON, but with whole numbers of 16 digits and more as text: a number of JavaScript would lose their last digits,
 * and an int64 that Go wrote would no longer be one. @throws SyntaxError
 */
export const parseExactJson = (text: string): unknown =>
  JSON.parse(
    MAY_BE_LONG.test(text)
      ? text.replace(TEXT_OR_LONG, found => (found.startsWith('"') ? found : `"${found}"`))
      : text,
  )
