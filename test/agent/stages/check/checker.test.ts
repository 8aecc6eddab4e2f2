// SPDX-License-Identifier: Apache-2.0
// Many targets over virtual time: timers, call for votes, damping, sweep, void rounds, changes of the roster.
import t, { type Test } from 'tap'
import { makeChecker, type Checker } from '../../../../agent/stages/check/checker.js'
import type { RoundOutcome } from '../../../../agent/results.js'
import type { VoidRound } from '../../../../agent/stages/check/probe-worker.js'
import type { CheckOptions } from '../../../../agent/options/agent-options.js'
import type { Target } from '../../../../core/check.js'
import { parseNodeName } from '../../../../core/ids.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { answer, refusal, ScriptedPlugin, trouble, type Scene } from '../../scripted-plugin.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const OPTIONS: CheckOptions = {
  checkPeriodMs: 10_000,
  scoreLine: 100_000_000,
  attemptSpacingMs: 500,
  attemptTailMs: 1_000,
  attemptsMin: 4,
  attemptsMax: 6,
  downCheckPeriodMs: 2_000,
  plugins: [],
  selfReportUrl: 'http://127.0.0.1:10248/healthz',
  selfReportPeriodMs: 5_000,
  selfReportFailures: 3,
}

const targetOf = (index: number, address = `10.0.0.${index}`): Target => ({
  name: parseNodeName(`n${index}`),
  address,
})
const targets = (count: number): Target[] =>
  Array.from({ length: count }, (_, index) => targetOf(index + 1))
const n1 = targetOf(1).name

type Script = (target: Target, count: number) => Scene

const world = (script: Script, seed = 1, more: Partial<CheckOptions> = {}) => {
  const clock = new FakeClock(0)
  const plugin = new ScriptedPlugin(clock, (target, count) => script(target, count))
  const rounds: RoundOutcome[] = []
  const voids: VoidRound[] = []
  const calls: [name: string, at: number][] = []
  const log = recordingLog()
  const lag = { ms: 0, looks: 0 }
  const checker: Checker = makeChecker(
    { ...OPTIONS, ...more },
    {
      plugins: [plugin],
      clock,
      random: seededRandom(seed),
      log,
      loopLag: {
        look: () => {
          let isOpen = true
          lag.looks++
          return {
            lostMs: 0,
            get mostMs() {
              return lag.ms
            },
            end: () => {
              if (isOpen) lag.looks--
              isOpen = false
            },
          }
        },
      },
      onRound: outcome => rounds.push(outcome),
      onVoid: round => voids.push(round),
      callForVotes: name => calls.push([name, clock.now()]),
    },
  )
  const of = (name: string): RoundOutcome[] => rounds.filter(round => round.target === name)
  const gaps = (name: string): number[] =>
    of(name).flatMap((round, i, all) => (i === 0 ? [] : [round.startedAt - all[i - 1]!.startedAt]))
  return { clock, plugin, rounds, voids, calls, log, lag, checker, of, gaps }
}

const lasted = ({ startedAt, endedAt }: RoundOutcome): number => Math.round(endedAt - startedAt)

/** Nothing runs, nothing waits. */
const stopped = async (t: Test, { checker, plugin, clock, lag }: ReturnType<typeof world>) => {
  await checker.stop()
  await checker.stop()
  t.equal(plugin.open, 0, 'no attempt is open')
  t.equal(lag.looks, 0, 'nobody looks for delays any more')
  t.equal(clock.waiting, 0, 'no timer is left')
}

t.test('first rounds are through within about a second, spread, in another order each', async t => {
  const orders = new Set<string>()
  for (const seed of [1, 2, 3]) {
    const w = world(() => answer(), seed)
    w.checker.setTargets(targets(10))
    await w.clock.advance(1_010)
    t.equal(new Set(w.rounds.map(round => round.target)).size, 10)
    const firsts = targets(10).map(({ name }) => w.of(name)[0]!.startedAt)
    t.ok(new Set(firsts.map(at => Math.floor(at / 100))).size >= 8, 'not all at once')
    orders.add(
      targets(10)
        .map(({ name }) => w.of(name)[0]!.startedAt)
        .map(at => Math.floor(at / 100))
        .join(),
    )
    t.match(w.rounds[0], {
      vote: 'up',
      failedRounds: 0,
      score: 100_000_000,
      reason: '',
      attempts: 1,
    })
    t.match(w.checker.stateOf(n1), { isDown: false, failedRounds: 0, rounds: 1, loss: 0 })
    await stopped(t, w)
  }
  t.equal(orders.size, 3)
})

t.test(
  'rounds follow each other at the period, ten percent more or less, phases stay spread',
  async t => {
    const w = world(() => answer())
    w.checker.setTargets(targets(20))
    await w.clock.advance(300_000)
    for (const { name } of targets(20)) {
      const [, ...regular] = w.gaps(name)
      t.ok(regular.length >= 25)
      t.ok(regular.every(gap => gap >= 9_000 && gap <= 11_000))
    }
    const phases = targets(20).map(({ name }) =>
      Math.floor((w.of(name).at(-1)!.startedAt % 10_000) / 1_000),
    )
    t.ok(new Set(phases).size >= 5, 'not in step')
    const reuse = w.plugin.seen.filter(({ target }) => target.name === n1).map(seen => seen.reuse)
    t.strictSame(
      reuse
        .slice(0, 13)
        .map((kept, index) => (kept ? 0 : index + 1))
        .filter(Boolean),
      [6, 12],
      'every sixth round opens a connection of its own',
    )
    await stopped(t, w)
  },
)

t.test('a black-holed peer slows nobody else down', async t => {
  const w = world(target => (target.name === n1 ? 'silence' : answer()))
  w.checker.setTargets(targets(10))
  await w.clock.advance(300_000)
  for (const { name } of targets(10).slice(1)) {
    const [, ...regular] = w.gaps(name)
    t.ok(
      regular.every(gap => gap >= 9_000 && gap <= 11_000),
      name,
    )
    t.ok(w.of(name).every(round => lasted(round) === 1))
  }
  t.ok(w.of(n1).every(round => lasted(round) === 2_500 && round.vote === 'down'))
  await stopped(t, w)
})

t.test(
  'a node that dies: call for votes, down, asked again soon, up with its first answer',
  async t => {
    let dead = false
    const w = world(() => (dead ? 'silence' : answer()))
    w.checker.setTargets(targets(1))
    await w.clock.advance(60_000)
    t.strictSame(w.calls, [])
    dead = true
    const before = w.of(n1).length
    await w.clock.advance(20_000)
    const failed = w.of(n1).slice(before)
    const { startedAt } = failed[0]!
    t.match(failed[0], {
      vote: 'down',
      failedRounds: 1,
      score: 0,
      reason: 'probe: no answer',
      attempts: 4,
    })
    t.equal(lasted(failed[0]!), 2_500)
    t.strictSame(
      w.calls,
      [
        [n1, startedAt + 1_000],
        [n1, startedAt + 2_500],
      ],
      'after two missed attempts and when the round failed, and not again while it is down',
    )
    t.strictSame(
      failed.map(round => round.failedRounds),
      failed.map((_, index) => index + 1),
    )
    t.ok(failed.slice(1).every((round, i) => round.startedAt - failed[i]!.startedAt <= 3_001))
    dead = false
    await w.clock.advance(3_100)
    const back = w.of(n1).at(-1)!
    t.match(back, { vote: 'up', failedRounds: 0, score: 100_000_000, reason: '' })
    t.strictSame(
      w.log.lines.filter(line => line.level === 'info').map(line => line.message),
      ['peer is down', 'peer is up again'],
    )
    await w.clock.advance(60_000)
    const [, ...regular] = w.gaps(n1).slice(-4)
    t.ok(
      regular.every(gap => gap >= 9_000 && gap <= 11_000),
      'back to the period',
    )
    await stopped(t, w)
  },
)

t.test('a refused node is asked every two seconds while it is down', async t => {
  const w = world(() => refusal())
  w.checker.setTargets(targets(1))
  await w.clock.advance(60_000)
  t.match(w.of(n1)[0], { vote: 'down', reason: 'probe: connection refused' })
  const gaps = w.gaps(n1)
  // A refused round takes 1.5 s; half a second of rest is the least.
  t.ok(gaps.every(gap => gap >= 2_000 && gap <= 2_200))
  await stopped(t, w)
})

t.test(
  'a lossy link gets more attempts, and no call for votes before the round failed',
  async t => {
    let dead = false
    const w = world((_target, count) => (dead || count % 2 === 0 ? 'silence' : answer()))
    w.checker.setTargets(targets(1))
    await w.clock.advance(200_000)
    t.ok(w.rounds.every(round => round.vote === 'up'))
    t.equal(w.checker.stateOf(n1)?.loss.toFixed(2), '0.99', 'each first attempt was missed')
    dead = true
    await w.clock.advance(15_000)
    const fall = w.of(n1).find(round => round.vote === 'down')!
    t.match(fall, { attempts: 6, failedRounds: 1 })
    t.equal(lasted(fall), 3_500)
    t.strictSame(w.calls, [[n1, fall.endedAt]])
    await w.clock.advance(60_000)
    t.equal(w.checker.stateOf(n1)?.loss.toFixed(2), '0.99', 'failed rounds teach nothing')
    await stopped(t, w)
  },
)

t.test('at 30 % loss nobody looks dead for long: two thousand rounds', async t => {
  const random = seededRandom(7)
  // A request and its answer each are lost with 30 %.
  const w = world(() => (random.below(100) < 51 ? 'silence' : answer(10)), 3)
  w.checker.setTargets(targets(20))
  await w.clock.advance(1_000_000)
  const down = w.rounds.filter(round => round.failedRounds === 1).length
  t.ok(w.rounds.length > 1_900)
  t.ok(down / w.rounds.length < 0.03, `${down} of ${w.rounds.length}`)
  await stopped(t, w)
})

t.test('a flapping node is held down longer and longer, and let go again', async t => {
  let dead = false
  const w = world(() => (dead ? 'silence' : answer()))
  w.checker.setTargets(targets(1))
  await w.clock.advance(30_000)
  const held: number[] = []
  for (let i = 0; i < 6; i++) {
    dead = true
    await w.clock.advance(15_000)
    t.equal(w.checker.stateOf(n1)?.isDown, true)
    dead = false
    const from = w.clock.now()
    while (w.checker.stateOf(n1)?.isDown === true && w.clock.now() < from + 130_000) {
      await w.clock.advance(250)
      const state = w.checker.stateOf(n1)!
      if (state.isDown && state.failedRounds === 0) {
        t.equal(state.reason, 'answers again, but flapped')
        t.ok(state.heldUntil > w.clock.now() - 2_200)
      }
    }
    held.push(Math.round((w.clock.now() - from) / 1_000))
  }
  t.ok(held[0]! <= 4, 'the first fall is forgiven')
  t.ok(held[1]! >= 10 && held[1]! <= 16, `${held[1]} s`)
  t.ok(held[2]! >= 20 && held[2]! <= 26, `${held[2]} s`)
  t.ok(
    held.every((s, i) => i === 0 || s >= held[i - 1]! - 3),
    held.join(),
  )
  t.ok(held[5]! >= 40 && held[5]! <= 126, `${held[5]} s`)
  await w.clock.advance(1_500_000)
  dead = true
  await w.clock.advance(15_000)
  dead = false
  await w.clock.advance(4_000)
  t.equal(w.checker.stateOf(n1)?.isDown, false, 'old falls are forgotten')
  await stopped(t, w)
})

t.test('a held node that fails again starts its time anew', async t => {
  let dead = true
  const w = world(() => (dead ? 'silence' : answer()))
  w.checker.setTargets(targets(1))
  for (let i = 0; i < 2; i++) {
    dead = true
    await w.clock.advance(14_000)
    dead = false
    await w.clock.advance(i === 0 ? 20_000 : 4_000)
  }
  const first = w.checker.stateOf(n1)!
  t.match(first, { isDown: true, failedRounds: 0 })
  dead = true
  await w.clock.advance(6_000)
  t.match(w.checker.stateOf(n1), { isDown: true, heldUntil: -Infinity })
  dead = false
  await w.clock.advance(4_000)
  t.ok(w.checker.stateOf(n1)!.heldUntil > first.heldUntil)
  t.equal(w.of(n1).filter(round => round.failedRounds === 1).length >= 3, true)
  await stopped(t, w)
})

t.test('two falls at once: all targets are looked at now, once per period', async t => {
  const dead = new Set<string>()
  const w = world(target => (dead.has(target.name) ? 'silence' : answer()))
  w.checker.setTargets(targets(10))
  await w.clock.advance(60_000)
  for (const index of [1, 2]) dead.add(targetOf(index).name)
  const isDown = (index: number): boolean => w.checker.stateOf(targetOf(index).name)!.isDown
  while (!isDown(1) || !isDown(2)) await w.clock.advance(100)
  const falls = [1, 2].map(
    i => w.of(targetOf(i).name).find(round => round.vote === 'down')!.endedAt,
  )
  const second = Math.max(...falls)
  for (const { name } of targets(10).slice(2))
    t.ok(
      w.of(name).some(round => round.startedAt === second),
      `${name} was asked at once`,
    )
  const before = w.rounds.length
  w.checker.sweep()
  await w.clock.advance(5)
  t.ok(w.rounds.length - before < 8, 'a second sweep in the same period does nothing')
  await w.clock.advance(12_000)
  const later = w.rounds.length
  w.checker.sweep()
  await w.clock.advance(5)
  t.ok(w.rounds.length - later >= 8, 'one in the next does')
  await stopped(t, w)
})

t.test('one fall of ten, or two of fifteen, is no reason to sweep', async t => {
  for (const [count, falls] of [
    [10, 1],
    [15, 2],
  ] as const) {
    const w = world(target => (Number(target.name.slice(1)) <= falls ? 'silence' : answer()))
    w.checker.setTargets(targets(count))
    await w.clock.advance(8_000)
    const fallsAt = w.rounds.filter(round => round.failedRounds === 1).map(round => round.endedAt)
    t.equal(fallsAt.length, falls)
    t.notOk(
      w.rounds.some(round => fallsAt.includes(round.startedAt)),
      `${falls} of ${count}`,
    )
    await stopped(t, w)
  }
})

t.test(
  'a round in which this process was held up says nothing, and is made up for soon',
  async t => {
    let dead = false
    const w = world(() => (dead ? 'silence' : answer()))
    w.checker.setTargets(targets(1))
    await w.clock.advance(30_000)
    const before = w.rounds.length
    dead = true
    w.lag.ms = 501
    await w.clock.advance(18_000)
    t.equal(w.rounds.length, before, 'nothing is told')
    t.strictSame(w.calls, [], 'nobody is called')
    t.match(w.checker.stateOf(n1), {
      isDown: false,
      reason: 'this process was held up',
      failedRounds: 0,
    })
    t.ok(w.checker.stateOf(n1)!.voidRounds >= 3)
    w.lag.ms = 500
    await w.clock.advance(6_000)
    t.match(w.checker.stateOf(n1), { isDown: true }, 'half the tail is still good')
    w.lag.ms = 5_000
    dead = false
    await w.clock.advance(6_000)
    t.match(
      w.checker.stateOf(n1),
      { isDown: false },
      'an answer is an answer, however late we were',
    )
    await stopped(t, w)
  },
)

t.test('a held-up round teaches nothing about the link', async t => {
  const w = world((_target, count) => (count % 2 === 0 ? 'silence' : answer()))
  w.lag.ms = 2_000
  w.checker.setTargets(targets(1))
  await w.clock.advance(60_000)
  t.match(w.checker.stateOf(n1), { isDown: false, loss: 0 })
  await stopped(t, w)
})

t.test('trouble of our own lowers nobody, from the first round on', async t => {
  let scene: Scene = trouble('EMFILE')
  const w = world(() => scene)
  w.checker.setTargets(targets(3))
  await w.clock.advance(60_000)
  t.strictSame(w.rounds, [])
  t.match(w.checker.stateOf(n1), {
    isDown: false,
    failedRounds: -1,
    rounds: 0,
    reason: 'probe: unknown (EMFILE)',
  })
  scene = answer()
  await w.clock.advance(15_000)
  t.match(w.checker.stateOf(n1), { isDown: false, failedRounds: 0 })
  scene = refusal()
  await w.clock.advance(15_000)
  t.match(w.checker.stateOf(n1), { isDown: true })
  scene = trouble()
  const since = w.voids.length
  await w.clock.advance(4_000)
  t.match(w.checker.stateOf(n1), { isDown: true }, 'nor does it raise anybody')
  t.ok(w.voids.slice(since).every(({ voteStands }) => voteStands))
  await w.clock.advance(60_000)
  t.match(w.checker.stateOf(n1), { isDown: false, failedRounds: -1 }, 'what lasts is no vote')
  const last = w.voids.filter(({ target }) => target === n1).at(-1)
  t.strictSame(last, { target: n1, reason: 'probe: unknown (EMFILE)', voteStands: false })
  t.equal(w.checker.trouble, 'no node can be probed: probe: unknown (EMFILE)')
  scene = answer()
  await w.clock.advance(15_000)
  t.match(w.checker.stateOf(n1), { isDown: false, failedRounds: 0, reason: '' })
  t.equal(w.checker.trouble, undefined)
  await stopped(t, w)
})

t.test(
  'probeNow starts a round at once, never a second one beside it, and moves no timer',
  async t => {
    const w = world(() => answer(200))
    w.checker.setTargets(targets(1))
    await w.clock.advance(55_000)
    const begun = w.plugin.seen.length
    for (let i = 0; i < 5; i++) w.checker.probeNow(n1)
    w.checker.probeNow(parseNodeName('stranger'))
    await w.clock.advance(100)
    w.checker.probeNow(n1)
    t.equal(w.plugin.open, 1)
    t.equal(w.plugin.seen.length, begun + 1)
    await w.clock.advance(200)
    w.checker.probeNow(n1)
    await w.clock.advance(60_000)
    const starts = w.of(n1).map(round => round.startedAt)
    const extra = starts.filter(at => at >= 55_000 && at <= 55_300)
    const regular = starts.filter(at => at >= 20_000 && !extra.includes(at))
    t.equal(extra.length, 2)
    t.ok(
      regular.slice(1).every((at, i) => at - regular[i]! <= 11_000),
      'the regular rounds went on',
    )
    t.ok(w.of(n1).every((round, i, all) => i === 0 || round.startedAt >= all[i - 1]!.endedAt))
    await stopped(t, w)
  },
)

t.test('a timer that falls due while an extra round runs takes that round for its own', async t => {
  const w = world((_target, count) => (count === 0 ? answer() : answer(400)), 1, {
    checkPeriodMs: 1_000,
  })
  w.checker.setTargets(targets(1))
  for (let i = 0; i < 200; i++) {
    await w.clock.advance(150)
    w.checker.probeNow(n1)
    t.ok(w.plugin.open <= 1)
  }
  t.ok(w.of(n1).length > 60)
  await stopped(t, w)
})

t.test('slower rounds for a node that doubts itself', async t => {
  const w = world(() => 'silence')
  w.checker.slowDown(2)
  w.checker.setTargets(targets(1))
  await w.clock.advance(7_000)
  t.equal(lasted(w.rounds[0]!), 5_000)
  w.checker.slowDown(0.1)
  await w.clock.advance(20_000)
  t.equal(lasted(w.rounds.at(-1)!), 2_500, 'less than 1 is 1')
  await stopped(t, w)
})

t.test('a changed roster keeps who stays, restarts who moved, forgets who left', async t => {
  const w = world(target => (target.address.startsWith('10.9.') ? answer(5) : 'silence'))
  w.checker.setTargets(targets(3))
  await w.clock.advance(12_000)
  const kept = w.checker.stateOf(n1)
  t.match(kept, { isDown: true })
  const [, n2, n3] = targets(3)
  // In the middle of a round of each.
  for (const { name } of targets(3)) w.checker.probeNow(name)
  await w.clock.advance(100)
  w.checker.setTargets([targetOf(1), targetOf(2, '10.9.0.2')])
  t.equal(w.checker.stateOf(n1), kept, 'stays')
  t.match(w.checker.stateOf(n2!.name), { isDown: false, failedRounds: -1 }, 'a new target')
  t.equal(w.checker.stateOf(n3!.name), undefined)
  const before = w.rounds.length
  await w.clock.advance(20_000)
  const since = w.rounds.slice(before)
  t.notOk(
    since.some(round => round.target === n3!.name),
    'no late word about who left',
  )
  t.match(
    since.find(round => round.target === n2!.name),
    { vote: 'up' },
  )
  t.ok(w.plugin.timesOf('n3').every(at => at <= 12_100))
  w.checker.setTargets([])
  await w.clock.advance(60_000)
  t.equal(w.plugin.open, 0)
  t.equal(w.clock.waiting, 0, 'nobody left, nothing to do, nothing said')
  t.equal(w.checker.stateOf(n1), undefined)
  await stopped(t, w)
})

t.test('a name that is listed twice is one target', async t => {
  const w = world(() => answer())
  w.checker.setTargets([targetOf(1), targetOf(1, '10.0.0.9')])
  await w.clock.advance(60_000)
  t.ok(w.plugin.seen.every(({ target }) => target.address === '10.0.0.9'))
  await stopped(t, w)
})

t.test('stop in the middle of everything: all is aborted, nothing is reported', async t => {
  const w = world(() => 'silence')
  w.checker.setTargets(targets(20))
  await w.clock.advance(1_200)
  t.ok(w.plugin.open > 20)
  const stopping = w.checker.stop()
  t.equal(w.plugin.open, 0)
  await stopping
  const reported = w.rounds.length
  w.checker.setTargets(targets(5))
  w.checker.probeNow(n1)
  w.checker.sweep()
  await w.clock.advance(60_000)
  t.equal(w.rounds.length, reported)
  await stopped(t, w)
})

t.test('stopped from inside a round it calls nobody any more', async t => {
  const clock = new FakeClock(0)
  const calls: string[] = []
  let stopping: Promise<void> | undefined
  const plugin = new ScriptedPlugin(clock, () => refusal())
  const checker = makeChecker(OPTIONS, {
    plugins: [plugin],
    clock,
    random: seededRandom(1),
    log: recordingLog(),
    onRound: () => {
      stopping = checker.stop()
    },
    onVoid: () => undefined,
    callForVotes: name => calls.push(name),
  })
  checker.setTargets(targets(1))
  await clock.advance(5_000)
  await stopping
  t.equal(calls.length, 1, 'the two missed attempts, not the fall')
  t.equal(clock.waiting, 0)
})
