// SPDX-License-Identifier: Apache-2.0
import { badRequest } from './status.js'

/** One condition of a field selector. */
export interface FieldTerm {
  readonly field: string
  readonly isEqual: boolean
  readonly value: string
}

/** Split at commas that are not escaped; empty parts do not count. */
const terms = (text: string): readonly string[] => {
  const found: string[] = []
  let start = 0
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '\\') at++
    else if (at === text.length || text[at] === ',') {
      found.push(text.slice(start, at))
      start = at + 1
    }
  }
  if (start < text.length) found.push(text.slice(start))
  return found.filter(term => term !== '')
}

const unescape = (text: string): string => {
  let out = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (char === ',' || char === '=')
      throw badRequest(
        `invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`,
      )
    if (char !== '\\') {
      out += char
      continue
    }
    const next = text[++at] ?? ''
    if (next === '' || !',=\\'.includes(next))
      throw badRequest(`invalid field selector: invalid escape sequence: \\${next}`)
    out += next
  }
  return out
}

/**
 * A field selector: `metadata.name=a,spec.clusterIP!=None`. Empty means everything.
 * @param complaint about a field that the kind is not chosen by; undefined for one that it is.
 * @throws Refusal 400 when it does not parse or the kind does not serve a field.
 */
export const parseFieldSelector = (
  text: string,
  complaint: (field: string) => string | undefined,
): readonly FieldTerm[] =>
  terms(text).flatMap(term => {
    const found = /^(.*?)(!=|==|=)(.*)$/s.exec(term)
    if (found === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
    const [, field = '', operator, value = ''] = found
    // kube-apiserver takes it for no condition at all.
    if (field === '' && value === '') return []
    const trouble = complaint(field)
    if (trouble !== undefined) throw badRequest(trouble)
    return [{ field, isEqual: operator !== '!=', value: unescape(value) }]
  })
