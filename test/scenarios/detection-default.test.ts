// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { timeCrashes } from '../../testkit/zone/scenario.js'

t.test('how soon a black-holed node is seen and written, profile default', t =>
  timeCrashes(
    t,
    { profile: 'default', seeds: 160, few: 3, settleMs: 12_000 },
    {
      seen: { p50: 4_500, p99: 8_000 },
      written: { p50: 10_000, p99: 14_000 },
    },
  ),
)
