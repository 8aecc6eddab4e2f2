// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

interface Bucket {
  tokens: number
  at: number
}

/** How much one source may ask. */
export interface RateLimit {
  readonly perSecond: number
  /** How many requests may come at once after a pause. */
  readonly burst: number
}

/** Sources that are remembered; the one seen longest ago is forgotten first, which gives it a full bucket again. */
const MAX_SOURCES = 4_096

/** A token bucket for each source address: `allow` is false when its bucket is empty. */
export const makeRate = (
  clock: Clock,
  { perSecond, burst }: RateLimit,
): { allow(source: string): boolean } => {
  const buckets = new Map<string, Bucket>()
  return {
    allow: source => {
      const now = clock.now()
      const bucket = buckets.get(source) ?? { tokens: burst, at: now }
      buckets.delete(source)
      buckets.set(source, bucket)
      if (buckets.size > MAX_SOURCES) buckets.delete(buckets.keys().next().value!)
      bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond)
      bucket.at = now
      if (bucket.tokens < 1) return false
      bucket.tokens -= 1
      return true
    },
  }
}
