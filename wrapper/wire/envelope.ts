// SPDX-License-Identifier: Apache-2.0

/** A body that begins with `k8s\0`, opened: `raw` is a part of it, not a copy. */
export interface Opened {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
}

/** A list's own fields. */
export interface ListHead {
  readonly version: string
  /** Empty on the last page. */
  readonly continue: string
  readonly remaining: number | undefined
}

export interface SplitList extends ListHead {
  /** Parts of the body, not copies. */
  readonly items: readonly Uint8Array[]
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/** A whole `k8s\0` body around one object. */
export const envelope = (_apiVersion: string, _kind: string, _raw: Uint8Array): Uint8Array =>
  later()

/** @throws WireError */
export const openEnvelope = (_bytes: Uint8Array): Opened => later()

/** Read a list: the bytes inside its envelope (`openEnvelope(body).raw`). @throws WireError */
export const splitList = (_raw: Uint8Array): SplitList => later()

export interface ListChunkHead extends ListHead {
  readonly apiVersion: string
  /** Of the list: `EndpointSliceList`. */
  readonly kind: string
}

/** The whole `k8s\0` body of a list, in pieces: small ones of our own, and the items themselves, uncopied. */
export const listChunks = (
  _head: ListChunkHead,
  _items: Iterable<Uint8Array>,
): Iterable<Uint8Array> => later()
