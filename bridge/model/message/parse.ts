// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { parseBoundedJson } from './bounded-json.js'
import type { Message } from './message.js'

/** Longest fields, in characters. KubeEdge's ids are UUIDs; a resource is node, namespace, type and name. */
const LIMITS = {
  'header.msg_id': 128,
  'header.parent_msg_id': 128,
  'header.resourceversion': 64,
  'route.source': 64,
  'route.group': 64,
  'route.operation': 64,
  'route.resource': 1024,
} as const

const PRINTABLE = /^[\x20-\x7e]*$/

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'a list' : typeof value)

const mapIn = (frame: JsonMap, key: string): JsonMap => {
  const value = frame[key]
  if (!isMap(value))
    throw new InvalidInputError(`frame: ${key}`, 'must be an object', kindOf(value))
  return value
}

/** A text field; '' when missing, since Go omits empty ones. */
const textIn = (part: JsonMap, path: keyof typeof LIMITS): string => {
  const value = part[path.slice(path.indexOf('.') + 1)] ?? ''
  const thing = `frame: ${path}`
  if (typeof value !== 'string') throw new InvalidInputError(thing, 'must be text', kindOf(value))
  if (value.length > LIMITS[path])
    throw new InvalidInputError(thing, `must be at most ${LIMITS[path]} characters long`, value)
  if (!PRINTABLE.test(value))
    throw new InvalidInputError(thing, 'must be printable ASCII characters', value)
  return value
}

const optional = (text: string): string | undefined => (text === '' ? undefined : text)

const timestampOf = (header: JsonMap): number => {
  const value = header['timestamp']
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidInputError(
      'frame: header.timestamp',
      'must be a whole number of milliseconds, not negative',
      typeof value === 'number' ? value : kindOf(value),
    )
  return value
}

/**
 * Parses a frame. Unused fields are dropped; a missing content is null.
 * @throws InvalidInputError that names the field, the rule and the value; content is never quoted
 */
export const parseMessage = (frame: string): Message => {
  const raw = parseBoundedJson('frame', frame)
  if (!isMap(raw)) throw new InvalidInputError('frame', 'must be an object', kindOf(raw))
  const header = mapIn(raw, 'header')
  const route = mapIn(raw, 'route')
  const id = textIn(header, 'header.msg_id')
  if (id === '') throw new InvalidInputError('frame: header.msg_id', 'must be given', id)
  return {
    id,
    parentId: optional(textIn(header, 'header.parent_msg_id')),
    timestamp: timestampOf(header),
    resourceVersion: optional(textIn(header, 'header.resourceversion')),
    source: textIn(route, 'route.source'),
    group: textIn(route, 'route.group'),
    operation: textIn(route, 'route.operation'),
    resource: textIn(route, 'route.resource'),
    content: raw['content'] ?? null,
  }
}
