// SPDX-License-Identifier: Apache-2.0
import type { ResourcePath } from './paths.js'

/** A request in the terms of RBAC, so that tests can compare requests with a Role. */
export interface RecordedRequest {
  readonly client: string
  /** The RBAC verb; for a path without a resource the HTTP method in lower case. */
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  /** '' for cluster-scoped resources and all namespaces. */
  readonly namespace: string
  /** '' when no single object is named. */
  readonly name: string
  readonly path: string
  /** A dry run. */
  readonly isDryRun: boolean
  /** The URL's query. */
  readonly query: string
  /** The HTTP status of the answer. */
  readonly status: number
}

export const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
export const TOKEN_REQUEST = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/

export const isDryRunOf = (query: URLSearchParams): boolean => query.get('dryRun') === 'All'

type Named = Omit<RecordedRequest, 'client' | 'path' | 'query' | 'isDryRun' | 'status'>

/** A list or watch of one name is authorized like a request for the object of that name. */
const selectedName = (query: URLSearchParams): string =>
  /(?:^|,)metadata\.name==?([^,]+)/.exec(query.get('fieldSelector') ?? '')?.[1] ?? ''

/** A request in RBAC's terms. */
const named = (at: ResourcePath | undefined, { path, query }: Asked, verb: string): Named => {
  const nothing = { resource: '', group: '', subresource: '', namespace: '', name: '' }
  if (path === TOKEN_REVIEWS)
    return { ...nothing, verb: 'create', group: 'authentication.k8s.io', resource: 'tokenreviews' }
  const account = TOKEN_REQUEST.exec(path)
  if (account !== null) {
    const [, namespace = '', name = ''] = account
    return { ...nothing, verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace, name } // prettier-ignore
  }
  if (at === undefined) return { ...nothing, verb }
  const { row, namespace = '', subresource } = at
  const name = at.name ?? selectedName(query)
  return { verb, group: row.group, resource: row.resource, subresource, namespace, name }
}

interface Asked {
  readonly path: string
  readonly query: URLSearchParams
}

/** @param at what the path names; undefined when it names no resource */
export const recordedRequest = (
  asked: Asked,
  at: ResourcePath | undefined,
  { client, verb, status }: Pick<RecordedRequest, 'client' | 'verb' | 'status'>,
): RecordedRequest => ({
  client,
  path: asked.path,
  query: asked.query.toString(),
  isDryRun: isDryRunOf(asked.query),
  status,
  ...named(at, asked, verb),
})
