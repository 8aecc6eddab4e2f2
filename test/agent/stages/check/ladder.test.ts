// SPDX-License-Identifier: Apache-2.0
// One round: attempts, loss, early ends, several plugins; and the arithmetic of damping.
import t from 'tap'
import { holdMs, NO_FLAPS, withFall } from '../../../../agent/stages/check/damping.js'
import {
  attemptsFor,
  FIRST_LOSS,
  Ladder,
  learnLoss,
  type ClimbEnd,
} from '../../../../agent/stages/check/ladder.js'
import { Round, type RoundEnd } from '../../../../agent/stages/check/round.js'
import type { CheckPlugin } from '../../../../core/check.js'
import { parseNodeName } from '../../../../core/ids.js'
import { FakeClock, settle } from '../../../../testkit/fake-clock.js'
import { answer, refusal, ScriptedPlugin, trouble, type Scene } from '../../scripted-plugin.js'

const target = { name: parseNodeName('b'), address: '10.0.0.2' }

t.test('more loss, more attempts, within bounds', t => {
  const cases: [loss: number, min: number, max: number, attempts: number][] = [
    [0.05, 1, 9, 3],
    [0.05, 4, 6, 4],
    [0.1, 1, 9, 3],
    [0.2, 4, 6, 5],
    [0.3, 4, 6, 6],
    [0.3, 4, 8, 6],
    [0.6, 4, 6, 6],
    [0.6, 4, 20, 14],
  ]
  for (const [loss, min, max, attempts] of cases) t.equal(attemptsFor(loss, min, max), attempts)
  t.end()
})

t.test('loss is learned slowly and stays between 5 and 60 %', t => {
  t.equal(FIRST_LOSS, 0.05)
  let loss = learnLoss(FIRST_LOSS, true)
  t.equal(loss.toFixed(3), '0.240')
  loss = learnLoss(loss, false)
  t.equal(loss.toFixed(3), '0.192')
  for (let i = 0; i < 50; i++) loss = learnLoss(loss, true)
  t.equal(loss, 0.6)
  for (let i = 0; i < 50; i++) loss = learnLoss(loss, false)
  t.equal(loss, 0.05)
  t.end()
})

t.test('damping: the first fall is free, many are not', t => {
  let flaps = NO_FLAPS
  const holds: number[] = []
  for (let i = 0; i < 8; i++) {
    flaps = withFall(flaps, 1_000)
    holds.push(holdMs(flaps, 1_000) / 1_000)
  }
  t.strictSame(holds, [0, 10, 20, 40, 80, 120, 120, 120], 'at most 120 s, the penalty at most 6')
  t.equal(holdMs(flaps, 301_000), 20_000, 'half of 6 after 300 s')
  t.equal(holdMs(flaps, 901_000), 0)
  const twice = withFall(withFall(NO_FLAPS, 0), 300_000)
  t.equal(holdMs(twice, 300_000), 0, 'two falls five minutes apart')
  t.end()
})

const climb = (scenes: readonly Scene[], reuse = true) => {
  const clock = new FakeClock()
  const plugin = new ScriptedPlugin(clock, (_target, count) => scenes[count] ?? 'silence')
  const missed: [at: number, count: number][] = []
  const ends: (ClimbEnd & { at: number })[] = []
  const start = clock.now()
  const ladder = new Ladder({
    plugin,
    target,
    attempts: 4,
    spacingMs: 500,
    tailMs: 1_000,
    reuse,
    clock,
    onMissed: count => missed.push([clock.now() - start, count]),
    onEnd: end => ends.push({ ...end, at: clock.now() - start }),
  })
  ladder.start()
  return { clock, plugin, ladder, missed, ends, times: () => plugin.seen.map(s => s.at - start) }
}

t.test('silence: attempts start every 500 ms and all end one second after the last', async t => {
  const { clock, plugin, ladder, missed, ends, times } = climb([])
  await clock.advance(2_499)
  t.strictSame(times(), [0, 500, 1_000, 1_500])
  t.strictSame(
    plugin.seen.map(({ reuse }) => reuse),
    [true, false, false, false],
    'only the first may use a kept connection',
  )
  t.strictSame(missed, [
    [500, 1],
    [1_000, 2],
    [1_500, 3],
  ])
  t.strictSame(ends, [])
  await clock.advance(1)
  t.strictSame(ends, [
    { result: { kind: 'failure', reason: 'no answer' }, firstMissed: undefined, at: 2_500 },
  ])
  t.equal(ladder.attempts, 4)
  await ladder.settled()
  t.equal(plugin.open, 0, 'all are aborted')
  t.equal(clock.waiting, 0, 'no timer is left')
  await clock.advance(60_000)
  t.equal(ends.length, 1)
})

t.test('what each course of attempts means', async t => {
  const cases: [
    why: string,
    scenes: Scene[],
    kind: string,
    at: number,
    first?: boolean | undefined,
  ][] = [
    ['the first answers at once', [answer()], 'success', 1, false],
    ['the first answers late', [answer(700)], 'success', 700, false],
    ['the second is quicker', [answer(900), answer(10)], 'success', 510, true],
    [
      'only the last answers, at the last moment',
      ['silence', 'silence', 'silence', answer(999)],
      'success',
      2_499,
      true,
    ],
    ['a refusal is not the end', [refusal(), refusal(), answer()], 'success', 1_001, true],
    ['refused four times', [refusal(), refusal(), refusal(), refusal()], 'failure', 1_501],
    ['trouble of ours is not the end', [trouble(), answer()], 'success', 501, undefined],
    ['nothing but trouble of ours', [trouble(), trouble(), trouble(), trouble()], 'unknown', 1_501],
    ['half of it trouble of ours', [trouble(), 'silence', trouble(), refusal()], 'unknown', 2_500],
    ['little trouble of ours', [trouble(), 'silence', refusal(), refusal()], 'failure', 2_500],
  ]
  for (const [why, scenes, kind, at, first] of cases) {
    const { clock, plugin, ends, ladder } = climb(scenes)
    await clock.advance(10_000)
    t.match(ends, [{ result: { kind }, at, firstMissed: first }], why)
    t.equal(ends.length, 1)
    await ladder.settled()
    t.equal(plugin.open, 0)
    t.equal(clock.waiting, 0)
  }
})

t.test('a reason in words is better than none', async t => {
  const { clock, ends } = climb([refusal('host unreachable'), 'silence', 'silence', 'silence'])
  await clock.advance(2_500)
  t.strictSame(ends[0]?.result, { kind: 'failure', reason: 'host unreachable' })
})

t.test('refusals are missed attempts at once, trouble of ours never is one', async t => {
  const refused = climb([refusal(), refusal(), 'silence', 'silence'])
  await refused.clock.advance(501)
  t.strictSame(refused.missed.at(-1), [501, 2])
  const troubled = climb([trouble(), trouble(), trouble(), trouble()])
  await troubled.clock.advance(2_500)
  t.ok(troubled.missed.every(([, count]) => count === 0))
})

t.test('a stopped ladder is silent and leaves nothing', async t => {
  const { clock, plugin, ladder, ends, times } = climb([])
  await clock.advance(600)
  ladder.stop()
  ladder.stop()
  await ladder.settled()
  t.equal(plugin.open, 0)
  t.equal(clock.waiting, 0)
  await clock.advance(10_000)
  t.strictSame(ends, [])
  t.equal(times().length, 2)
})

t.test('a plugin that throws is at fault, not the node', async t => {
  for (const probe of [
    () => Promise.reject(new Error('a bug')),
    () => {
      throw new Error('a bug')
    },
  ] as CheckPlugin['probe'][]) {
    const clock = new FakeClock()
    const ends: ClimbEnd[] = []
    const ladder = new Ladder({
      plugin: { name: 'odd', reachesNode: true, weight: 1, probe },
      target,
      attempts: 1,
      spacingMs: 500,
      tailMs: 1_000,
      reuse: false,
      clock,
      onMissed: () => undefined,
      onEnd: end => ends.push(end),
    })
    ladder.start()
    await settle()
    t.match(ends, [{ result: { kind: 'unknown', reason: 'plugin odd broke: a bug' } }])
    t.equal(clock.waiting, 0)
  }
})

const roundWith = (rows: [weight: number, scenes: Scene[], loss?: number][]) => {
  const clock = new FakeClock()
  const start = clock.now()
  const plugins = rows.map(
    ([weight, scenes], index) =>
      new ScriptedPlugin(clock, (_target, count) => scenes[count] ?? 'silence', {
        name: `p${index}`,
        weight: weight * 1_000_000,
      }),
  )
  const ends: (RoundEnd & { at: number })[] = []
  const suspicions: number[] = []
  const links = plugins.map((plugin, index) => ({
    ...{ plugin, loss: rows[index]![2] ?? FIRST_LOSS, measuredLoss: 0 },
  }))
  const round = new Round({
    target,
    links,
    scoreLine: 100_000_000,
    spacingMs: 500,
    tailMs: 1_000,
    attemptsMin: 4,
    attemptsMax: 6,
    reuse: true,
    clock,
    onSuspicion: () => suspicions.push(clock.now() - start),
    onEnd: end => ends.push({ ...end, at: clock.now() - start }),
  })
  round.start()
  return { clock, plugins, links, ends, suspicions, round }
}

t.test('a round ends as soon as its score is decided', async t => {
  const silent: Scene[] = []
  const refused = [refusal(), refusal(), refusal(), refusal()]
  const cases: [why: string, rows: [number, Scene[]][], want: object][] = [
    [
      'both answer',
      [
        [0.5, [answer()]],
        [0.5, [answer(30)]],
      ],
      { verdict: 'up', at: 30, score: 100e6, reason: '' },
    ],
    [
      'one is enough',
      [
        [1, silent],
        [1, [answer()]],
      ],
      { verdict: 'up', at: 1, score: 100e6, attempts: 2 },
    ],
    [
      'one failure decides, the other is cut',
      [
        [0.5, refused],
        [0.5, silent],
      ],
      { verdict: 'down', at: 1_501, score: 0, reason: 'p0: connection refused', attempts: 8 },
    ],
    [
      'alive with a sick kubelet',
      [
        [0.5, [answer()]],
        [0.5, refused],
      ],
      { verdict: 'down', at: 1_501, score: 50e6, reason: 'p1: connection refused', attempts: 5 },
    ],
    [
      'an unknown lowers nobody',
      [
        [0.5, [answer()]],
        [0.5, [trouble(), trouble(), trouble(), trouble()]],
      ],
      { verdict: 'up', at: 1_501, score: 100e6, reason: 'p1: unknown (EMFILE)' },
    ],
    [
      'all unknown is void',
      [
        [0.5, [trouble(), trouble(), trouble(), trouble()]],
        [0.5, [trouble(), trouble(), trouble(), trouble()]],
      ],
      { verdict: 'void', at: 1_501 },
    ],
  ]
  for (const [why, rows, want] of cases) {
    const { clock, plugins, ends, round } = roundWith(rows)
    await clock.advance(10_000)
    t.match(ends, [want], why)
    t.equal(ends.length, 1)
    await round.settled()
    t.strictSame(
      plugins.map(plugin => plugin.open),
      [0, 0],
    )
    t.equal(clock.waiting, 0)
  }
})

t.test('each plugin has its own loss, and only ladders that answered teach it', async t => {
  const lossy = Array.from({ length: 6 }, (): Scene => 'silence')
  const { clock, plugins, links, ends } = roundWith([
    [0.5, ['silence', answer()]],
    [0.5, lossy, 0.6],
  ])
  await clock.advance(10_000)
  t.strictSame(
    plugins.map(plugin => plugin.seen.length),
    [2, 6],
  )
  t.strictSame([...ends[0]!.learned], [[links[0], true]])
})

t.test('suspicion: after two missed attempts, once, and only where loss is rare', async t => {
  const silent = roundWith([
    [0.5, []],
    [0.5, []],
  ])
  await silent.clock.advance(10_000)
  t.strictSame(silent.suspicions, [1_000])
  const quick = roundWith([[1, [refusal(), refusal()]]])
  await quick.clock.advance(10_000)
  t.strictSame(quick.suspicions, [501])
  const lossy = roundWith([[1, [], 0.1]])
  await lossy.clock.advance(10_000)
  t.strictSame(lossy.suspicions, [])
  const saved = roundWith([[1, ['silence', answer(499)]]])
  await saved.clock.advance(10_000)
  t.strictSame(saved.suspicions, [], 'one missed attempt is nothing')
})
