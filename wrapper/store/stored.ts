// SPDX-License-Identifier: Apache-2.0
import { withVersion } from '../wire/meta.js'

/** How an object is shown: as it is, or with some of its endpoints left out. */
export interface Rendering {
  /** Two forms of the same object with the same mark give the same bytes. */
  readonly mark: string
  /** The very same bytes when there is nothing to leave out. */
  apply(raw: Uint8Array): Uint8Array
}

export const AS_IS: Rendering = { mark: '', apply: raw => raw }

/** One object as it stands at one served version. Never changed: what comes next is another record. */
export interface Stored {
  /** `namespace/name`, or `name` of what is cluster-wide. */
  readonly key: string
  /** Upstream's own bytes. */
  readonly raw: Uint8Array
  /** Upstream's resourceVersion. */
  readonly upstream: string
  /** Ours. */
  readonly version: number
  readonly rendering: Rendering
}

/** What clients get of a record. A new buffer each time: kept ones would double what the store holds. */
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
