// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError, KubeStatusError } from '../../core/errors.js'
import { parseExactJson } from './exact-json.js'
import { retryAfterOf } from './retry-after.js'

/** One event of a watch, checked as far as the loop needs it. */
export type WatchEvent<R = unknown> =
  | { readonly type: 'ADDED' | 'MODIFIED'; readonly version: string; readonly object: R }
  | {
      readonly type: 'DELETED'
      readonly version: string
      /** What the sink's `remove` gets. */
      readonly name: string
      /** Empty for what is cluster-wide. */
      readonly namespace: string
    }
  | { readonly type: 'BOOKMARK'; readonly version: string }

interface RawObject {
  readonly metadata?: {
    readonly name?: unknown
    readonly namespace?: unknown
    readonly resourceVersion?: unknown
  }
}

/** A `Status`, unchecked. */
export interface RawStatus {
  readonly code?: unknown
  readonly reason?: unknown
  readonly message?: unknown
  readonly details?: { readonly retryAfterSeconds?: unknown }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The name of a raw object, for logs; '' when it has none. */
export const rawName = (object: unknown): string =>
  isRecord(object) && isRecord(object['metadata']) ? text(object['metadata']['name']) : ''

/** The error that an ERROR event tells. */
export const statusOf = (
  what: string,
  { code, reason, message, details }: RawStatus,
): KubeStatusError => {
  return new KubeStatusError(`watch of ${what}`, {
    status: typeof code === 'number' ? code : 500,
    reason: text(reason),
    message: text(message),
    retryAfterMs: retryAfterOf(details?.retryAfterSeconds),
  })
}

const checked = (what: string, type: unknown, object: RawObject): WatchEvent => {
  const version = text(object.metadata?.resourceVersion)
  if (version === '')
    throw new InvalidInputError(`watch of ${what}`, 'must give a resourceVersion', type)
  if (type === 'BOOKMARK') return { type, version }
  if (rawName(object) === '')
    throw new InvalidInputError(`watch of ${what}`, 'must give a name', type)
  if (type === 'DELETED')
    return { type, version, name: rawName(object), namespace: text(object.metadata?.namespace) }
  if (type === 'ADDED' || type === 'MODIFIED') return { type, version, object }
  throw new InvalidInputError(`watch of ${what}`, 'must give a known type of event', type)
}

/**
 * Parse a line of a watch on `what`.
 * @throws KubeStatusError for an ERROR event, InvalidInputError for a line that is none (it quotes nothing of it).
 */
export const parseWatchEvent = (what: string, line: string): WatchEvent => {
  let raw: unknown
  try {
    raw = parseExactJson(line)
  } catch {
    // JSON.parse quotes the text, which may be a Secret's.
    throw new InvalidInputError(`line of ${line.length} characters`, 'must be JSON', what)
  }
  if (!isRecord(raw) || !isRecord(raw['object']))
    throw new InvalidInputError(`watch of ${what}`, 'must give objects', typeof raw)
  const { type, object } = raw
  if (type === 'ERROR') throw statusOf(what, object)
  return checked(what, type, object)
}
