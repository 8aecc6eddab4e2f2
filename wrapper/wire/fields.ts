// SPDX-License-Identifier: Apache-2.0

/** Bytes from `start` up to, not including, `end`. */
export interface Range {
  readonly start: number
  readonly end: number
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/**
 * The bytes without the ranges, which are ascending and do not overlap. Nothing to cut gives the very same buffer.
 */
export const cut = (_raw: Uint8Array, _ranges: readonly Range[]): Uint8Array => later()
