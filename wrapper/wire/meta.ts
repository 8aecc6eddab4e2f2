// SPDX-License-Identifier: Apache-2.0

/** What routing, selectors and pruning need of an object's metadata. */
export interface Meta {
  readonly name: string
  /** Empty for what is cluster-wide. */
  readonly namespace: string
  readonly uid: string
  readonly version: string
  readonly labels: ReadonlyMap<string, string>
  readonly annotations: ReadonlyMap<string, string>
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/** Read the metadata of an object. @throws WireError */
export const readMeta = (_raw: Uint8Array): Meta => later()

/** The object with this `metadata.resourceVersion`, replaced or added; everything else byte for byte. @throws WireError */
export const withVersion = (_raw: Uint8Array, _version: string): Uint8Array => later()
