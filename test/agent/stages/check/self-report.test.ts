// SPDX-License-Identifier: Apache-2.0
// How the own kubelet is, from a scripted healthz.
import t from 'tap'
import {
  makeSelfReport,
  type SelfReporterSeams,
} from '../../../../agent/stages/check/self-report.js'
import type { HttpRequest } from '../../../../core/dial.js'
import { FakeClock, settle } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'

type Scene = number | string

const options = {
  selfReportUrl: 'http://127.0.0.1:10248/healthz',
  selfReportPeriodMs: 5_000,
  selfReportFailures: 3,
}

/** A number is a status, `silence` never answers, other text is the code of an error. */
const world = (first: Scene, lag = { lostMs: 0 }, before?: SelfReporterSeams['before']) => {
  const clock = new FakeClock(0)
  const asked: (HttpRequest & { at: number })[] = []
  const changes: string[] = []
  /** Each time that a state was seen. */
  const sight: string[] = []
  let last: string | undefined = before?.state
  const log = recordingLog()
  let scene = first
  let looks = 0
  const loopLag = {
    look: () => {
      looks++
      return {
        mostMs: 0,
        get lostMs() {
          return lag.lostMs
        },
        end: () => {
          looks--
        },
      }
    },
  }
  const reporter = makeSelfReport(options, {
    clock,
    log,
    loopLag,
    before,
    onSeen: state => {
      sight.push(state)
      if (state !== last) changes.push(state)
      last = state
    },
    http: {
      close: () => undefined,
      get: request => {
        asked.push({ ...request, at: clock.now() })
        if (typeof scene === 'number') return Promise.resolve({ status: scene })
        if (scene !== 'silence')
          return Promise.reject(Object.assign(new Error(scene), { code: scene }))
        return new Promise((_resolve, reject) =>
          request.signal.addEventListener('abort', () => reject(request.signal.reason as Error)),
        )
      },
    },
  })
  const run = async (next: Scene, rounds: number): Promise<void> => {
    scene = next
    await clock.advance(rounds * 5_000)
  }
  return { clock, asked, changes, sight, log, reporter, run, lag, looks: () => looks }
}

t.test('well at once, and asked every period over a kept connection', async t => {
  const w = world(200)
  t.equal(w.reporter.state, 'unknown', 'never asked')
  t.equal(w.reporter.reason, 'not asked yet')
  await settle()
  t.equal(w.reporter.state, 'well')
  t.equal(w.reporter.reason, '')
  await w.clock.advance(20_000)
  t.strictSame(
    w.asked.map(({ at, url, reuse }) => [at, url, reuse]),
    [0, 5_000, 10_000, 15_000, 20_000].map(at => [at, options.selfReportUrl, true]),
  )
  t.strictSame(w.changes, ['well'])
  await w.reporter.stop()
  t.equal(w.clock.waiting, 0)
})

t.test('bad after three failures in a row, well after one success', async t => {
  for (const [scene, reason] of [
    ['ECONNREFUSED', 'connection refused'],
    [500, 'HTTP 500'],
    [404, 'HTTP 404'],
    ['silence', 'no answer'],
  ] as const) {
    const w = world(200)
    await settle()
    await w.run(scene, 2)
    t.equal(w.reporter.state, 'well', 'two are not enough')
    await w.run(200, 1)
    await w.run(scene, 2)
    t.equal(w.reporter.state, 'well', 'not in a row')
    await w.run(scene, 2)
    t.equal(w.reporter.state, 'bad', String(scene))
    t.equal(w.reporter.reason, reason)
    await w.run(200, 2)
    t.equal(w.reporter.state, 'well')
    t.strictSame(w.changes, ['well', 'bad', 'well'])
    t.match(w.log.lines[1], { level: 'warn', fields: { state: 'bad', reason } })
    await w.reporter.stop()
    t.equal(w.clock.waiting, 0)
  }
})

t.test('FA18: a port that nobody ever opened says nothing; silence and errors do', async t => {
  const w = world('ECONNREFUSED')
  await w.clock.advance(120_000)
  t.equal(w.reporter.state, 'unknown')
  t.equal(w.reporter.reason, 'connection refused, and it never answered (healthzPort: 0?)')
  await w.run(500, 3)
  t.equal(w.reporter.state, 'bad', 'somebody listens, and is ill')
  await w.reporter.stop()
})

t.test('a kubelet that never answered in time is bad after three failures', async t => {
  const w = world(500)
  await w.clock.advance(9_999)
  t.equal(w.reporter.state, 'unknown')
  await w.clock.advance(1)
  t.equal(w.reporter.state, 'bad')
  await w.reporter.stop()
})

t.test(
  'an answer that is neither well nor bad changes nothing, and after many the state is unknown',
  async t => {
    for (const scene of [401, 403, 429, 'EMFILE'] as const) {
      const w = world(200)
      await settle()
      await w.run(scene, 2)
      t.equal(w.reporter.state, 'well', String(scene))
      await w.run(scene, 1)
      t.equal(w.reporter.state, 'unknown')
      await w.run(200, 1)
      t.strictSame(w.changes, ['well', 'unknown', 'well'])
      await w.reporter.stop()
    }
    const w = world(200)
    await settle()
    await w.run(500, 1)
    await w.run('EMFILE', 1)
    await w.run(500, 1)
    await w.run('EMFILE', 1)
    t.equal(w.reporter.state, 'well')
    await w.run(500, 1)
    t.equal(w.reporter.state, 'bad', 'a gap in our sight is no success')
    await w.reporter.stop()
  },
)

t.test('a kubelet that hangs is cut after three seconds and asked again in time', async t => {
  const w = world('silence')
  await w.clock.advance(2_999)
  t.equal(w.asked[0]?.signal.aborted, false)
  await w.clock.advance(1)
  t.equal(w.asked[0]?.signal.aborted, true)
  t.equal(w.reporter.reason, 'no answer')
  await w.clock.advance(2_000)
  t.equal(w.asked.length, 2)
  await w.reporter.stop()
})

t.test('stop aborts what runs, and nothing is reported after it', async t => {
  const w = world('silence')
  await settle()
  await w.reporter.stop()
  await w.reporter.stop()
  t.equal(w.asked[0]?.signal.aborted, true)
  t.strictSame(w.changes, [])
  t.equal(w.reporter.reason, 'not asked yet')
  t.equal(w.clock.waiting, 0)
})

t.test(
  'a process that was held up does not take its own silence for that of the kubelet',
  async t => {
    const w = world(200)
    await settle()
    w.lag.lostMs = 1_600
    await w.run('silence', 2)
    t.equal(w.reporter.state, 'well')
    t.equal(w.reporter.reason, 'this process was held up')
    await w.run('silence', 20)
    t.equal(w.reporter.state, 'unknown', 'nobody knows after a while')
    w.lag.lostMs = 1_400
    await w.run('silence', 3)
    t.equal(w.reporter.state, 'bad', 'for most of the time it was not')
    w.lag.lostMs = 1_600
    await w.run('silence', 20)
    t.equal(w.reporter.state, 'bad', 'only an answer shows that the kubelet is well again')
    await w.run(200, 1)
    await w.run(500, 3)
    t.equal(w.reporter.state, 'bad', 'what the kubelet says counts all the same')
    await w.reporter.stop()
    t.strictSame(w.changes, ['well', 'unknown', 'bad', 'well', 'bad'])
    t.equal(w.looks(), 0, 'each look has ended')
  },
)

t.test('what was known before stands until there is a result, or too often none', async t => {
  const lag = (lostMs = 0) => ({ lostMs })
  const slow = 1_600
  const rows: [
    what: string,
    before: 'well' | 'bad',
    scene: Scene,
    states: string,
    lostMs?: number,
  ][] = [
    ['it is well', 'bad', 200, 'well,well,well'],
    ['it is well as before', 'well', 200, 'well,well,well'],
    ['it is bad as before', 'bad', 500, 'bad,bad,bad'],
    ['it hangs as before', 'bad', 'silence', 'bad,bad,bad'],
    ['it fails', 'well', 500, 'well,well,bad'],
    ['it does not say', 'bad', 403, 'bad,bad,unknown'],
    ['it cannot be asked', 'well', 'EMFILE', 'well,well,unknown'],
    ['nobody listens, perhaps never did', 'well', 'ECONNREFUSED', 'well,well,unknown'],
    ['this process is too slow', 'bad', 'silence', 'bad,bad,unknown', slow],
  ]
  for (const [what, state, scene, states, lostMs] of rows) {
    const w = world(scene, lag(lostMs), { state, hasAnswered: false })
    t.equal(w.reporter.state, state)
    const seen: string[] = []
    await w.clock.advance(4_000)
    for (let round = 0; round < 3; round++) {
      seen.push(w.reporter.state)
      await w.clock.advance(5_000)
    }
    t.equal(seen.join(), states, what)
    await w.reporter.stop()
  }
})

t.test(
  'it is said when it is seen how the kubelet is, not while that is what was known',
  async t => {
    for (const [before, scene, sight] of [
      ['well', 200, ['well', 'well', 'well', 'well']],
      ['well', 500, ['bad', 'bad']],
      ['bad', 500, ['bad', 'bad', 'bad', 'bad']],
      ['bad', 403, ['unknown', 'unknown']],
      ['well', 'ECONNREFUSED', ['unknown', 'unknown']],
    ] as const) {
      const w = world(scene, { lostMs: 0 }, { state: before, hasAnswered: false })
      await w.clock.advance(15_000)
      t.strictSame(w.sight, sight, `${before}, then ${scene}`)
      await w.reporter.stop()
    }
  },
)

t.test('a port that is closed after a suspension is that of a kubelet that is gone', async t => {
  const w = world('ECONNREFUSED', { lostMs: 0 }, { state: 'bad', hasAnswered: true })
  await w.clock.advance(60_000)
  t.equal(w.reporter.state, 'bad')
  t.ok(w.reporter.hasAnswered)
  await w.reporter.stop()
})
