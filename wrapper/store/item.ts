// SPDX-License-Identifier: Apache-2.0

/** An object as the apiserver has it. */
export interface Item {
  /** `namespace/name`, or `name` of what is cluster-wide. */
  readonly key: string
  /** Protobuf, in a buffer that holds nothing else. */
  readonly raw: Uint8Array
  /** Upstream's resourceVersion. */
  readonly version: string
}

/** Receives one resource's objects from a list/watch, or from disk. */
export interface Upstream {
  /** These are all objects. */
  replace(items: readonly Item[]): void
  upsert(item: Item): void
  remove(key: string): void
}
