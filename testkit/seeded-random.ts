// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../core/random.js'

/** Random numbers that repeat: the same seed gives the same draws (mulberry32). */
export const seededRandom = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return (t ^ (t >>> 14)) >>> 0
  }
  return {
    below: n => Math.floor((next() / 2 ** 32) * n),
    bits64: () => (BigInt(next()) << 32n) | BigInt(next()),
  }
}
