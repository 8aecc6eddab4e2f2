// SPDX-License-Identifier: Apache-2.0
import { jitter, type Random } from '../../../core/random.js'

/** How often a Node is read when nothing calls for it. */
export const REVIEW_MS = 12 * 3_600_000
const REVIEW_SHARE = 0.3
/** Pause before the own Node is read again while its keys are not published, and before another one after a failed read. */
export const AGAIN_MS = 15_000
/** Longest pause after refusals in a row: of a Node that is gone, say, or of writes that a role does not allow. */
const REFUSED_MS = 600_000
/** Longest pause before a Node that seems to have other keys is read again. */
export const WANTED_MS = 10_000
/** Pause after the first read that brought nothing new; each further one is twice as long. */
export const FIRST_WANTED_MS = 1_000

/** Pause after this many refusals in a row (0: there was no answer); each is twice the one before. */
export const againMs = (refusals: number): number =>
  Math.min(REFUSED_MS, AGAIN_MS * 2 ** Math.max(0, refusals - 1))

/** Time until the next look at a Node when nothing calls for it. */
export const reviewMs = (random: Random): number => jitter(random, REVIEW_MS, REVIEW_SHARE)

/**
 * When to read a Node that seems to have other keys.
 * @param readAt when it was last read
 * @param vain reads in a row that brought nothing new
 */
export const wantedAt = (now: number, readAt = -Infinity, vain = 0): number =>
  Math.max(now, readAt + Math.min(WANTED_MS, FIRST_WANTED_MS * 2 ** vain))
