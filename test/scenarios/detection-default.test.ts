// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { timeCrashes } from '../support/scenario.js'

t.test('how soon a black-holed node is seen and written, profile default', t =>
  timeCrashes(
    t,
    { profile: 'default', seeds: 32, settleMs: 12_000 },
    {
      seen: { middle: 4_500, most: 8_000 },
      written: { middle: 10_000, most: 14_000 },
    },
  ),
)
