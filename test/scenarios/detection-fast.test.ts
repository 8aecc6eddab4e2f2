// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { timeCrashes } from '../support/scenario.js'

t.test('how soon a black-holed node is seen and written, profile fast', t =>
  timeCrashes(
    t,
    { profile: 'fast', seeds: 30, settleMs: 6_000 },
    {
      seen: { middle: 1_800, most: 2_000 },
      written: { middle: 3_000, most: 3_200 },
    },
  ),
)
