// SPDX-License-Identifier: Apache-2.0

/** Validity of a certificate, epoch ms. */
export interface Validity {
  readonly from: number
  readonly until: number
}

/** The state that a rotation step is decided from. */
export interface RotationState {
  /** The certificate in use; undefined when there is none or it cannot be used. */
  readonly current: Validity | undefined
  /** The next certificate; undefined when there is none or it cannot be used. */
  readonly next: Validity | undefined
  /** Since when the next one's authority is in the webhook configurations, epoch ms; undefined when it is not. */
  readonly nextTrustedSince: number | undefined
}

/**
 * `make`: create one and use it at once. `prepare`: create the next one, so that its authority can be published first.
 * `promote`: use the next one.
 */
export type RotationStep = 'make' | 'prepare' | 'promote' | 'none'

/** A certificate is renewed after this share of its lifetime. */
const RENEWED_AT = 2 / 3
/** Time until every apiserver uses a changed webhook configuration. */
export const SETTLE_MS = 60_000

export const isValid = ({ from, until }: Validity, now: number): boolean =>
  from <= now && now < until

/** The step that is due now. */
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

/** An authority's certificate, as PEM. */
export interface Authority extends Validity {
  readonly text: string
}

const MOST_OTHERS = 8

const byAge = (one: Authority, other: Authority): number =>
  other.from - one.from || (one.text < other.text ? -1 : 1)

/**
 * Of the authorities that the webhook configurations have and the Secret has not, those that stay: another replica may
 * serve a certificate of theirs, as after the Secret was emptied. The next renewal makes the `previous` authority younger
 * than they are, and they go. Eight stay at most, the youngest.
 * @returns in an order that is the same for all replicas, which would otherwise write against each other
 */
export const stillTrusted = (
  others: readonly Authority[],
  previous: readonly Authority[],
  now: number,
): readonly string[] => {
  const since = previous.length === 0 ? -Infinity : Math.min(...previous.map(({ from }) => from))
  return others
    .filter(other => isValid(other, now) && other.from >= since)
    .toSorted(byAge)
    .slice(0, MOST_OTHERS)
    .map(({ text }) => text)
}
