// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { parseBoundedJson } from './bounded-json.js'

/** Both base64 alphabets: Go's encoder writes `+` and `/`, some of KubeEdge's code reads `-` and `_`. */
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
 * The content as JSON text. It may arrive as a JSON value, as text, or as bytes, which Go encodes in base64. Text that
 * begins like an object, an array or a string is not taken for base64, which has none of these characters.
 * @throws InvalidInputError that does not quote the content
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
 * Parses content that must be an object, such as an API object, delete options or a token request.
 * @throws InvalidInputError
 */
export const contentObject = (thing: string, content: unknown): JsonMap =>
  isMap(content) ? content : asMap(thing, parseBoundedJson(thing, jsonTextOf(thing, content)))

/**
 * A patch as text for the apiserver. What the edge sent as text stays the same byte for byte, so large int64 numbers are
 * not rounded. Edges send text from 1.13 on, and bytes in 1.12.
 * @throws InvalidInputError unless it is one object
 */
export const contentPatch = (thing: string, content: unknown): string => {
  const text = jsonTextOf(thing, content)
  asMap(thing, parseBoundedJson(thing, text))
  return text
}

/** The content of a request to delete a pod. */
export type DeleteContent =
  | { readonly kind: 'uid'; readonly uid: string }
  | { readonly kind: 'options'; readonly options: JsonMap }

/**
 * Parses a pod's delete: either the bare uid or DeleteOptions. A UUID could be read as base64, so that is tested first.
 * @throws InvalidInputError
 */
export const contentDelete = (thing: string, content: unknown): DeleteContent => {
  const text = typeof content === 'string' && !UUID.test(content) ? fromBase64(content) : content
  if (typeof text === 'string' && UUID.test(text)) return { kind: 'uid', uid: text }
  return { kind: 'options', options: contentObject(thing, content) }
}
