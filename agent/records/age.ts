// SPDX-License-Identifier: Apache-2.0

/** Ages travel in quarters of a second, rounded up: information never looks younger for having been passed on. */
const AGE_UNIT_MS = 250
/** Older than a byte can say, or unknown. */
export const AGE_UNKNOWN = 255

/** An age as it travels: a byte. */
export const ageOf = (producedAt: number, now: number): number => {
  const units = Math.ceil((now - producedAt) / AGE_UNIT_MS)
  return units >= AGE_UNKNOWN ? AGE_UNKNOWN : Math.max(0, units)
}

/** When something with this age now was produced; −Infinity where that is unknown. */
export const producedAtOf = (age: number, now: number): number =>
  age === AGE_UNKNOWN ? -Infinity : now - age * AGE_UNIT_MS
