// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { matrixOf } from '../../../agent/views/matrix.js'
import { parseNodeName } from '../../../core/ids.js'
import { judge } from '../../../vote/judge.js'
import { makeJudgement } from '../../../vote/judgement.js'
import { ScriptedEvidence, unmarked, voteOptions } from '../../../testkit/zone/evidence.js'
import { World } from '../../../testkit/zone/world.js'

const options = voteOptions()

/** The zone after a minute in which the last node was silent, and all its observers said down; node 1 sees it. */
const minuteAfter = (size: number, observers?: number[][]) => {
  const evidence = new ScriptedEvidence(size, 1, observers === undefined ? {} : { observers })
  const judgement = makeJudgement(size)
  const alive = Array.from({ length: size - 1 }, (_, index) => index)
  const members = [...alive, size - 1].map(index => ({ name: parseNodeName(`n${index}`) }))
  for (let now = 0; now <= 61_000; now += 1_000) {
    if (now < 5_000) evidence.hear(alive, now)
    else evidence.say(alive, [size - 1], true, now)
    judge(judgement, evidence, now, { options, context: unmarked() })
  }
  const look = () =>
    matrixOf(
      { roster: { members, self: 1 }, judgement, table: evidence },
      { now: 61_000, wall: 0, options },
      name => (name === 'n1' ? undefined : 4),
    )
  return { evidence, look }
}

t.test('who says what about whom', t => {
  const { evidence, look } = minuteAfter(5)
  evidence.hasJustBegun(3, 0)
  const { targets, voters, roundTripSeconds, isPartial, members } = look()
  t.match({ isPartial, members }, { isPartial: false, members: 5 })
  t.strictSame(targets, ['n4', 'n0', 'n1', 'n2', 'n3'], 'worst first')
  t.strictSame(
    voters.map(({ name, says }) => `${name} ${says}`),
    ['n1 du-uu', 'n0 d-uuu', 'n2 duu-u', 'n3 dnuu-', 'n4 -uuuu'],
    'this agent first',
  )
  t.match(
    voters.at(-1),
    { why: 'too old', ageSeconds: 61 },
    'what the dead one said counts no more',
  )
  t.match(voters[0], { why: null, ageSeconds: 0 })
  t.strictSame(roundTripSeconds, [0.004, 0.004, null, 0.004, 0.004])
  t.end()
})

t.test('a large zone: only nodes with trouble, and who watches them, at most 64 of each', t => {
  const rings = Array.from({ length: 100 }, (_, i) => [1, 2, 3, 4, 5].map(step => (i + step) % 100))
  const { look, evidence } = minuteAfter(100, rings)
  const { targets, voters, isPartial } = look()
  t.equal(isPartial, true)
  t.strictSame(targets, ['n99'])
  t.strictSame(
    voters.map(({ name, says }) => `${name} ${says}`),
    ['n1 d', 'n0 d', 'n2 d', 'n3 d', 'n4 d'],
  )
  for (let target = 0; target < 100; target++) evidence.hasJustBegun((target + 1) % 100, target)
  t.match(look(), { targets: { length: 64 }, voters: { length: 64 } })
  t.equal(look().targets[0], 'n99', 'the worst is among them')
  t.end()
})

t.test('an agent that knows nothing yet', async t => {
  const world = new World(1)
  t.teardown(() => world.stop())
  world.boot(0)
  t.match(world.machine(0).agent!.views.matrix(), { members: 0, targets: [], voters: [] })
})
