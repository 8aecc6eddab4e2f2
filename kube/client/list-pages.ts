// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, KubeUnreachableError, reasonOf } from '../../core/errors.js'
import type { KubeClient } from './client.js'
import { UnusableListError, type Codec, type Page, type TypedBody } from './codec.js'
import type { KubeCall } from './open-response.js'

/** What to list, and in what portions. */
export interface ListRequest<R> {
  readonly codec: Codec<R>
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** 0: all of it in one page. */
  readonly pageSize: number
  /** For the headers of each page, and for each silence within it. */
  readonly timeoutMs: number
}

/** Most bytes of one page: 500 Nodes with 50 images each are 10 MB. */
export const MAX_PAGE_BYTES = 64 * 1024 * 1024
/** A server whose lists have more pages than this is broken. */
const MAX_PAGES = 2_000

/** Path and query of a request. */
export const pathOf = (path: string, query: Readonly<Record<string, string>>): string => {
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}?${text}`
}

/**
 * Which state of a list is enough. undefined or '': any that the server has in its memory; a version: one in memory that
 * is not older; null: only the newest, which is read from etcd.
 */
export type ListFrom = string | null | undefined

export const cacheQuery = (from: ListFrom): Readonly<Record<string, string>> => {
  if (from === null) return {}
  return from === undefined || from === ''
    ? { resourceVersion: '0' }
    : { resourceVersion: from, resourceVersionMatch: 'NotOlderThan' }
}

/** The server's cache has not reached the version that was asked for, even after the three seconds that a server waits. */
export const isTooNew = (error: unknown): boolean =>
  error instanceof KubeStatusError &&
  error.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') === true

const isTooLarge = (error: unknown): boolean =>
  error instanceof KubeUnreachableError && error.cause instanceof RangeError

/** Ask for one page. */
const readPage = async <R>(
  client: KubeClient,
  call: KubeCall,
  { path, timeoutMs, codec }: Pick<ListRequest<R>, 'path' | 'timeoutMs' | 'codec'>,
  signal: AbortSignal,
): Promise<Page<R> & Pick<TypedBody, 'warning' | 'date'>> => {
  const limits = { timeoutMs, idleMs: timeoutMs, maxBytes: MAX_PAGE_BYTES }
  let body: TypedBody | undefined
  try {
    body = await client.body({ ...call, readRefusal: codec.readRefusal }, limits, signal)
    const { warning, date } = body
    return { ...codec.parsePage(path, body), warning, date }
  } catch (cause) {
    // If there is a body, it was the codec that refused.
    if (body === undefined && !isTooLarge(cause)) throw cause
    throw new UnusableListError(reasonOf(cause), { cause })
  }
}

/** A name that no object needs to have: a list of it costs next to nothing, for the server and for the link. */
const NOBODY = 'metadata.name=0'

/**
 * A cache in front of the server, such as SuperEdge's lite-apiserver, keeps one list for each User-Agent, whatever is
 * selected: it must not take this list for the program's own.
 */
const VERSION_READER = 'edge-health-store-version'
/** An answer that is this much older than the request comes from such a cache, and says nothing about the store. */
const KEPT_MS = 10_000
/** What an apiserver that has just started, or is busy, answers at first. */
const LATER: readonly number[] = [401, 403, 429]

/**
 * The present version of the store that holds these objects.
 * @returns '' where it cannot be known: the server refuses, a cache answers in its place, or lists have no version
 */
export const readVersion = async <R>(
  client: KubeClient,
  request: Omit<ListRequest<R>, 'pageSize'>,
  signal: AbortSignal,
): Promise<string> => {
  const { path, query, codec } = request
  // A client that may list only one name lists that one.
  const one = query['fieldSelector']?.includes('metadata.name=') === true
  const asked = one ? query : { ...query, fieldSelector: NOBODY }
  const call = {
    method: 'GET',
    path: pathOf(path, asked),
    accept: codec.accept.list,
    userAgent: VERSION_READER,
  } as const
  try {
    const now = client.serverTime()
    const { version, date = '' } = await readPage(client, call, request, signal)
    const isKept = now !== undefined && Date.parse(date) < now - KEPT_MS
    return isKept ? '' : version
  } catch (error) {
    const isRefusal =
      error instanceof KubeStatusError && error.status < 500 && !LATER.includes(error.status)
    if (isRefusal) return ''
    throw error
  }
}

/** What a list says apart from its objects. */
interface ListEnd {
  /** The version to watch from. */
  readonly version: string
  /** What the server warns of. */
  readonly warning: string | undefined
}

/** Read all pages; `take` gets each raw object, so that the text of a page can be freed before the next arrives. */
const walk = async <R>(
  client: KubeClient,
  request: ListRequest<R>,
  signal: AbortSignal,
  take: (raw: R) => void,
): Promise<ListEnd | 'expired'> => {
  const { path, query, pageSize, codec } = request
  let next = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const limit = pageSize === 0 ? {} : { limit: String(pageSize) }
    const paging = { ...query, ...limit, ...(next === '' ? {} : { continue: next }) }
    const call = {
      method: 'GET',
      path: pathOf(path, paging),
      accept: codec.accept.list,
      compressed: true,
    } as const
    let answer: Awaited<ReturnType<typeof readPage<R>>>
    try {
      answer = await readPage(client, call, request, signal)
    } catch (error) {
      if (next !== '' && error instanceof KubeStatusError && error.status === 410) return 'expired'
      throw error
    }
    answer.items.forEach(take)
    if (answer.next === '') return { version: answer.version, warning: answer.warning }
    next = answer.next
  }
  throw new UnusableListError(`GET ${path}: the list has more than ${MAX_PAGES} pages`)
}

/**
 * A full list: all objects as `parse` makes them (undefined leaves one out), and its version and warning. When the
 * server forgets the list's version between two pages the list starts again, once, in a single page: a client too
 * slow for the first pages would be too slow again.
 */
export const listAll = async <R, T>(
  client: KubeClient,
  request: ListRequest<R>,
  signal: AbortSignal,
  parse: (raw: R) => T | undefined,
): Promise<ListEnd & { readonly items: T[] }> => {
  for (let attempt = 0; attempt < 2; attempt++) {
    const items: T[] = []
    const pageSize = attempt === 0 ? request.pageSize : 0
    const end = await walk(client, { ...request, pageSize }, signal, raw => {
      const item = parse(raw)
      if (item !== undefined) items.push(item)
    })
    if (end !== 'expired') return { items, ...end }
  }
  throw new UnusableListError(`GET ${request.path}: the list expired twice between two pages`)
}
