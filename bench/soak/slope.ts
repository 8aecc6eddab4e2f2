// SPDX-License-Identifier: Apache-2.0

/** A line through points, and the interval that holds its true slope 95 times out of 100. */
export interface Slope {
  readonly value: number
  readonly low: number
  readonly high: number
}

/** 0.975 of the normal distribution. */
const Z = 1.959964

/** The same of Student's t: Cornish and Fisher's series, good to 1 % from three degrees of freedom on. */
export const student = (freedom: number): number =>
  Z +
  (Z ** 3 + Z) / (4 * freedom) +
  (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * freedom ** 2) +
  (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / (384 * freedom ** 3)

const mean = (list: readonly number[]): number =>
  list.reduce((sum, each) => sum + each, 0) / list.length

/**
 * Least squares. The points must not depend on each other, so they should be one per cycle of whatever repeats.
 * @throws RangeError for less than five points: their interval would say nothing.
 */
export const slopeOf = (points: readonly (readonly [x: number, y: number])[]): Slope => {
  const freedom = points.length - 2
  if (freedom < 3) throw new RangeError(`a slope takes at least 5 points, got ${points.length}`)
  const midX = mean(points.map(([x]) => x))
  const midY = mean(points.map(([, y]) => y))
  const spread = points.reduce((sum, [x]) => sum + (x - midX) ** 2, 0)
  const value = points.reduce((sum, [x, y]) => sum + (x - midX) * (y - midY), 0) / spread
  const rest = points.reduce((sum, [x, y]) => sum + (y - midY - value * (x - midX)) ** 2, 0)
  const half = student(freedom) * Math.sqrt(rest / freedom / spread)
  return { value, low: value - half, high: value + half }
}

export const median = (list: readonly number[]): number => {
  const sorted = [...list].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? NaN
}
