// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { isMap } from '../../core/json.js'
import { parseJson } from '../../core/parse.js'

/**
 * A node's name (or with newer SuperEdge agents its address) → whether the agent calls it normal; null: it has
 * left the zone.
 */
export type LocalInfo = ReadonlyMap<string, boolean | null>

/** Most of a document, and of an event of its stream: 5 000 nodes are 0.4 MB, with the longest names 1.6 MB. */
export const MAX_REPORT_BYTES = 2 << 20
/** More keys than any zone has: a larger document is not an agent's. */
const MAX_KEYS = 20_000
/** A node has three fields, of which none is a list or a map. There is room for fields of later. */
const MAX_VALUES = 5 * MAX_KEYS
const MAX_DEPTH = 8
/** Names of Nodes have at most 253 characters, addresses fewer. */
const MAX_NAME = 253

/** @throws InvalidInputError when a report has more nodes than any zone has */
export const checkCount = (nodes: number): void => {
  if (nodes > MAX_KEYS)
    throw new InvalidInputError('/localinfo', `must hold at most ${MAX_KEYS} nodes`, nodes)
}

/** The index of the quote that ends a string. */
const endOfString = (text: string, start: number): number => {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

/**
 * Refuse what no agent sends before it is parsed: parsed, lists and maps may take a hundred times the length of the text.
 * @throws InvalidInputError
 */
const checkShape = (text: string): void => {
  let depth = 0
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === ',') values++
    else if (character === '{' || character === '[') {
      values++
      depth++
    } else if (character === '}' || character === ']') depth--
    if (depth > MAX_DEPTH)
      throw new InvalidInputError('/localinfo', `must be at most ${MAX_DEPTH} levels deep`, depth)
    if (values > MAX_VALUES)
      throw new InvalidInputError('/localinfo', `must hold at most ${MAX_VALUES} values`, values)
  }
}

/**
 * `Normal` in any letter case, as Go reads it; of several the last one. Absent is false: SuperEdge from v0.8.2 on
 * omits false.
 */
const normalOf = (key: string, entry: Readonly<Record<string, unknown>>): boolean => {
  let normal: unknown = false
  for (const [name, value] of Object.entries(entry))
    if (name.toLowerCase() === 'normal') normal = value ?? normal
  if (typeof normal === 'boolean') return normal
  throw new InvalidInputError(`/localinfo: ${key}: normal`, 'must be true or false', normal)
}

/**
 * Parse `/localinfo` or one event of its stream, in either of SuperEdge's formats or ours.
 * @throws InvalidInputError when any entry is invalid; then the whole document is rejected
 */
export const parseLocalInfo = (text: string): LocalInfo => {
  checkShape(text)
  const document = parseJson('/localinfo', text)
  if (document === null) return new Map()
  if (!isMap(document))
    throw new InvalidInputError('/localinfo', 'must be a map of nodes', document)
  const entries = Object.entries(document)
  checkCount(entries.length)
  const info = new Map<string, boolean | null>()
  for (const [key, entry] of entries) {
    if (key.length > MAX_NAME)
      throw new InvalidInputError(
        '/localinfo: a name',
        `must have at most ${MAX_NAME} characters`,
        key.length,
      )
    if (entry !== null && !isMap(entry))
      throw new InvalidInputError(`/localinfo: ${key}`, 'must be a map', entry)
    info.set(key, entry === null ? null : normalOf(key, entry))
  }
  return info
}
