// SPDX-License-Identifier: Apache-2.0
import { keyOf, type KubeObject } from './object.js'
import type { ResourcePath } from './paths.js'
import { parseFieldSelector, parseLabelSelector, type Match } from './selector.js'
import * as status from './status.js'
import type { Store } from './store.js'

/** One page of a list. */
export interface Page {
  readonly items: readonly KubeObject[]
  readonly version: number
  /** '' on the last page. */
  readonly continue: string
  /** How many follow; undefined when selectors make that unknown. */
  readonly remaining: number | undefined
}

interface ContinueToken {
  /** 0: from the present state, without promise of consistency. */
  readonly version: number
  readonly after: string
}

/** Which objects a list, watch or deletecollection is about. @throws Refusal 400. */
export const parseSelectors = (at: ResourcePath, query: URLSearchParams): Match => {
  const byLabels = parseLabelSelector(query.get('labelSelector') ?? '')
  const byFields = parseFieldSelector(query.get('fieldSelector') ?? '', at.row.fields)
  return object =>
    (at.namespace === undefined || object.metadata.namespace === at.namespace) &&
    byLabels(object) &&
    byFields(object)
}

/** A resourceVersion of a query; undefined when absent. @throws Refusal 400, or what `refuse` makes. */
export const parseVersion = (
  query: URLSearchParams,
  refuse: (message: string) => status.Refusal = status.badRequest,
): number | undefined => {
  const text = query.get('resourceVersion') ?? ''
  if (text === '') return undefined
  if (!/^\d{1,15}$/.test(text))
    throw refuse(
      `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    )
  return Number(text)
}

const LIST_OPTIONS: status.Subject = { group: 'meta.k8s.io', resource: '', kind: 'ListOptions' }

/** A query that contradicts itself. */
export const invalidOptions = (field: string, message: string): status.Refusal =>
  status.invalid(LIST_OPTIONS, '', [{ reason: 'FieldValueForbidden', message, field }])

const encodeToken = (token: ContinueToken): string =>
  Buffer.from(
    JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.version, start: token.after }),
  ).toString('base64url')

const decodeToken = (text: string): ContinueToken => {
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>
    const { rv, start } = token
    if (typeof rv === 'number' && typeof start === 'string') return { version: rv, after: start }
  } catch {
    // falls through: a token that is not ours is refused the same way
  }
  throw status.badRequest('continue key is not valid: continue token is malformed')
}

const tooOld = (inconsistent: string): status.Refusal =>
  status.expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    { continue: inconsistent },
  )

interface ListOptions {
  readonly limit: number
  readonly match: string
  readonly version: number | undefined
  readonly token: string
}

const checkMatch = ({ match, version, token }: ListOptions): void => {
  const refuse = (what: string): never => {
    throw invalidOptions('resourceVersionMatch', `Forbidden: resourceVersionMatch ${what}`)
  }
  if (match === '') return
  if (version === undefined) refuse('is forbidden unless resourceVersion is provided')
  if (token !== '') refuse('is forbidden when continue is provided')
  if (match === 'Exact' && version === 0) refuse('"exact" is forbidden for resourceVersion "0"')
  if (match !== 'Exact' && match !== 'NotOlderThan')
    throw status.invalid(LIST_OPTIONS, '', [
      {
        reason: 'FieldValueNotSupported',
        message: `Unsupported value: "${match}": supported values: "Exact", "NotOlderThan", ""`,
        field: 'resourceVersionMatch',
      },
    ])
}

const parseOptions = (query: URLSearchParams): ListOptions => {
  const options: ListOptions = {
    limit: Number(query.get('limit') ?? '0'),
    match: query.get('resourceVersionMatch') ?? '',
    version: parseVersion(query),
    token: query.get('continue') ?? '',
  }
  if (!Number.isInteger(options.limit)) throw status.badRequest('limit must be a whole number')
  if (query.has('sendInitialEvents'))
    throw invalidOptions('sendInitialEvents', 'Forbidden: sendInitialEvents is forbidden for list')
  checkMatch(options)
  if (options.token !== '' && (options.version ?? 0) !== 0)
    throw status.badRequest('specifying resource version is not allowed when using continue')
  return options
}

/** The lists of a store: versions, pages, selectors. */
export class Lists {
  readonly #store: Store
  constructor(store: Store) {
    this.#store = store
  }

  /** @throws Refusal 400, 410, 422, 504. */
  page(at: ResourcePath, query: URLSearchParams): Page {
    const match = parseSelectors(at, query)
    const options = parseOptions(query)
    const token = options.token === '' ? undefined : decodeToken(options.token)
    const version = token === undefined ? this.#versionOf(options) : token.version
    const all = this.#at(at, version, token)
    const after = token?.after
    const rest = after === undefined ? all : all.filter(object => keyOfObject(object) > after)
    return this.#cut(rest, match, options.limit, {
      version: version === 0 ? this.#store.version : version,
      counted: !query.get('labelSelector') && !query.get('fieldSelector'),
    })
  }

  /** 0 stands for the present. */
  #versionOf(options: ListOptions): number {
    const { version = 0, match, limit } = options
    const current = this.#store.version
    if (version > current) throw status.versionTooLarge(version, current)
    const exact = match === 'Exact' || (match === '' && limit > 0)
    return exact ? version : 0
  }

  #at(at: ResourcePath, version: number, token: ContinueToken | undefined): readonly KubeObject[] {
    const { storage } = at.row
    if (version === 0) return this.#store.list(storage, at.namespace)
    const list = this.#store.listAt(storage, at.namespace, version)
    if (list !== undefined) return list
    if (token !== undefined) throw tooOld(encodeToken({ version: 0, after: token.after }))
    throw status.expired(`The resourceVersion for the provided list is too old.`)
  }

  #cut(
    rest: readonly KubeObject[],
    match: Match,
    limit: number,
    { version, counted }: { version: number; counted: boolean },
  ): Page {
    const items: KubeObject[] = []
    const end = { version, continue: '', remaining: undefined }
    if (limit <= 0) return { ...end, items: rest.filter(match) }
    const wanted = rest.filter(match)
    items.push(...wanted.slice(0, limit))
    const last = items.at(-1)
    if (wanted.length <= limit || last === undefined) return { ...end, items }
    return {
      items,
      version,
      continue: encodeToken({ version, after: keyOfObject(last) }),
      remaining: counted ? wanted.length - limit : undefined,
    }
  }
}

const keyOfObject = (object: KubeObject): string =>
  keyOf(object.metadata.namespace, object.metadata.name)
