// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { integers, planOf, plansOf, words } from '../../bench/scale/arguments.js'
import { quantile, short, spread } from '../../bench/scale/figures.js'
import { claimsOf } from '../../bench/scale/invariants.js'
import { measure, type Job } from '../../bench/scale/job.js'
import {
  burstOrder,
  crashOrder,
  cutsOf,
  partitionOrders,
  quietOrder,
} from '../../bench/scale/rows.js'
import {
  burstTable,
  crashTable,
  partitionTable,
  quietTable,
  wrongWrites,
} from '../../bench/scale/tables.js'

const plan = planOf({ profile: 'fast', seed: '7', threads: '1', output: 'text' })

t.test('figures: quantiles of few values, and nothing as nothing', t => {
  t.equal(quantile([3, 1, 2], 0.5), 2)
  t.equal(quantile([3, 1, 2], 0.99), 3)
  t.ok(Number.isNaN(quantile([], 0.5)))
  t.equal(spread([1_000, 2_040]), '1.0/2.0')
  t.equal(spread([]), '–/–')
  t.equal(short(0), '0')
  t.equal(short(0.01234), '0.012')
  t.end()
})

t.test('arguments: what is wrong is named', t => {
  t.throws(() => integers('nodes', '3,x', [1, 9], []), /--nodes must be a whole number .* "x"/)
  t.throws(
    () => words('only', 'crash,rest', ['crash', 'quiet']),
    /--only must be among crash, quiet/,
  )
  t.throws(() => planOf({ profile: 'slow', seed: '1', threads: '1', output: 'text' }), /--profile/)
  t.same(integers('nodes', undefined, [1, 9], [5]), [5])
  t.end()
})

t.test('rows: zones have seeds of their own, and all trials and runs are shared out', t => {
  const seeds = (jobs: readonly Job[]): number[] => jobs.map(job => job.cell.seed)
  const { jobs } = crashOrder(plan, 10, 0, 14)
  t.same(
    jobs.map(job => (job.kind === 'crash' ? job.trials : 0)),
    [6, 6, 2],
  )
  t.equal(new Set(seeds(jobs)).size, 3)
  const cuts = cutsOf([10, 20], [50, 10], [0, 30])
  const runs = partitionOrders(plan, cuts, 21).flatMap(order => order.jobs)
  t.equal(runs.length, 21)
  t.equal(new Set(seeds(runs)).size, 21)
  t.end()
})

const run = async <R>({
  jobs,
  finish,
}: {
  jobs: readonly Job[]
  finish: (all: never[]) => R
}): Promise<R> => finish((await Promise.all(jobs.map(measure))) as never[])

t.test('identities: the same crashes, with messages that nodes sign', async t => {
  t.throws(() => plansOf(plan, 'on'), /--identity must be among off, prefer, require/)
  const plans = plansOf(plan, 'off,prefer,require')
  const rows = await Promise.all(plans.map(each => run(crashOrder(each, 5, 0, 2))))
  t.same(
    rows.map(({ identity }) => identity),
    ['off', 'prefer', 'require'],
  )
  const [off = 0, ...signed] = rows.map(({ times }) => times.bodies[0]!)
  t.ok(off > 0)
  for (const bytes of signed) t.ok(bytes > 1.1 * off, 'signatures are on the wire')
  for (const { times } of rows) t.match(times, { trials: 2, missed: 0, wrong: 0 })
  t.match(crashTable(rows), /\n5 +0 % +2 +off .*\n5 +0 % +2 +prefer .*\n5 +0 % +2 +require /)
})

t.test('a tenth of a zone dies at once: all see it, it is written, and it costs more', async t => {
  const plans = plansOf(plan, 'off,require')
  const rows = await Promise.all(plans.map(each => run(burstOrder(each, 20, 0, 2))))
  for (const { bursts } of rows) {
    t.equal(bursts.length, 2)
    for (const burst of bursts) {
      t.match(burst, { dead: 2, wrong: 0 })
      t.ok(burst.seen! > 500 && burst.seen! < 10_000, `seen after ${burst.seen} ms`)
      t.ok(burst.written! > 500 && burst.written! < 20_000, `written after ${burst.written} ms`)
      t.ok(burst.bodyBytesPerSecond > burst.quietBytesPerSecond)
    }
  }
  t.match(burstTable(rows), /\n20 +0 % +2 +2 +off .*\n20 +0 % +2 +2 +require .* 0\n/)
  const [row] = rows
  const late = { ...row!.bursts[0]!, seen: undefined, wrong: 1 }
  const broken = { ...row!, bursts: [late] }
  t.match(burstTable([broken]), /\n20 .* –\/– .* 1\n/)
  t.equal(wrongWrites({ burst: [broken] }), 1)
})

t.test(
  'a small zone: the same seed gives the same figures, and they keep the invariants',
  async t => {
    const crash = crashOrder(plan, 5, 0, 2)
    const quiet = quietOrder(plan, 5, 10, 1)
    const [cut] = partitionOrders(plan, cutsOf([5], [40], [0]), 1)
    const rows = {
      crash: [await run(crash)],
      quiet: [await run(quiet)],
      partition: [await run(cut!)],
    }
    t.same(await run(crash), rows.crash[0], 'the same again')
    const claims = claimsOf(plan, rows)
    t.same(
      claims.filter(({ isSo }) => !isSo),
      [],
    )
    t.equal(wrongWrites(rows), 0)
    t.match(crashTable(rows.crash), /\n5 +0 % +2 /)
    t.match(quietTable(rows.quiet), /\n5 +10 % .* \d+\.\d\/\d+\.\d\/\d+\.\d\n/)
    const [still] = rows.quiet
    t.ok(still!.quiet.age.p50 > 0 && still!.quiet.age.p50 <= still!.quiet.age.p99)
    t.ok(still!.quiet.age.p99 <= still!.quiet.age.max && still!.quiet.age.max < 60_000)
    t.match(partitionTable(rows.partition), /\n5 +40\/60 +0 % +1 /)

    const [first] = rows.crash
    const late = {
      ...first!,
      times: { ...first!.times, all: [60_000], written: [60_000], wrong: 1 },
    }
    const writing = (profile: 'default' | 'fast', size: number, ms: number) =>
      claimsOf(
        { ...plan, profile },
        {
          ...{ quiet: [], partition: [] },
          crash: [{ ...first!, size, times: { ...first!.times, written: [ms] } }],
        },
      )
        .filter(({ text }) => text.includes('written after'))
        .map(({ isSo }) => isSo)
    t.same(writing('default', 100, 13_500), [false], 'the bar')
    t.same(writing('default', 300, 13_500), [true], 'known to be late')
    t.same(writing('default', 300, 15_500), [false], 'later than known')
    t.same(writing('fast', 300, 13_500), [false])
    const signed = (identity: 'off' | 'require', bodies: number) => ({
      ...{ ...first!, identity },
      times: { ...first!.times, bodies: [bodies] },
    })
    const bursts = (more: number) =>
      claimsOf(plan, {
        ...{ quiet: [], partition: [] },
        crash: [signed('off', 1_000), signed('require', more)],
      })
        .filter(({ text }) => text.includes('bodies in a death'))
        .map(({ isSo }) => isSo)
    t.same([bursts(1_790), bursts(1_810)], [[true], [false]], 'what signatures cost in a death')
    const delayed = (ms: number) => {
      const of = (identity: 'off' | 'require', base: number) => ({
        ...{ ...first!, identity },
        times: {
          ...first!.times,
          trials: 100,
          written: Array.from({ length: 100 }, (_, at) => base + 10 * at),
        },
      })
      return claimsOf(plan, {
        ...{ quiet: [], partition: [] },
        crash: [of('off', 1_000), of('require', 1_000 + ms)],
      })
        .filter(({ text }) => text.includes('median written later'))
        .map(({ isSo }) => isSo)
    }
    // Two standard errors of the median are 100 ms here.
    t.same([delayed(390), delayed(410)], [[true], [false]], 'how much later signatures may be')
    const [calm] = rows.quiet
    const noisy = {
      ...calm!,
      lossPercent: 0,
      quiet: { ...calm!.quiet, wireBytesPerSecond: 1e6, wrong: 1 },
    }
    const [half] = rows.partition
    const torn = {
      ...half!,
      runs: half!.runs.map(each => ({ ...each, wrong: 1, clean: Infinity })),
    }
    const broken = claimsOf(plan, { crash: [late], quiet: [noisy], partition: [torn] })
    t.equal(broken.filter(({ isSo }) => !isSo).length, 7, 'what is broken is said')
    t.equal(wrongWrites({ crash: [late], quiet: [noisy], partition: [torn] }), 3)
  },
)
