// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../core/node.js'

/** RFC 6902, as far as plans use it. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** A patch as data, in the form that the API client sends. */
export type Patch =
  | { readonly type: 'json'; readonly operations: readonly PatchOperation[] }
  | { readonly type: 'merge' | 'strategic-merge'; readonly body: Readonly<Record<string, unknown>> }

/**
 * The next write that brings a node closer to what it should be. One at a time: a write moves the resourceVersion
 * that guards it, so the caller applies it, and plans again with the node that came back, until there is nothing.
 * A conflict (409, or the 422 of a failed test) means that somebody else wrote: read again, plan again.
 */
export type NodePlan =
  | { readonly kind: 'nothing' }
  /** Through the status subresource; annotations travel with it. */
  | { readonly kind: 'status'; readonly patch: Patch }
  /** Through the node itself: only `/spec/taints`. */
  | { readonly kind: 'taints'; readonly patch: Patch }

export const NOTHING: NodePlan = { kind: 'nothing' }

/** Metadata and conditions in one write through the status subresource, which fails when somebody else wrote since. */
export const statusPatch = (
  { resourceVersion }: Pick<NodeView, 'resourceVersion'>,
  {
    metadata = {},
    conditions = [],
  }: { readonly metadata?: object; readonly conditions?: readonly object[] },
): NodePlan => ({
  kind: 'status',
  patch: {
    type: 'strategic-merge',
    body: {
      metadata: { resourceVersion, ...metadata },
      ...(conditions.length === 0 ? {} : { status: { conditions } }),
    },
  },
})
