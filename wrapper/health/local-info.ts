// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { isMap } from '../../core/json.js'
import { parseJson } from '../../core/parse.js'

/**
 * A node's name (or with newer SuperEdge agents its address) → whether the agent calls it normal; null: it has
 * left the zone.
 */
export type LocalInfo = ReadonlyMap<string, boolean | null>

/** More keys than any zone has: a larger document is not an agent's. */
const MAX_KEYS = 20_000
/** Names of Nodes have at most 253 characters, addresses fewer. */
const MAX_NAME = 253

/** @throws InvalidInputError when a report has more nodes than any zone has */
export const checkCount = (nodes: number): void => {
  if (nodes > MAX_KEYS)
    throw new InvalidInputError('/localinfo', `must hold at most ${MAX_KEYS} nodes`, nodes)
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
