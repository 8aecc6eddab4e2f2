// SPDX-License-Identifier: Apache-2.0
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { cronOf, makeCronScheduler } from '../../agent/adapters/cron-scheduler.js'
import type { CloudLinkState } from '../../agent/results.js'
import { makeApiCheck, watchCloudLink } from '../../agent/stages/check/cloud-link.js'
import { makeStageRunner } from '../../agent/stages/runner.js'
import { openStateFolder } from '../../agent/state-folder.js'
import { KubeStatusError, KubeUnreachableError } from '../../core/errors.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'

t.test('a period is a cron expression where one means the same', t => {
  const rows: [periodMs: number, want: string | undefined][] = [
    [1_000, '*/1 * * * * *'],
    [10_000, '*/10 * * * * *'],
    [60_000, '0 */1 * * * *'],
    [300_000, '0 */5 * * * *'],
    [7_000, undefined],
    [90_000, undefined],
    [500, undefined],
  ]
  for (const [periodMs, want] of rows) t.equal(cronOf(periodMs), want, `${periodMs} ms`)
  t.end()
})

/** A FakeClock that node-cron follows too: it reads the global Date. */
const clockWithDate = (t: Test): FakeClock => {
  const clock = new FakeClock()
  const RealDate = Date
  const FakeDate = class extends RealDate {
    constructor(...args: [] | [number | string]) {
      if (args.length === 0) super(clock.wall())
      else super(args[0])
    }
    static override now = (): number => clock.wall()
  }
  globalThis.Date = FakeDate as DateConstructor
  t.teardown(() => {
    globalThis.Date = RealDate
  })
  return clock
}

t.test('rounds survive steps of the wall clock', async t => {
  const clock = clockWithDate(t)
  const stopping = new AbortController()
  let rounds = 0
  makeCronScheduler(clock, seededRandom(1)).every('vote', 10_000, stopping.signal, async () => {
    rounds++
  })
  await clock.advance(100_000)
  t.ok(rounds >= 9 && rounds <= 11, `about ten in 100 s, saw ${rounds}`)

  rounds = 0
  clock.stepWall(-3_600_000)
  await clock.advance(100_000)
  t.ok(rounds >= 9 && rounds <= 11, `an hour back stops nothing, saw ${rounds}`)

  rounds = 0
  clock.stepWall(30 * 86_400_000)
  await clock.advance(100_000)
  t.ok(rounds >= 9 && rounds <= 12, `thirty days on replay nothing, saw ${rounds}`)

  stopping.abort()
  rounds = 0
  await clock.advance(100_000)
  t.equal(rounds, 0, 'stopped')
  t.equal(clock.waiting, 0, 'no timer is left')
})

t.test(
  'stages of one period run together, and not on the second that all agents share',
  async t => {
    const clock = clockWithDate(t)
    const stopping = new AbortController()
    const at: Record<string, number[]> = { a: [], b: [] }
    const scheduler = makeCronScheduler(clock, seededRandom(3))
    for (const [name, seen] of Object.entries(at))
      scheduler.every(name, 10_000, stopping.signal, async () => {
        seen.push(Math.round(clock.wall()))
      })
    await clock.advance(100_000)
    stopping.abort()
    t.ok(at['a']!.length >= 9)
    t.strictSame(at['a'], at['b'])
    const offsets = new Set(at['a']!.map(ms => ms % 10_000))
    t.equal(offsets.size, 1)
    t.notOk(offsets.has(0))
  },
)

t.test('a slow round is not overlapped; odd periods run on the monotonic clock', async t => {
  const clock = clockWithDate(t)
  const stopping = new AbortController()
  let running = 0
  let most = 0
  let rounds = 0
  makeCronScheduler(clock, seededRandom(2)).every('slow', 7_000, stopping.signal, async () => {
    most = Math.max(most, ++running)
    await new Promise<void>(resolve => clock.after(20_000, resolve))
    running--
    rounds++
  })
  await clock.advance(100_000)
  t.equal(most, 1)
  t.ok(rounds >= 3, `${rounds} rounds`)
  stopping.abort()
  makeCronScheduler(clock, seededRandom(2)).every('late', 7_000, stopping.signal, async () => {
    t.fail('a scheduler that is stopped starts nothing')
  })
  await clock.advance(30_000)
})

t.test('the cloud link is cut after a run of failures and up after one answer', async t => {
  const clock = new FakeClock()
  let answer: 'ok' | 'refused' | 'silent' = 'ok'
  const seen: CloudLinkState[] = []
  const link = watchCloudLink(
    { cloudCheckPeriodMs: 10_000, cloudCheckTimeoutMs: 3_000, cloudCheckFailures: 2 },
    {
      clock,
      random: seededRandom(1),
      log: recordingLog(),
      ping: signal =>
        answer === 'ok'
          ? Promise.resolve()
          : answer === 'refused'
            ? Promise.reject(new Error('connect ECONNREFUSED'))
            : new Promise((_, reject) =>
                signal.addEventListener('abort', () => reject(signal.reason as Error)),
              ),
      onChange: state => seen.push(state),
    },
  )
  t.equal(link.current.state, 'unknown')
  await clock.advance(1)
  t.equal(link.current.state, 'up')
  answer = 'silent'
  await clock.advance(14_500)
  t.equal(link.current.state, 'up', 'one failure is not a cut')
  const firstFailure = clock.now()
  await clock.advance(13_000)
  t.equal(link.current.state, 'cut')
  t.ok(link.current.since < firstFailure, 'since the first failure')
  t.match(link.current.trouble, /no answer within 3000 ms/)
  answer = 'refused'
  const { since } = link.current
  await clock.advance(30_000)
  t.equal(link.current.since, since, 'a cut that goes on keeps its beginning')
  t.match(link.current.trouble, /ECONNREFUSED/)
  answer = 'ok'
  await clock.advance(11_000)
  t.equal(link.current.state, 'up')
  t.strictSame(
    seen.map(state => state.state),
    ['up', 'cut', 'up'],
  )
  await link.stop()
  t.equal(clock.waiting, 0)
})

t.test('a link that was cut before counts as cut until the first answer', async t => {
  const rows = [
    ['cut', 'refused', 'cut,cut', -5_000],
    ['cut', 'ok', 'cut,up', 0],
    ['up', 'refused', 'unknown,cut', 0],
    ['unknown', 'ok', 'unknown,up', 0],
  ] as const
  for (const [before, answer, states, since] of rows) {
    const clock = new FakeClock(0)
    const link = watchCloudLink(
      { cloudCheckPeriodMs: 10_000, cloudCheckTimeoutMs: 3_000, cloudCheckFailures: 2 },
      {
        ...{ clock, random: seededRandom(1), log: recordingLog(), onChange: () => undefined },
        before: { state: before, since: -5_000, trouble: 'no way' },
        ping: async () => {
          if (answer === 'refused') throw new Error('connect ECONNREFUSED')
        },
      },
    )
    const first = link.current.state
    await clock.advance(answer === 'ok' ? 1 : 12_000)
    t.equal([first, link.current.state].join(), states, `${before}, then ${answer}`)
    t.equal(link.current.since, since)
    await link.stop()
  }
})

t.test('a stage counts its rounds and logs when their outcome changes', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  let outcome = 'fine'
  const runner = makeStageRunner(
    'vote',
    () => {
      if (outcome !== 'fine') throw new Error(outcome)
      return 'did it'
    },
    { clock, log },
  )
  t.match(runner.status, { state: 'waiting', rounds: 0, lastAt: null })
  await Promise.all([runner.run(), runner.run()])
  t.match(runner.status, {
    state: 'ok',
    rounds: 1,
    lastAt: new Date(clock.wall()).toISOString(),
    detail: 'did it',
  })
  outcome = 'no API'
  await runner.run()
  await runner.run()
  outcome = 'fine'
  await runner.run()
  t.strictSame(
    log.lines.map(line => `${line.level} ${line.message}`),
    ['warn stage fails', 'info stage works again'],
    'changes are logged, rounds are not',
  )
})

t.test('state is replaced as a whole, for the owner only', async t => {
  const dir = join(mkdtempSync(join(tmpdir(), 'edge-health-test-')), 'state')
  t.teardown(() => rmSync(join(dir, '..'), { recursive: true, force: true }))
  const folder = openStateFolder(dir, recordingLog())
  t.equal(await folder.read('heartbeat'), undefined, 'nothing yet')
  await Promise.all([1, 2, 3].map(n => folder.write('heartbeat', String(n))))
  t.equal(await folder.read('heartbeat'), '3', 'the newest wins')
  t.equal(statSync(join(dir, 'heartbeat')).mode & 0o777, 0o600)
  t.equal(statSync(dir).mode & 0o777, 0o700)
  t.strictSame(readdirSync(dir), ['heartbeat'], 'nothing else is left')
})

t.test('a folder that cannot be written is logged once and does not reject', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'edge-health-test-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const blocked = join(dir, 'file')
  writeFileSync(blocked, '')
  const log = recordingLog()
  const folder = openStateFolder(blocked, log)
  await folder.write('heartbeat', '1')
  await folder.write('heartbeat', '2')
  t.equal(log.lines.filter(line => line.message === 'state cannot be written').length, 1)
  t.match(folder.troubles.get('heartbeat'), /ENOTDIR|EEXIST/)
  t.equal(await folder.read('heartbeat'), undefined)
  rmSync(blocked)
  await folder.write('heartbeat', '3')
  t.equal(folder.troubles.size, 0)
  t.match(log.lines.at(-1), { level: 'info', message: 'state is written again' })
  t.equal(readFileSync(join(blocked, 'heartbeat'), 'utf8'), '3')
  chmodSync(blocked, 0o700)
  await settle()
})

t.test('FA11: an apiserver that is unwell is asked for the own Lease', async t => {
  const refusal = (status: number): KubeStatusError =>
    new KubeStatusError('GET', {
      status,
      reason: '',
      message: `scripted ${status}`,
      isFromApi: true,
    })
  const silence = new KubeUnreachableError('GET', 'no answer')
  const rows: readonly (readonly [
    what: string,
    ping?: Error | undefined,
    lease?: Error | undefined,
    want?: Error,
  ])[] = [
    ['it is well'],
    ['unwell, and serves', refusal(500)],
    ['unwell, and cannot read', refusal(500), refusal(503), refusal(500)],
    ['unwell, then silent', refusal(500), silence, refusal(500)],
    ['cut off there, and serves', silence],
    ['silent', silence, silence, silence],
  ]
  for (const [what, ping, lease, want] of rows) {
    const asked: string[] = []
    const kube = {
      ping: async () => {
        if (ping !== undefined) throw ping
      },
      askLease: async () => {
        asked.push('Lease')
        if (lease !== undefined) throw lease
      },
      reconnect: () => void asked.push('reconnect'),
    }
    const check = makeApiCheck({ clock: new FakeClock(), slowMs: 1_500, ...kube })
    const error = await check(new AbortController().signal).catch((thrown: unknown) => thrown)
    t.same(error, want, what)
    const leaseAsked = ping === undefined ? [] : ['Lease']
    t.strictSame(asked, want === undefined ? leaseAsked : ['Lease', 'reconnect'], what)
  }
})
