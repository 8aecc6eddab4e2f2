// SPDX-License-Identifier: Apache-2.0
import { randomBytes, randomInt } from 'node:crypto'

/** The only source of chance. */
export interface Random {
  /** A whole number from 0 to `n` − 1; `n` is at least 1. */
  below(n: number): number
  /** 64 random bits, for boot ids. */
  bits64(): bigint
}

/** Chance from the operating system. */
export const systemRandom: Random = {
  below: n => randomInt(n),
  bits64: () => randomBytes(8).readBigUInt64LE(),
}

/** `ms` changed by up to ±`share` of itself, evenly: `jitter(random, 10_000, 0.1)` is 9 000 … 11 000. */
export const jitter = (random: Random, ms: number, share: number): number =>
  ms * (1 - share + (2 * share * random.below(1_000_001)) / 1_000_000)

/** A new list with the same members in random order. */
export const shuffle = <T>(random: Random, list: readonly T[]): T[] => {
  const out = [...list]
  for (let i = out.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const held = out[i]!
    out[i] = out[j]!
    out[j] = held
  }
  return out
}
