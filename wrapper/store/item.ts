// SPDX-License-Identifier: Apache-2.0

/** An object as upstream has it. */
export interface Item {
  /** `namespace/name`, or `name` of what is cluster-wide. */
  readonly key: string
  /** Protobuf, in a buffer of its own. */
  readonly raw: Uint8Array
  /** Upstream's resourceVersion. */
  readonly version: string
}

/** Where a list/watch of upstream, or the disk, puts what it knows of one resource. */
export interface Upstream {
  /** This is everything. */
  replace(items: readonly Item[]): void
  upsert(item: Item): void
  remove(key: string): void
}
