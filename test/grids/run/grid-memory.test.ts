// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { GridMemory } from '../../../grids/run/grid-memory.js'
import { FakeClock } from '../../../testkit/fake-clock.js'

t.test(
  'a written status counts until the watch reports it, but a restored store never does',
  async t => {
    const clock = new FakeClock()
    const memory = new GridMemory(clock, 'uid')
    t.equal(
      memory.unseenStatus(() => false),
      undefined,
      'nothing was written',
    )
    const status = { observedGeneration: 1 }
    memory.lastStatus = { status, version: '2000', at: clock.now(), inRow: 0 }
    t.equal(
      memory.unseenStatus(() => false),
      status,
    )
    t.equal(
      memory.unseenStatus(version => version === '2000'),
      undefined,
    )
    await clock.advance(15_001)
    t.equal(
      memory.unseenStatus(() => false),
      undefined,
    )
  },
)
