// SPDX-License-Identifier: Apache-2.0

/** A patch and the media type that it travels under. */
export type KubePatch =
  | { readonly type: 'json'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: 'merge' | 'strategic-merge'; readonly body: Readonly<Record<string, unknown>> }

/** RFC 6902. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/**
 * Asked when the connection is open, in the very turn in which the write is handed to it, and again before it is
 * repeated: why it must not leave any more, in words, or undefined. Between a decision and its request there may be a
 * new connection, a new token, or hours without a CPU.
 */
export type WriteGuard = () => string | undefined
