// SPDX-License-Identifier: Apache-2.0
// A node has just started, and a stolen one is the first to tell it what all the others say, without an age.
import t from 'tap'
import { ExchangeZone, memberAt } from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { Insider } from '../../../../testkit/zone/insider.js'

const SECOND = 1_000
const TTL_MS = 60 * SECOND
const SIZE = 20

/** @returns of how many of the 18 others the started node has a fresh record, 1, 6 and 25 s after its start */
const play = async (isAttacked: boolean): Promise<readonly number[]> => {
  const zone = new ExchangeZone(SIZE, 1)
  const { clock, agents } = zone
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  const boot = (n: number, savedEpoch = 0) =>
    zone.start(n, {
      ...{ o: { identity: 'require' }, identities: identities.of(memberAt(n).name) },
      savedEpoch,
    })
  for (let n = 0; n < SIZE; n++) boot(n)
  await clock.advance(100 * SECOND)
  agents[0]!.kill()
  const insider = new Insider(zone, 0, identities)
  agents[1]!.kill()
  await clock.advance(3 * SECOND)
  const started = boot(1, 5)
  const others = agents.slice(2)
  const tell = (): void => {
    const { index } = agents[2]!
    const told = insider.send(2, []).news.flatMap(({ place, entry }) => {
      if (place === index(0) || place === index(1) || entry.kind !== 'statement') return []
      return [{ place, entry: { ...entry, age: Infinity } }]
    })
    insider.send(1, told)
  }
  const { engine, index } = started
  const fresh = (): number =>
    others.filter(({ n }) => clock.now() - engine.table.producedAt[index(n)]! < TTL_MS).length
  const counts: number[] = []
  for (let ms = 0; ms < 25 * SECOND; ms += 50) {
    if (isAttacked && ms % 500 === 0) tell()
    await clock.advance(50)
    if ([950, 5_950, 24_950].includes(ms)) counts.push(fresh())
  }
  await zone.stop()
  return counts
}

t.test(
  'without an age from the first that tells, most records are fresh soon all the same',
  async t => {
    t.strictSame(await play(false), [18, 18, 18])
    const [first, later, last] = await play(true)
    t.ok(first! < 18, `${first} of 18 after a second`)
    t.ok(later! >= 12, `${later} of 18 after six seconds`)
    t.equal(last, 18)
  },
)
