// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { scenario, timeCrash } from '../../testkit/zone/scenario.js'

t.test('a zone of 64', async t => {
  const size = 64
  await scenario(t, { what: 'N=64', size, seed: 64 }, async world => {
    await world.settled(14_000)
    const [seenMs, writtenMs] = await timeCrash(world, 7)
    t.ok(seenMs <= 8_000, `seen after ${seenMs} ms`)
    t.ok(writtenMs <= 14_000, `written after ${Math.round(writtenMs)} ms`)
    t.equal(world.writesSince(0).length, 1, 'one write')
  })
})
