// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { timeCrashes } from '../../testkit/zone/scenario.js'

t.test('how soon a black-holed node is seen and written, profile fast', t =>
  timeCrashes(
    t,
    { profile: 'fast', seeds: 30, few: 2, settleMs: 6_000 },
    {
      seen: { p50: 1_800, p99: 2_000 },
      written: { p50: 3_000, p99: 3_200 },
    },
  ),
)
