// SPDX-License-Identifier: Apache-2.0
// Where the embedded API and the real ones differ, and why that may be.

/** A row that the real server of some versions answers differently, and why that is right. */
export interface Reason {
  readonly row: string
  /** Minors, or all. */
  readonly of: readonly string[] | 'all'
  /** Who does not do what the row says. */
  readonly who: 'real' | 'embedded'
  readonly because: string
}

const WATCH_LIST =
  'the feature WatchList is on from 1.34; the embedded one refuses in the same way when told to (watchList: false)'

export const REASONS: readonly Reason[] = [
  {
    row: 'a JSON patch tests numbers as they are written',
    of: 'all',
    who: 'embedded',
    because:
      'it compares values, to which 1 and 1.0 are one number; no field of ours is written both ways',
  },
  {
    row: 'a JSON patch that tests for no value tests for null',
    of: ['1.33'],
    who: 'real',
    because: 'its patch library (json-patch 4.12) panics, and the connection is closed',
  },
  {
    row: 'the whole document cannot become a text',
    of: ['1.33'],
    who: 'real',
    because: 'its patch library (json-patch 4.12) loses the error, and nothing is changed',
  },
  {
    row: 'initial events end with a bookmark',
    of: ['1.33'],
    who: 'real',
    because: WATCH_LIST,
  },
  { row: 'initial events can be declined', of: ['1.33'], who: 'real', because: WATCH_LIST },
  { row: 'after a relist a watch goes on', of: ['1.33'], who: 'real', because: WATCH_LIST },
  {
    row: 'openapi may be missing, health is not',
    of: ['1.33'],
    who: 'real',
    because: 'the embedded one says that it is a 1.36',
  },
]
