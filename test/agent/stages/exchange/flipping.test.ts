// SPDX-License-Identifier: Apache-2.0
// One observer turns its vote on and off ten times a second, where one more of the target's observers sees it down: whether two
// agree hangs on it alone.
import t from 'tap'
import { ExchangeZone, type TestAgent } from '../../../../testkit/zone/exchange-zone.js'

const SECOND = 1_000
const SIZE = 60
const TARGET = 7
const OTHER = 30

const observersOf = (zone: ExchangeZone, target: number): readonly TestAgent[] =>
  zone.agents.filter(
    ({ n, engine, index }) =>
      n !== target && engine.table.topology.slotOf(index(n), index(target)) >= 0,
  )

/** ms until all know the votes of these about the target. */
const untilKnown = (zone: ExchangeZone, voters: readonly TestAgent[], target: number) =>
  zone.until(
    () => zone.agents.every(({ knows }) => voters.every(({ n }) => knows(n, target))),
    60 * SECOND,
  )

const play = async (isFlipping: boolean) => {
  const zone = new ExchangeZone(SIZE, 1)
  zone.startAll({ o: { meshMax: 8 } })
  await zone.clock.advance(30 * SECOND)
  const [steady, flipping] = observersOf(zone, TARGET) as [TestAgent, TestAgent]
  steady.vote(TARGET, true)
  let isDown = false
  const step = async (): Promise<void> => {
    if (isFlipping) flipping.vote(TARGET, (isDown = !isDown))
    await zone.clock.advance(SECOND / 10)
  }
  for (let ms = 0; ms < 30 * SECOND; ms += 100) await step()
  /** Requests and answers of all others. */
  const sent = (): number =>
    zone.agents
      .filter(agent => agent !== flipping)
      .reduce((sum, { address }) => sum + zone.network.sentBy(address).messages, 0)
  const before = sent()
  for (let ms = 0; ms < 60 * SECOND; ms += 100) await step()
  const perSecond = (sent() - before) / 60
  const voters = observersOf(zone, OTHER).slice(0, 6)
  for (const voter of voters) voter.vote(OTHER, true)
  const other = await untilKnown(zone, voters, OTHER)
  flipping.vote(TARGET, true)
  const last = await untilKnown(zone, [steady, flipping], TARGET)
  await zone.stop()
  return { perSecond, other, last }
}

t.test('an observer that keeps changing its vote does not keep the zone talking', async t => {
  const calm = await play(false)
  const busy = await play(true)
  const rates = `${busy.perSecond.toFixed(0)} messages a second, ${calm.perSecond.toFixed(0)} without`
  t.ok(busy.perSecond < 5 * calm.perSecond, rates)
  t.ok(busy.other <= calm.other + SECOND, `another death is known after ${busy.other} ms`)
  t.ok(busy.last <= 30 * SECOND, `what it says in the end is known after ${busy.last} ms`)
})
