// SPDX-License-Identifier: Apache-2.0

/** Receives what a list/watch learns. Called in order, never concurrently; an exception of the sink is a bug. */
export interface WatchSink<T> {
  /** A full list arrived: this is everything. */
  replace(items: readonly T[]): void
  upsert(item: T): void
  /** `namespace/name`, or `name` for a cluster-wide object. */
  remove(key: string): void
  /** Everything up to this resourceVersion has been passed on. */
  reached?(version: string): void
  /** The status of the watch has changed. */
  changed?(): void
}

/** How a list/watch is doing. */
export interface WatchStatus {
  readonly state: 'listing' | 'watching' | 'backing-off' | 'stopped'
  /** Clock.now of the last answer, event or bookmark; −Infinity before the first. */
  readonly lastHeardAt: number
  /** Full lists so far. */
  readonly lists: number
  /** The last error as text; undefined since the last success. */
  readonly trouble: string | undefined
  /** The last error was that nobody answered for the server; false since the last success, and after a refusal of the server's. */
  readonly isAway: boolean
}

/** A running list/watch. */
export interface Watching {
  readonly status: WatchStatus
  /** Ends it; no sink call comes after the call of `stop`, and the promise resolves when its connection is gone. */
  stop(): Promise<void>
}
