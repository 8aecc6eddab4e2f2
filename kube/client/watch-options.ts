// SPDX-License-Identifier: Apache-2.0

/** Times and sizes of a list/watch. */
export interface WatchOptions {
  /**
   * Objects per page of a list.
   * @default 500
   */
  readonly pageSize?: number
  /**
   * A watch with bookmarks that is silent for this long is closed and opened again, in milliseconds. API servers send a
   * bookmark about once a minute.
   * @default 90_000
   */
  readonly idleMs?: number
  /**
   * Whether a watch asks for bookmarks. They keep the version of a quiet watch so recent that it can be resumed without a
   * full list; each costs some 300 to 500 bytes. Where this is false, a watch that is resumed after an error still asks for
   * them until something arrives: a server that was restored from a backup would otherwise stay silent unnoticed.
   * @default true
   */
  readonly bookmarks?: boolean
  /**
   * After what time the server is asked to end a watch, which is then resumed, in milliseconds; up to a third more or less,
   * so that clients do not reconnect all at once.
   * @default 450_000
   */
  readonly watchMs?: number
  /**
   * Whether lists come from the server's watch cache, in one page whatever `pageSize` is: the first list in any version, or
   * not older than what others know of the resource, later ones not older than what was already received. Otherwise each list is read from etcd.
   * @default false
   */
  readonly fromCache?: boolean
  /**
   * A steady watch that breaks is opened again after a random wait of up to this, in milliseconds; where that fails, after
   * half of this to all of it each time, or later if the backoff says so. So the clients that lost the same server do not
   * return to it all at once, however long it was away.
   * @default 0
   */
  readonly spreadMs?: number
  /**
   * Time limit for the headers of a watch or of a page of a list, and for each pause within a page, in
   * milliseconds. A page that keeps arriving may take any time.
   * @default 30_000
   */
  readonly answerMs?: number
  /**
   * The longest wait between two attempts, in milliseconds.
   * @default 30_000
   */
  readonly longestWaitMs?: number
}

export const WATCH_DEFAULTS: Required<WatchOptions> = {
  pageSize: 500,
  idleMs: 90_000,
  answerMs: 30_000,
  longestWaitMs: 30_000,
  bookmarks: true,
  watchMs: 450_000,
  fromCache: false,
  spreadMs: 0,
}
