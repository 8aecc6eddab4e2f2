// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { topologyFor } from '../../../../agent/records/kring.js'
import { castOf, rosterOf } from '../../../../bench/agent/world/cast.js'
import { Knowledge } from '../../../../bench/agent/world/knowledge.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const NOW = 1_000_000
const AGENT = 0

const worldOf = (size: number, exchangePeriodMs: number): Knowledge => {
  const { members } = castOf(size, 90)
  const topology = topologyFor({ meshMax: 64, ringObservers: 10 })(rosterOf(members, members[1]!))
  return new Knowledge({ size, topology, agent: AGENT, exchangePeriodMs }, seededRandom(1), NOW)
}

const agesOf = (knowledge: Knowledge, size: number, now: number): readonly number[] =>
  Array.from({ length: size ** 2 }, (_, at) => [Math.floor(at / size), at % size] as const)
    .filter(([member, origin]) => member !== AGENT && origin !== AGENT && member !== origin)
    .map(([member, origin]) => (now - knowledge.of(member, origin)) / 4)
    .sort((a, b) => a - b)

// Of simulated agents, p99 of all ages is 16 to 21 s; what is later by less than five seconds is no news, and a record
// counts for sixty.
for (const [size, periodMs] of [
  [10, 5_000],
  [100, 2_000],
] as const)
  t.test(`${size} members hear of each other as agents do`, async t => {
    const knowledge = worldOf(size, periodMs)
    const ages = agesOf(knowledge, size, NOW)
    const p99 = ages[Math.floor(0.99 * ages.length)]!
    t.ok(p99 > 10 && p99 < 30, `p99 is ${p99} s`)
    t.ok(ages[0]! >= 0, 'nobody knows what has not happened yet')
    knowledge.playTo(NOW + 240)
    t.ok(agesOf(knowledge, size, NOW + 240).at(-1)! < 60, 'and they go on to')
  })

t.test('what a member receives it passes on, and never forgets', async t => {
  const knowledge = worldOf(10, 5_000)
  knowledge.learn(3, AGENT, NOW + 8)
  knowledge.learn(3, AGENT, NOW + 4)
  t.equal(knowledge.of(3, AGENT), NOW + 8)
  knowledge.playTo(NOW + 400)
  for (let member = 1; member < 10; member++) t.equal(knowledge.of(member, AGENT), NOW + 8)
})
