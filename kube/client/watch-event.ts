// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { parseExactJson } from '../../core/exact-json.js'
import { isRecord, watchError } from './status-error.js'

/** One event of a watch, checked as far as the loop needs it. */
export type WatchEvent<R = unknown> =
  | { readonly type: 'ADDED' | 'MODIFIED'; readonly version: string; readonly object: R }
  | {
      readonly type: 'DELETED'
      readonly version: string
      /** What the sink's `remove` gets: `namespace/name`, or `name` for a cluster-wide object. */
      readonly key: string
    }
  | { readonly type: 'BOOKMARK'; readonly version: string }

interface RawObject {
  readonly metadata?: {
    readonly name?: unknown
    readonly namespace?: unknown
    readonly resourceVersion?: unknown
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const metadataOf = (object: unknown): NonNullable<RawObject['metadata']> =>
  isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {}

/** The key of a raw object, `namespace/name` or `name`; '' when it has no name. */
export const rawKey = (object: unknown): string => {
  const metadata = metadataOf(object)
  const name = text(metadata.name)
  const namespace = text(metadata.namespace)
  return name === '' || namespace === '' ? name : `${namespace}/${name}`
}

/** An event whose object was not looked at. */
export interface RawEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: Readonly<Record<string, unknown>>
}

const TYPES: readonly unknown[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']

/** @throws InvalidInputError when the object, or Table, of an event has no version. */
export const versionOf = (object: unknown): string => {
  const version = text(metadataOf(object).resourceVersion)
  if (version === '') throw new InvalidInputError('object', 'must have a resourceVersion', '')
  return version
}

/** The object of an event, as it came. @throws InvalidInputError when a part of it that is needed is missing. */
export const objectEvent = ({ type, object }: RawEvent): WatchEvent => {
  const version = versionOf(object)
  if (type === 'BOOKMARK') return { type, version }
  const key = rawKey(object)
  if (key === '') throw new InvalidInputError('object', 'must have a name', type)
  return type === 'DELETED' ? { type, version, key } : { type, version, object }
}

/**
 * Parse a line of a watch on `what`.
 * @throws KubeStatusError for an ERROR event, InvalidInputError for any other line (it quotes nothing of it).
 */
export const parseWatchLine = (what: string, line: string): RawEvent => {
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
  if (type === 'ERROR') throw watchError(what, object)
  if (!TYPES.includes(type))
    throw new InvalidInputError(`watch of ${what}`, 'must give a known type of event', type)
  return { type: type as RawEvent['type'], object }
}
