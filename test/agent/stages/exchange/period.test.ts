// SPDX-License-Identifier: Apache-2.0
import fc from 'fast-check'
import t from 'tap'
import { quietPeriodMs } from '../../../../agent/stages/exchange/period.js'

const options = { exchangePeriodMs: 5_000, ringExchangePeriodMs: 2_000, recordTtlMs: 60_000 }

t.test('a mesh has its own period, whatever its size', async t => {
  for (const size of [1, 2, 10, 64]) t.equal(quietPeriodMs(options, 'mesh', size), 5_000)
})

t.test(
  'rings: the option is the period at 1000 nodes, and fewer nodes have a longer one',
  async t => {
    t.equal(quietPeriodMs(options, 'kring', 1_000), 2_000)
    t.equal(Math.round(quietPeriodMs(options, 'kring', 100)), 3_000)
    t.equal(quietPeriodMs(options, 'kring', 5_000), 2_000, 'never shorter than the option')
    for (const size of [1, 3, 30])
      t.equal(
        quietPeriodMs({ ...options, recordTtlMs: 70_000 }, 'kring', size),
        4_000,
        'never longer than twice',
      )
  },
)

t.test(
  'there are sixteen rounds while a record counts, or as many as the option asks for',
  async t => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 600_000 }),
        fc.integer({ min: 2_000, max: 600_000 }),
        fc.integer({ min: 1, max: 10_000 }),
        (ringExchangePeriodMs, recordTtlMs, size) => {
          const given = { ...options, ringExchangePeriodMs, recordTtlMs }
          const periodMs = quietPeriodMs(given, 'kring', size)
          return (
            periodMs >= ringExchangePeriodMs &&
            periodMs <= Math.max(ringExchangePeriodMs, recordTtlMs / 16)
          )
        },
      ),
    )
    t.end()
  },
)
