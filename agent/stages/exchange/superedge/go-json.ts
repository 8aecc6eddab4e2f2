// SPDX-License-Identifier: Apache-2.0

/** Characters that Go's encoder, unlike ours, escapes; SuperEdge signs the escaped form. */
const ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
}

/** A string as Go's encoding/json writes it: HTML characters escaped, lone surrogates replaced. */
export const goString = (text: string): string => {
  // A lone surrogate becomes U+FFFD on its way through UTF-8, as it does in Go.
  const whole = Buffer.from(text, 'utf8').toString('utf8')
  return JSON.stringify(whole)
    .replace(/[<>&\u2028\u2029]/g, char => ESCAPES[char]!)
    .replace(/\\(\\|b|f)/g, (pair, char: string) =>
      char === '\\' ? pair : char === 'b' ? '\\u0008' : '\\u000c',
    )
}

/** Go sorts the keys of a map by their bytes; UTF-16 order differs beyond the basic plane. */
export const goSort = (keys: Iterable<string>): string[] => {
  const list = [...keys]
  return list.every(key => /^[ -~]*$/.test(key))
    ? list.sort()
    : list.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

export type GoDecoded =
  | { readonly ok: true; readonly value: unknown }
  /** As Go's decoder words it. */
  | { readonly ok: false; readonly error: string }

/** Where the first JSON value ends; −1 when the text ends before it does. Only brackets and strings are told apart. */
const endOfValue = (text: string): number => {
  let depth = 0
  let isInString = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (isInString) {
      if (char === '\\') i++
      else if (char === '"') isInString = false
    } else if (char === '"') isInString = true
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    if (depth <= 0 && !isInString) return i + 1
  }
  return -1
}

const parse = (text: string): GoDecoded | undefined => {
  try {
    return { ok: true, value: JSON.parse(text) as unknown }
  } catch {
    // Not JSON as a whole; the caller finds out in which way.
    return undefined
  }
}

/** Decode the first value, as Go's decoder does: what follows it is not looked at. */
export const goDecode = (text: string): GoDecoded => {
  const whole = parse(text)
  if (whole !== undefined) return whole
  const trimmed = text.replace(/^[ \t\r\n]+/, '')
  const first = trimmed[0]
  if (first === undefined) return { ok: false, error: 'EOF' }
  if (first !== '{' && first !== '[') {
    return { ok: false, error: `invalid character '${first}' looking for beginning of value` }
  }
  const end = endOfValue(trimmed)
  if (end < 0) return { ok: false, error: 'unexpected EOF' }
  return parse(trimmed.slice(0, end)) ?? { ok: false, error: 'invalid character in value' }
}
