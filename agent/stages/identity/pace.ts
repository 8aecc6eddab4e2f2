// SPDX-License-Identifier: Apache-2.0
import { jitter, type Random } from '../../../core/random.js'

/** A Node is read when its node joins, when it seems to have other keys, and this often. */
export const REVIEW_MS = 12 * 3_600_000
const REVIEW_SHARE = 0.3
/** Pause before the own Node is looked at again while its keys are not published, or another one that could not be read. */
export const AGAIN_MS = 15_000
/** The same Node is read again at most this often, whoever sends what in its node's name. */
export const WANTED_MS = 10_000
/** After a read that brought nothing new: after this time first, then after twice as long each time. */
export const FIRST_WANTED_MS = 1_000

/** Until the next look at a Node about which nobody asks. */
export const reviewMs = (random: Random): number => jitter(random, REVIEW_MS, REVIEW_SHARE)

/**
 * When a Node may be read again about which somebody asks.
 * @param readAt when it was last read
 * @param vain reads in a row that brought nothing new
 */
export const wantedAt = (now: number, readAt = -Infinity, vain = 0): number =>
  Math.max(now, readAt + Math.min(WANTED_MS, FIRST_WANTED_MS * 2 ** vain))
