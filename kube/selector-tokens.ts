// SPDX-License-Identifier: Apache-2.0

/** A piece of a label selector. Keywords are words: only the place tells whether `in` is an operator. */
export interface Token {
  readonly kind: 'word' | 'end' | 'broken' | '!' | '(' | ')' | ',' | '=' | '==' | '!=' | '<' | '>'
  /** As written; empty at the end. */
  readonly text: string
}

const SYMBOLS = ['==', '!=', '!', '(', ')', ',', '=', '<', '>'] as const
const WORD = /[^\s=!(),<>]+/y

/** Cut a label selector into tokens; the last one is always `end`. */
export const cutSelector = (text: string): readonly Token[] => {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    if (' \t\r\n'.includes(text[at]!)) {
      at++
      continue
    }
    const symbol = SYMBOLS.find(each => text.startsWith(each, at))
    if (symbol !== undefined) tokens.push({ kind: symbol, text: symbol })
    WORD.lastIndex = at
    const found = symbol ?? WORD.exec(text)?.[0] ?? text[at]!
    if (symbol === undefined)
      tokens.push({ kind: /^\s$/.test(found) ? 'broken' : 'word', text: found })
    at += found.length
  }
  return [...tokens, { kind: 'end', text: '' }]
}
