// SPDX-License-Identifier: Apache-2.0
import type { NotKept } from './standing.js'

/** Why a write passes unchanged. */
export type Unchanged =
  | NotKept
  /** A resource, version, operation or namespace that this path does not judge. */
  | 'not-ours'
  /** Not written by the controller that this path judges. */
  | 'other-writer'
  /** Nothing in it would take Pods away from a kept node. */
  | 'harmless'
  | 'node-not-known'
  /** Nodes are not listed yet, or their watch has been broken for too long. */
  | 'table-not-ready'

/** A JSON patch that replaces a whole list; it applies only if the list is still the one that was judged. */
export type ListPatch = readonly [
  { readonly op: 'test'; readonly path: string; readonly value: readonly unknown[] },
  { readonly op: 'replace'; readonly path: string; readonly value: readonly unknown[] },
]

/** The decision about a write. */
export type Decision =
  | { readonly kind: 'unchanged'; readonly why: Unchanged }
  | { readonly kind: 'changed'; readonly patch: ListPatch }
  /** The writer gets the reason and tries again. */
  | { readonly kind: 'refused'; readonly message: string }

export const unchanged = (why: Unchanged): Decision => ({ kind: 'unchanged', why })

/** Replace the list at `path`. No index is used in it, so no operation shifts the target of the next. */
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
