// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from 'node:crypto'
import { isMap, type JsonMap } from '../../core/json.js'

/** Where a message comes from and what it is about. */
export interface Route {
  readonly source?: string
  readonly group?: string
  readonly operation?: string
  /** On the wire between edge and cloud: `namespace/type/name`. */
  readonly resource?: string
}

/** A message of KubeEdge, as both ends write it. */
export interface Frame {
  readonly header: {
    readonly msg_id: string
    /** The message that this one answers. */
    readonly parent_msg_id?: string
    /** Milliseconds since the epoch. */
    readonly timestamp: number
    readonly resourceversion?: string
  }
  readonly route: Route
  readonly content: unknown
}

/** What a frame says beside its route. */
export interface FrameParts {
  readonly content: unknown
  /** Milliseconds since the epoch. */
  readonly wall: number
  readonly parent?: string | undefined
  /** @default a new one */
  readonly id?: string | undefined
  readonly resourceVersion?: string | undefined
}

/** A frame with the fields in the order in which Go writes them; fields without a value are left out. */
export const makeFrame = (route: Route, parts: FrameParts): Frame => {
  const { content, wall, parent, id = randomUUID(), resourceVersion } = parts
  return {
    header: {
      msg_id: id,
      ...(parent === undefined ? {} : { parent_msg_id: parent }),
      timestamp: Math.floor(wall),
      ...(resourceVersion === undefined ? {} : { resourceversion: resourceVersion }),
    },
    route,
    content,
  }
}

const ESCAPED: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
}

/** As Go's JSON encoder writes it: some characters escaped, a line feed at the end. */
export const encodeFrame = (frame: Frame): string =>
  `${JSON.stringify(frame).replace(/[<>&\u2028\u2029]/g, sign => ESCAPED[sign]!)}\n`

const textOf = (map: JsonMap, key: string): Readonly<Record<string, string>> => {
  const value = map[key]
  return typeof value === 'string' && value !== '' ? { [key]: value } : {}
}

/** Undefined for what is no message: an edge ignores it. */
export const decodeFrame = (text: string): Frame | undefined => {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isMap(raw) || !isMap(raw['header']) || !isMap(raw['route'])) return undefined
  const { header, route } = raw
  const { msg_id: id, timestamp } = header
  if (typeof id !== 'string') return undefined
  return {
    header: {
      msg_id: id,
      timestamp: typeof timestamp === 'number' ? timestamp : 0,
      ...textOf(header, 'parent_msg_id'),
      ...textOf(header, 'resourceversion'),
    },
    route: {
      ...textOf(route, 'source'),
      ...textOf(route, 'group'),
      ...textOf(route, 'operation'),
      ...textOf(route, 'resource'),
    },
    content: raw['content'] ?? null,
  }
}
