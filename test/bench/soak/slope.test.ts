// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { median, slopeOf, student } from '../../../bench/soak/slope.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

t.test("Student's t as in the tables, within 1 %", t => {
  const rows: readonly (readonly [number, number])[] = [
    [3, 3.182],
    [4, 2.776],
    [5, 2.571],
    [10, 2.228],
    [30, 2.042],
    [1_000, 1.962],
  ]
  for (const [freedom, value] of rows)
    t.ok(Math.abs(student(freedom) / value - 1) < 0.01, `${freedom}: ${student(freedom)}`)
  t.end()
})

t.test('a line without noise is found as it is', t => {
  const { value, low, high } = slopeOf([0, 1, 2, 3, 4, 5].map(x => [x, 7 + 3 * x]))
  for (const each of [value, low, high]) t.ok(Math.abs(each - 3) < 1e-9)
  t.end()
})

t.test('a slope worked by hand', t => {
  // Σ(x−2)² = 10, Σ(x−2)(y−3) = 8; what the line leaves over is 10 − 0.8 × 8 = 3.6, with 3 degrees of freedom.
  const { value, low, high } = slopeOf([
    [0, 1],
    [1, 3],
    [2, 2],
    [3, 5],
    [4, 4],
  ])
  t.ok(Math.abs(value - 0.8) < 1e-9)
  t.ok(Math.abs((high - low) / 2 - student(3) * Math.sqrt(3.6 / 3 / 10)) < 1e-9)
  t.end()
})

t.test('the interval holds the true slope about 95 times out of 100', t => {
  const random = seededRandom(1)
  const noise = (): number =>
    Array.from({ length: 12 }, () => random.below(1_000_001) / 1e6).reduce((a, b) => a + b, -6)
  let held = 0
  for (let run = 0; run < 1_000; run++) {
    const { low, high } = slopeOf(Array.from({ length: 8 }, (_, x) => [x, 0.5 * x + noise()]))
    if (low <= 0.5 && high >= 0.5) held++
  }
  t.ok(held > 930 && held < 970, String(held))
  t.end()
})

t.test('too few points are no slope', t => {
  t.throws(() => slopeOf([0, 1, 2, 3].map(x => [x, x])), /at least 5 points, got 4/)
  t.equal(median([3, 1, 2]), 2)
  t.end()
})
