// SPDX-License-Identifier: Apache-2.0
import { withVersion } from '../wire/meta.js'

/** How an object is served: unchanged, or without some of its endpoints. */
export interface Rendering {
  /** Renderings with the same mark produce the same bytes of the same object. */
  readonly mark: string
  /** How much memory it takes. */
  readonly bytes: number
  /** Returns its argument when there is nothing to leave out. */
  apply(raw: Uint8Array): Uint8Array
}

export const AS_IS: Rendering = { mark: '', bytes: 0, apply: raw => raw }

/** One object at one served version. Immutable: a change makes a new record. */
export interface Stored {
  /** `namespace/name`, or `name` of what is cluster-wide. */
  readonly key: string
  /** The apiserver's own bytes. */
  readonly raw: Uint8Array
  /** The apiserver's resourceVersion. */
  readonly upstream: string
  /** The resourceVersion that we serve. */
  readonly version: number
  readonly rendering: Rendering
}

/** The bytes that clients get. A new buffer each time: keeping them would double the size of the store. */
export const servedBytes = (record: Stored, version = record.version): Uint8Array =>
  withVersion(record.rendering.apply(record.raw), String(version))

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => a === b || Buffer.compare(a, b) === 0

/** Whether a client would see any difference but the version. */
export const looksSame = (
  before: Pick<Stored, 'raw' | 'rendering'>,
  after: Pick<Stored, 'raw' | 'rendering'>,
): boolean => {
  if (sameBytes(before.raw, after.raw)) return before.rendering.mark === after.rendering.mark
  const shown = ({ raw, rendering }: Pick<Stored, 'raw' | 'rendering'>): Uint8Array =>
    withVersion(rendering.apply(raw), '0')
  return sameBytes(shown(before), shown(after))
}
