// SPDX-License-Identifier: Apache-2.0

/** Longest wait that we accept from a server: an agent that sleeps for hours judges nobody. */
export const MAX_RETRY_AFTER_MS = 300_000

const bounded = (ms: number): number => Math.min(MAX_RETRY_AFTER_MS, Math.max(0, ms))

/** `details.retryAfterSeconds` of a Status, in milliseconds; undefined if it is not a number. */
export const retryAfterOf = (seconds: unknown): number | undefined =>
  typeof seconds === 'number' && !Number.isNaN(seconds) ? bounded(seconds * 1_000) : undefined

/** The header `Retry-After`, in milliseconds: seconds, or a date. @param wall epoch ms */
export const parseRetryAfter = (value: string | undefined, wall: number): number | undefined => {
  if (value === undefined) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - wall
  return Number.isNaN(ms) ? undefined : bounded(ms)
}
