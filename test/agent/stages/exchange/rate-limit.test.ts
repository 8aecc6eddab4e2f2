// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { RateLimit, TokenBucket } from '../../../../agent/stages/exchange/rate-limit.js'
import fc from '../../../../testkit/properties.js'

const RATE = { perSecond: 2, burst: 4 }

t.test('tokens are taken all or none, and come back with time up to the burst', async t => {
  const bucket = new TokenBucket(RATE)
  t.equal(bucket.take(0, 3), true)
  t.equal(bucket.take(0, 2), false, 'one is left')
  t.equal(bucket.take(0), true)
  t.equal(bucket.take(400), false, 'not a whole one yet')
  t.equal(bucket.take(500), true)
  t.equal(bucket.take(1_000_000, 4), true)
  t.equal(bucket.take(1_000_000), false, 'never more than the burst')
  t.equal(bucket.take(0), false, 'a clock that goes back brings none')
})

t.test('members have a bucket each, and all strangers share one', async t => {
  const takes = fc.array(
    fc.record({
      who: fc.constantFrom(0, 1, undefined),
      after: fc.integer({ min: 0, max: 1_000 }),
      cost: fc.integer({ min: 0, max: 4 }),
    }),
  )
  fc.assert(
    fc.property(takes, all => {
      const limit = new RateLimit(2, RATE)
      const buckets = new Map([0, 1, undefined].map(who => [who, new TokenBucket(RATE)]))
      let now = 0
      for (const { who, after, cost } of all) {
        now += after
        t.equal(limit.take(who, now, cost), buckets.get(who)!.take(now, cost))
      }
    }),
  )
})
