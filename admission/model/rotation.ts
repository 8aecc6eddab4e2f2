// SPDX-License-Identifier: Apache-2.0

/** When a certificate is valid, epoch ms. */
export interface Validity {
  readonly from: number
  readonly until: number
}

/** How the certificates stand. */
export interface RotationState {
  /** Of the one that is served; undefined: there is none, or it cannot be used. */
  readonly current: Validity | undefined
  /** Of the one that is to follow; undefined: there is none, or it cannot be used. */
  readonly next: Validity | undefined
  /** Since when the apiserver was told to trust the next one's authority, epoch ms; undefined while it is not. */
  readonly nextTrustedSince: number | undefined
}

/**
 * `make`: one that is served at once. `prepare`: one that is served later, so that its authority can be made known first.
 * `promote`: serve the prepared one.
 */
export type RotationStep = 'make' | 'prepare' | 'promote' | 'none'

/** What is renewed when this part of its life is over. */
const RENEWED_AT = 2 / 3
/** Until every apiserver has heard what it is to trust. */
export const SETTLE_MS = 60_000

const isValid = ({ from, until }: Validity, now: number): boolean => from <= now && now < until

/** What is to be done now. */
export const nextRotation = (
  { current, next, nextTrustedSince }: RotationState,
  now: number,
): RotationStep => {
  const isNextValid = next !== undefined && isValid(next, now)
  if (current === undefined || !isValid(current, now)) return isNextValid ? 'promote' : 'make'
  if (isNextValid)
    return nextTrustedSince !== undefined && now - nextTrustedSince >= SETTLE_MS
      ? 'promote'
      : 'none'
  return now >= current.from + RENEWED_AT * (current.until - current.from) ? 'prepare' : 'none'
}
