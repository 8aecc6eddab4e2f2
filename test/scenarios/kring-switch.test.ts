// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { CoreZone } from '../support/core-zone.js'

t.test(
  'a zone that grows and shrinks through mesh-max while a node is down: no false verdict',
  async t => {
    const zone = new CoreZone(60, { seed: 5 })
    zone.bootAll()
    await zone.clock.advance(12_000)
    zone.crash(7)
    await zone.clock.advance(20_000)
    t.equal(zone.writes.length, 1)
    const isRight = (n: number, down: readonly number[]): boolean =>
      n >= 60 ? down.every(node => node === 7) : down.join() === '7'
    zone.resize(70, 3_000)
    for (let n = 60; n < 70; n++) zone.boot(n)
    t.same(await zone.watch(22_000, isRight), [], 'on the way to rings')
    t.equal(zone.agents[0]!.state.table.topology.kind, 'kring')
    zone.resize(60, 3_000)
    t.same(await zone.watch(22_000, isRight), [], 'and back to the mesh')
    t.equal(zone.agents[0]!.state.table.topology.kind, 'mesh')
    t.equal(zone.writes.length, 1, 'nothing was written meanwhile')
    await zone.stop()
  },
)
