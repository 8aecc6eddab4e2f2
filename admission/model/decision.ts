// SPDX-License-Identifier: Apache-2.0
import type { NotKept } from './standing.js'

/** Why a write passes as it is. */
export type Unchanged =
  | NotKept
  /** A resource, version, operation or namespace that this path has nothing to say about. */
  | 'not-ours'
  /** Not by the controller whose writes this path is about. */
  | 'other-writer'
  /** Nothing in it takes a kept node's Pods away. */
  | 'harmless'
  | 'node-not-known'
  /** The table of Nodes is not listed yet, or its watch is broken for too long. */
  | 'table-not-ready'

/** Of a whole list: applies only while the list is the one that was looked at. */
export type ListPatch = readonly [
  { readonly op: 'test'; readonly path: string; readonly value: readonly unknown[] },
  { readonly op: 'replace'; readonly path: string; readonly value: readonly unknown[] },
]

/** What becomes of a write. */
export type Decision =
  | { readonly kind: 'unchanged'; readonly why: Unchanged }
  | { readonly kind: 'changed'; readonly patch: ListPatch }
  /** The writer is answered why, and tries again. */
  | { readonly kind: 'refused'; readonly message: string }

export const unchanged = (why: Unchanged): Decision => ({ kind: 'unchanged', why })

/** Replace the list at `path`, which has no index in it, so that no operation moves what the next one is about. */
export const replaceList = (
  path: string,
  before: readonly unknown[],
  after: readonly unknown[],
): Decision => ({
  kind: 'changed',
  patch: [
    { op: 'test', path, value: before },
    { op: 'replace', path, value: after },
  ],
})
