// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { parseBoundedJson } from './bounded-json.js'

/** Both alphabets: Go's encoder writes the one of `+` and `/`, some of KubeEdge's code reads the one of `-` and `_`. */
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const JSON_START = /^\s*[{["]/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const utf8 = new TextDecoder('utf-8', { fatal: true })

const fromBase64 = (text: string): string | undefined => {
  if (text === '' || !BASE64.test(text)) return undefined
  try {
    return utf8.decode(Buffer.from(text, 'base64'))
  } catch {
    return undefined
  }
}

/**
 * JSON as text, whichever of the ways it came in: as a value, as text, or as bytes, which Go writes as base64. What
 * begins like an object, a list or a text is never taken for base64: none of these letters belongs to it.
 * @throws InvalidInputError; the content itself is not quoted.
 */
export const jsonTextOf = (thing: string, content: unknown): string => {
  if (typeof content !== 'string') return writeExactJson(content)
  const text = JSON_START.test(content) ? content : fromBase64(content)
  if (text === undefined || !JSON_START.test(text))
    throw new InvalidInputError(
      thing,
      'must be an object, or one as text or base64',
      `text of ${content.length} characters`,
    )
  return text
}

const asMap = (thing: string, value: unknown): JsonMap => {
  if (!isMap(value)) throw new InvalidInputError(thing, 'must be an object', typeof value)
  return value
}

/**
 * A content that is to be an object: a whole one, or one of the delete options, token requests, …
 * @throws InvalidInputError
 */
export const contentObject = (thing: string, content: unknown): JsonMap =>
  isMap(content) ? content : asMap(thing, parseBoundedJson(thing, jsonTextOf(thing, content)))

/**
 * A patch as the text that goes to the apiserver, byte for byte where the edge sent text: numbers of an int64 survive.
 * Edges from 1.13 on send text, 1.12 sends bytes.
 * @throws InvalidInputError unless it is one object.
 */
export const contentPatch = (thing: string, content: unknown): string => {
  const text = jsonTextOf(thing, content)
  asMap(thing, parseBoundedJson(thing, text))
  return text
}

/** What a pod's delete asks for. */
export type DeleteContent =
  | { readonly kind: 'uid'; readonly uid: string }
  | { readonly kind: 'options'; readonly options: JsonMap }

/**
 * A pod's delete names the uid alone, or has DeleteOptions. A UUID could be read as base64: it is looked for first.
 * @throws InvalidInputError
 */
export const contentDelete = (thing: string, content: unknown): DeleteContent => {
  const text = typeof content === 'string' && !UUID.test(content) ? fromBase64(content) : content
  if (typeof text === 'string' && UUID.test(text)) return { kind: 'uid', uid: text }
  return { kind: 'options', options: contentObject(thing, content) }
}
