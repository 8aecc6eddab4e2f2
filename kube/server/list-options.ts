// SPDX-License-Identifier: Apache-2.0
import type { StatusCause } from '../../core/errors.js'
import { badRequest, invalid, Refusal, type Subject } from './status.js'

/** What a list asks for, beside its selectors. */
export interface ListOptions {
  /** 0: everything at once. */
  readonly limit: number
  readonly match: '' | 'Exact' | 'NotOlderThan'
  /** Undefined: the newest state. */
  readonly version: number | undefined
  /** Where to go on; empty for the first page. */
  readonly token: string
}

/** What a watch asks for, beside its selectors. */
export interface WatchOptions {
  readonly version: number | undefined
  /** Undefined: the watch does not say. */
  readonly sendsInitial: boolean | undefined
  readonly bookmarks: boolean
  /** Undefined: as long as the server likes. */
  readonly seconds: number | undefined
}

const LIST_OPTIONS: Subject = { group: 'meta.k8s.io', resource: '', kind: 'ListOptions' }
const MATCH = 'resourceVersionMatch'
const INITIAL = 'sendInitialEvents'
/** Longest timeout, about three weeks: timers of Node.js overflow beyond it. */
const MOST_SECONDS = 2_000_000

const forbidden = (field: string, why: string): StatusCause => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${why}`,
  field,
})

const unsupported = (match: string, served: readonly string[]): StatusCause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: "${match}": supported values: ${served.map(each => `"${each}"`).join(', ')}`,
  field: MATCH,
})

/** As Go's API reads a boolean: everything but `false` and `0` is true, an empty value too. */
export const parseFlag = (text: string): boolean => !/^(false|0)$/i.test(text)

/** A whole number of 64 bits; undefined when the query does not hold it. @throws Refusal 400 */
const parseWhole = (query: URLSearchParams, key: string): number | undefined => {
  const text = query.get(key)
  if (text === null) return undefined
  if (!/^[-+]?\d+$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  const value = Number(text)
  if (Math.abs(value) >= 2 ** 63)
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`)
  return value
}

/** A resourceVersion of a query; undefined when absent. @throws what `refuse` makes. */
export const parseVersion = (
  query: URLSearchParams,
  refuse: (message: string) => Refusal,
): number | undefined => {
  const text = query.get('resourceVersion') ?? ''
  if (text === '') return undefined
  const wrong = /^\d+$/.test(text)
    ? Number(text) >= 2 ** 64 && 'value out of range'
    : 'invalid syntax'
  if (wrong === false) return Number(text)
  const shown = JSON.stringify(text)
  throw refuse(
    `resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: ${wrong}`,
  )
}

/** An invalid version is 500 for a watch and a get, 400 for a list. */
export const brokenVersion = (message: string): Refusal => new Refusal(500, '', message)

const refuseAny = (causes: readonly StatusCause[]): void => {
  if (causes.length > 0) throw invalid(LIST_OPTIONS, '', causes)
}

const isMatch = (match: string): match is ListOptions['match'] =>
  ['', 'Exact', 'NotOlderThan'].includes(match)

const matchCauses = (match: string, version: string, token: string): readonly StatusCause[] => {
  if (match === '') return []
  const causes: StatusCause[] = []
  if (version === '')
    causes.push(forbidden(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`))
  if (token !== '') causes.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`))
  if (!isMatch(match)) causes.push(unsupported(match, ['Exact', 'NotOlderThan', '']))
  if (match === 'Exact' && version === '0')
    causes.push(forbidden(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`))
  return causes
}

/** @throws Refusal 400, 422. */
export const parseListOptions = (query: URLSearchParams): ListOptions => {
  const limit = parseWhole(query, 'limit') ?? 0
  parseWhole(query, 'timeoutSeconds')
  const match = query.get(MATCH) ?? ''
  const token = query.get('continue') ?? ''
  refuseAny([
    ...matchCauses(match, query.get('resourceVersion') ?? '', token),
    ...(query.has(INITIAL) ? [forbidden(INITIAL, `${INITIAL} is forbidden for list`)] : []),
  ])
  const version = parseVersion(query, message => badRequest(`invalid resource version: ${message}`))
  if (token !== '' && (version ?? 0) !== 0)
    throw badRequest('specifying resource version is not allowed when using continue')
  return { limit: Math.max(0, limit), match: match as ListOptions['match'], version, token }
}

const watchCauses = (query: URLSearchParams, servesInitial: boolean): readonly StatusCause[] => {
  const match = query.get(MATCH) ?? ''
  const causes: StatusCause[] = []
  if (query.has(INITIAL) && match !== 'NotOlderThan')
    causes.push(forbidden(MATCH, `${INITIAL} requires setting ${MATCH} to NotOlderThan`))
  if (query.has(INITIAL) && !servesInitial)
    causes.push(
      forbidden(
        INITIAL,
        `${INITIAL} is forbidden for watch unless the WatchList feature gate is enabled`,
      ),
    )
  if (match !== '' && !query.has(INITIAL))
    causes.push(forbidden(MATCH, `${MATCH} is forbidden for watch unless ${INITIAL} is provided`))
  if (match !== '' && match !== 'NotOlderThan') causes.push(unsupported(match, ['NotOlderThan']))
  if ((query.get('continue') ?? '') !== '')
    causes.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`))
  return causes
}

/**
 * @param servesInitial whether the server can begin a watch with the state and say where that ends.
 * @throws Refusal 400, 422, 500.
 */
export const parseWatchOptions = (query: URLSearchParams, servesInitial: boolean): WatchOptions => {
  parseWhole(query, 'limit')
  const seconds = parseWhole(query, 'timeoutSeconds') ?? 0
  refuseAny(watchCauses(query, servesInitial))
  const initial = query.get(INITIAL)
  return {
    version: parseVersion(query, brokenVersion),
    sendsInitial: initial === null ? undefined : parseFlag(initial),
    bookmarks: query.has('allowWatchBookmarks') && parseFlag(query.get('allowWatchBookmarks')!),
    seconds: seconds > 0 ? Math.min(seconds, MOST_SECONDS) : undefined,
  }
}
