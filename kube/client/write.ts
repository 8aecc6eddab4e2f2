// SPDX-License-Identifier: Apache-2.0

/** A JSON object of the API, as it is sent. */
export type ObjectBody = Readonly<Record<string, unknown>>

/** A patch and the media type that it travels under. Custom resources take no strategic merge. */
export type KubePatch =
  | { readonly type: 'json'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: 'merge' | 'strategic-merge'; readonly body: ObjectBody }

/** A patch of somebody else as JSON, sent byte for byte: its int64 numbers stay what they are. */
export interface PatchText {
  readonly type: KubePatch['type']
  readonly text: string
}

/** RFC 6902. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/**
 * Called when the connection is open, in the same turn of the event loop in which the write is sent, and again
 * before it is repeated: returns why it must not be sent any more, or undefined. Between a decision and its
 * request there may be a new connection, a new token, or hours without a CPU.
 */
export type WriteGuard = () => string | undefined

/** What every write may ask for. */
export interface WriteOptions {
  readonly guard?: WriteGuard | undefined
  /**
   * The server checks the write and answers as if it were done, and nothing is kept (`dryRun=All`).
   * @default false
   */
  readonly isDryRun?: boolean | undefined
}

/** What a create, an update, a patch or an apply may ask for. */
export interface FieldWriteOptions extends WriteOptions {
  /** Who owns what is written, in `managedFields`. @default the client's */
  readonly fieldManager?: string | undefined
}

/**
 * A server-side apply: all fields that the manager wants; fields that it applied before and leaves out now are
 * removed.
 */
export interface Apply extends FieldWriteOptions {
  /** With `apiVersion`, `kind` and `metadata.name`, without `managedFields`. */
  readonly body: ObjectBody
  /**
   * Take over fields that others own with another value. Without it, these are a 409 `Conflict` whose
   * `details.causes` names each field and its owner.
   * @default false
   */
  readonly isForced?: boolean | undefined
}

/** A delete and its conditions. */
export interface DeleteOptions extends WriteOptions {
  /** Only the object of this uid; another of the same name is a 409 `Conflict`. */
  readonly uid?: string | undefined
  /** Only this state of the object; any other is a 409 `Conflict`. */
  readonly resourceVersion?: string | undefined
  /**
   * What happens to the objects that it owns: deleted after it, before it, or left without an owner.
   * @default what the server does by itself: Background for all but old kinds
   */
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined
  /** For Pods: how long they may take to end; 0 removes them at once. @default what the Pod says */
  readonly gracePeriodSeconds?: number | undefined
}
