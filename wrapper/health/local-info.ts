// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { parseJson } from '../../core/parse.js'

/** Key (a node's name, or with newer SuperEdge agents its address) → whether the agent calls it normal; null: it left. */
export type LocalInfo = ReadonlyMap<string, boolean | null>

/** More keys than any zone has: what says so is no agent. */
const MAX_KEYS = 20_000

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * `Normal` in any case, as Go reads it; of several the last one. Absent is false: SuperEdge from v0.8.2 on leaves
 * false out.
 */
const normalOf = (key: string, entry: Readonly<Record<string, unknown>>): boolean => {
  let normal: unknown = false
  for (const [name, value] of Object.entries(entry))
    if (name.toLowerCase() === 'normal') normal = value ?? normal
  if (typeof normal === 'boolean') return normal
  throw new InvalidInputError(`/localinfo: ${key}: normal`, 'must be true or false', normal)
}

/**
 * Read `/localinfo`, or one event of its stream, in either of SuperEdge's dialects or ours.
 * @throws InvalidInputError when any entry is not what an agent says; then none of it may be believed.
 */
export const parseLocalInfo = (text: string): LocalInfo => {
  const document = parseJson('/localinfo', text)
  if (document === null) return new Map()
  if (!isMap(document))
    throw new InvalidInputError('/localinfo', 'must be a map of nodes', document)
  const entries = Object.entries(document)
  if (entries.length > MAX_KEYS)
    throw new InvalidInputError('/localinfo', `must hold at most ${MAX_KEYS} nodes`, entries.length)
  const info = new Map<string, boolean | null>()
  for (const [key, entry] of entries) {
    if (entry !== null && !isMap(entry))
      throw new InvalidInputError(`/localinfo: ${key}`, 'must be a map', entry)
    info.set(key, entry === null ? null : normalOf(key, entry))
  }
  return info
}
