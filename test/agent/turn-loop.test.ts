// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { TurnLoop, type TurnReason } from '../../agent/turn-loop.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { scenario } from '../../testkit/zone/scenario.js'

t.test('a turn comes once for all that asked, and after them', async t => {
  const clock = new FakeClock()
  const turns: TurnReason[][] = []
  const loop = new TurnLoop(clock, reasons => turns.push([...reasons]))
  loop.ask('fresher')
  loop.ask('changed')
  loop.ask('fresher')
  t.strictSame(turns, [], 'nothing runs inside who asks')
  await clock.advance(0)
  t.strictSame(turns, [['fresher', 'changed']])
  await clock.advance(1_000)
  t.equal(turns.length, 1)
})

t.test('what a turn asks for is for the next one', async t => {
  const clock = new FakeClock()
  const turns: TurnReason[][] = []
  const loop = new TurnLoop(clock, reasons => {
    turns.push([...reasons])
    if (turns.length === 1) loop.ask('writes')
    t.ok(turns.length <= 2)
  })
  loop.ask('changed')
  await clock.advance(0)
  t.strictSame(turns, [['changed'], ['writes']])
})

t.test('no turn begins after the end', async t => {
  const clock = new FakeClock()
  let turns = 0
  const loop = new TurnLoop(clock, () => turns++)
  loop.ask('changed')
  loop.stop()
  loop.ask('changed')
  await clock.advance(1_000)
  t.equal(turns, 0)
  t.equal(clock.waiting, 0)
})

t.test('a peer has its answer before its message is counted', async t => {
  await scenario(t, { what: 'N=5', size: 5, seed: 5 }, async world => {
    await world.settled()
    let received = 0
    let inside = 0
    let moved = 0
    let isInside = false
    for (const { agent } of world.machines) {
      const { inbox } = agent!
      const receive = inbox.receive.bind(inbox)
      Object.assign(inbox, {
        receive: (...message: Parameters<typeof receive>) => {
          received++
          isInside = true
          try {
            return receive(...message)
          } finally {
            isInside = false
          }
        },
      })
      agent!.views.subscribe(() => {
        moved++
        if (isInside) inside++
      })
    }
    world.crash(4)
    await world.run(20_000)
    t.ok(world.allSee(4))
    t.ok(received > 100, `messages came: ${received}`)
    t.ok(moved > 4, `views moved: ${moved}`)
    t.equal(inside, 0, 'none of them while a message was received')
  })
})
