// SPDX-License-Identifier: Apache-2.0
import {
  decodeToken,
  encodeToken,
  tokenExpired,
  type ContinueToken,
} from '../../kube/server/continue-token.js'
import { parseListOptions, type ListOptions } from '../../kube/server/list-options.js'
import * as status from '../../kube/server/status.js'
import { keyOf, type KubeObject } from './object.js'
import type { ResourcePath } from './paths.js'
import { parseFieldSelector, parseLabelSelector, type Match } from './selector.js'
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

/** Which objects a list, watch or deletecollection is about. @throws Refusal 400. */
export const parseSelectors = (at: ResourcePath, query: URLSearchParams): Match => {
  const byLabels = parseLabelSelector(query.get('labelSelector') ?? '')
  const byFields = parseFieldSelector(query.get('fieldSelector') ?? '', at.row.fields)
  return object =>
    (at.namespace === undefined || object.metadata.namespace === at.namespace) &&
    byLabels(object) &&
    byFields(object)
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
    const options = parseListOptions(query)
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
    if (token !== undefined) throw tokenExpired(token)
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
