// SPDX-License-Identifier: Apache-2.0
import {
  parseFlag,
  parseWatchOptions,
  type WatchOptions as AskedWatch,
} from '../../kube/server/list-options.js'
import * as status from '../../kube/server/status.js'
import { parseSelectors } from './list.js'
import type { ResourcePath } from './paths.js'
import type { Match } from './selector.js'

/** Where a watch begins. */
type Start =
  /** After this version. */
  | { readonly kind: 'after'; readonly version: number }
  /** With everything that is there, as ADDED; `marked`: then a bookmark that says so. */
  | { readonly kind: 'state'; readonly marked: boolean }

/** A watch as its query describes it. */
export interface WatchOptions {
  readonly start: Start
  readonly bookmarks: boolean
  readonly match: Match
  /** Ms until the server ends the stream. */
  readonly lastsMs: number
}

/** True when a query asks for a stream rather than a list. */
export const wantsWatch = (query: URLSearchParams): boolean =>
  query.has('watch') && parseFlag(query.get('watch')!)

/** The real one's default is half an hour and more. */
const DEFAULT_SECONDS = 1_800

const startOf = ({ version = 0, sendsInitial }: AskedWatch, current: number): Start => {
  if (sendsInitial === true) {
    if (version > current) throw status.versionTooLarge(version, current)
    return { kind: 'state', marked: true }
  }
  if (version > 0) return { kind: 'after', version }
  if (sendsInitial === false) return { kind: 'after', version: current }
  return { kind: 'state', marked: false }
}

/** @throws Refusal 400, 422, 504. */
export const parseWatch = (
  at: ResourcePath,
  query: URLSearchParams,
  server: { readonly version: number; readonly watchList: boolean },
): WatchOptions => {
  const asked = parseWatchOptions(query, server.watchList)
  return {
    start: startOf(asked, server.version),
    bookmarks: asked.bookmarks,
    match: parseSelectors(at, query),
    lastsMs: (asked.seconds ?? DEFAULT_SECONDS) * 1000,
  }
}
