// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { LeaderElection, type LeaderElectionSeams } from '../../controller/leader-election.js'
import { aborted, sleep, type Clock } from '../../core/clock.js'
import { KubeStatusError } from '../../core/errors.js'
import type { Random } from '../../core/random.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'

interface Raw {
  readonly metadata: { readonly resourceVersion: string }
  readonly spec: Readonly<Record<string, unknown>>
}

/** What becomes of one request: it waits on both ways, and may be lost on either, or refused. */
interface Faults {
  readonly toMs?: number
  readonly fromMs?: number
  readonly lost?: 'request' | 'answer'
  readonly status?: number
  readonly retryAfterMs?: number
}

/** The one Lease, at a server that keeps versions as the real one does. */
class LeaseServer {
  lease: Raw | undefined
  version = 0
  readonly asked: string[] = []
  faultsOf: (who: string, verb: string) => Faults = () => ({})

  put(spec: Readonly<Record<string, unknown>>): Raw {
    const metadata = { resourceVersion: String(++this.version) }
    const kept = Object.entries(spec).filter(([, value]) => value !== null)
    this.lease = { metadata, spec: Object.fromEntries(kept) }
    return this.lease
  }

  /** What `who` asks, through a network that does what `faultsOf` says. */
  client(who: string, clock: Clock): LeaderElectionSeams['client'] {
    const call = async <T>(verb: string, signal: AbortSignal, carryOut: () => T): Promise<T> => {
      this.asked.push(`${who} ${verb}`)
      const { toMs = 0, fromMs = 0, lost, status, retryAfterMs } = this.faultsOf(who, verb)
      const gone = new Promise<never>((_, reject) => {
        const fail = (): void => reject(signal.reason as Error)
        signal.addEventListener('abort', fail, { once: true })
        if (signal.aborted) fail()
      })
      gone.catch(() => undefined)
      const never = new Promise<never>(() => undefined)
      const arrived = async (): Promise<T> => {
        if (toMs > 0) await sleep(clock, toMs, new AbortController().signal)
        if (lost === 'request') return never
        if (status !== undefined)
          throw new KubeStatusError(verb, { status, reason: 'No', message: '', retryAfterMs })
        const result = carryOut()
        if (fromMs > 0) await sleep(clock, fromMs, new AbortController().signal)
        return lost === 'answer' ? never : result
      }
      const answer = arrived()
      answer.catch(() => undefined)
      return Promise.race([answer, gone])
    }
    const refuse = (status: number): never => {
      throw new KubeStatusError('lease', { status, reason: '', message: '' })
    }
    return {
      get: (type, _of, signal) => call('get', signal, () => type.parse(this.lease ?? refuse(404))),
      create: (type, _where, { body }, signal) =>
        call('create', signal, () => {
          if (this.lease !== undefined) refuse(409)
          return type.parse(this.put((body as unknown as Raw).spec))
        }),
      patch: (type, _of, { patch }, signal) =>
        call('patch', signal, () => {
          const { body } = patch as unknown as { body: Raw }
          const { metadata, spec } = this.lease ?? refuse(404)
          if (metadata.resourceVersion !== body.metadata.resourceVersion) refuse(409)
          return type.parse(this.put({ ...spec, ...body.spec }))
        }),
    }
  }
}

/** The middle of what chance may give, but for the bits. */
const even = (seed: number): Random => ({ ...seededRandom(seed), below: n => Math.floor(n / 2) })
const where = { namespace: 'edge-system', name: 'one' }

/** A candidate that leads until it is told to end. */
const candidate = (
  server: LeaseServer,
  clock: Clock,
  name: string,
  options: { random?: Random; retryMs?: number } = {},
) => {
  const { random = even(name.charCodeAt(0)), ...more } = options
  const log = recordingLog()
  const seams = { client: server.client(name, clock), clock, random, log }
  const election = new LeaderElection(seams, { ...where, identity: name, ...more })
  const stop = new AbortController()
  const terms: string[] = []
  let windDownMs = 0
  const lead = async (signal: AbortSignal): Promise<void> => {
    terms.push('on')
    await aborted(signal)
    await sleep(clock, windDownMs, new AbortController().signal)
    terms.push('off')
  }
  return {
    election,
    log,
    terms,
    stop,
    run: () => election.run(stop.signal, lead),
    windDown: (ms: number) => {
      windDownMs = ms
    },
  }
}

const bed = (...names: string[]) => {
  const clock = new FakeClock()
  const server = new LeaseServer()
  const all = names.map(name => candidate(server, clock, name))
  return { clock, server, all, a: all[0]!, b: all[1]! }
}

/** All are asked to end, and have ended when `pass` has let the time for it go by. */
const endAll = async (
  candidates: readonly { readonly stop: AbortController }[],
  runs: readonly Promise<unknown>[],
  pass: () => Promise<void>,
): Promise<void> => {
  for (const { stop } of candidates) stop.abort()
  await pass()
  await Promise.all(runs)
}

t.test('one leads, with a Lease as client-go writes it', async t => {
  const { clock, server, a, b } = bed('a', 'b')
  const runs = [a.run(), b.run()]
  await clock.advance(0)
  t.strictSame([a.election.mayWrite(), b.election.mayWrite()], [true, false])
  t.match(server.lease!.spec, {
    holderIdentity: /^a_[0-9a-f]{16}$/,
    leaseDurationSeconds: 15,
    leaseTransitions: 0,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
  })
  await clock.advance(60_000)
  t.strictSame([a.terms, b.terms], [['on'], []])
  const { spec } = server.lease!
  t.equal(spec['acquireTime'], '2026-01-01T00:00:00.000000Z')
  t.match(spec['renewTime'], /^2026-01-01T00:00:5[789].*000Z$/)
  const renewals = server.asked.filter(call => call === 'a patch').length
  t.ok(renewals >= 25 && renewals <= 30, `${renewals} renewals in a minute`)
  t.match(a.election.status, { isLeading: true, holder: /^a_/, trouble: undefined })
  t.match(b.election.status, { isLeading: false, holder: /^a_/ })
  t.equal(a.election.guard(), undefined)
  t.match(b.election.guard(), /does not lead/)
  await endAll([a, b], runs, () => clock.advance(1_000))
})

t.test(
  'a graceful stop gives the Lease back, after the work has ended; the next leads at once',
  async t => {
    const { clock, server, a, b } = bed('a', 'b')
    a.windDown(1_000)
    const runs = [a.run(), b.run()]
    await clock.advance(5_000)
    a.stop.abort()
    await clock.advance(900)
    t.match(server.lease!.spec, { holderIdentity: /^a_/ }, 'the work still goes on')
    t.ok(a.election.mayWrite(), 'and may write its last')
    await clock.advance(200)
    t.equal(a.election.mayWrite(), false)
    t.notOk('holderIdentity' in server.lease!.spec)
    await runs[0]
    await clock.advance(2_500)
    t.strictSame([a.terms, b.terms], [['on', 'off'], ['on']])
    t.match(server.lease!.spec, {
      holderIdentity: /^b_/,
      leaseTransitions: 1,
      leaseDurationSeconds: 15,
    })
    b.stop.abort()
    await clock.advance(10)
    await runs[1]
  },
)

t.test('a leader that cannot renew stops before another may take the Lease', async t => {
  const { clock, server, a, b } = bed('a', 'b')
  const runs = [a.run(), b.run()]
  await clock.advance(5_000)
  const from = clock.now()
  server.faultsOf = who => (who === 'a' ? { lost: 'request' } : {})
  const ends: number[] = []
  while (!b.election.mayWrite()) {
    await clock.advance(100)
    if (!a.election.mayWrite()) ends.push(clock.now() - from)
    t.notOk(a.election.mayWrite() && b.election.mayWrite(), 'never both')
  }
  t.ok(ends[0]! <= 10_000, `a stopped after ${ends[0]} ms`)
  const took = clock.now() - from
  t.ok(took >= 12_500 && took <= 18_000, `b led after ${took} ms`)
  t.strictSame(a.terms, ['on', 'off'])
  t.match(server.lease!.spec, { leaseTransitions: 1 })
  server.faultsOf = () => ({})
  await clock.advance(30_000)
  t.strictSame([a.terms, b.terms], [['on', 'off'], ['on']], 'it does not come back by itself')
  t.match(
    a.log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message),
    [
      'became leader',
      'Lease request failed',
      'lost leadership',
      'another process is leader',
      'Lease requests succeed again',
    ],
  )
  await endAll([a, b], runs, () => clock.advance(1_000))
})

t.test(
  'answers that never come: what was carried out counts when it is seen, no sooner',
  async t => {
    const { clock, server, a } = bed('a')
    const run = a.run()
    await clock.advance(5_000)
    let lost = 2
    server.faultsOf = (_who, verb) => (verb === 'patch' && lost-- > 0 ? { lost: 'answer' } : {})
    await clock.advance(5_500)
    t.equal(a.election.mayWrite(), true, 'one lost answer leaves time for another try')
    await clock.advance(10_000)
    t.equal(a.election.mayWrite(), true, 'the version that it did not know was its own')
    t.strictSame(a.terms, ['on'])
    a.stop.abort()
    await clock.advance(1_000)
    await run
    t.notOk('holderIdentity' in server.lease!.spec)
  },
)

t.test('a renewal counts from when it was sent, however long its answer took', async t => {
  const { clock, server, a } = bed('a')
  const run = a.run()
  await clock.advance(1_000)
  server.faultsOf = () => ({ fromMs: 4_500 })
  await clock.advance(3_000)
  const sentAt = clock.now() - 1_800
  await clock.advance(4_000)
  t.equal(a.election.status.trouble, undefined, 'it was answered')
  server.faultsOf = () => ({ lost: 'request' })
  await clock.advance(sentAt + 9_700 - clock.now())
  t.equal(a.election.mayWrite(), true)
  await clock.advance(400)
  t.equal(a.election.mayWrite(), false)
  a.stop.abort()
  server.faultsOf = () => ({})
  await clock.advance(6_000)
  await run
})

t.test('a create whose reply is lost is recognized at the next read', async t => {
  const { clock, server, a } = bed('a')
  server.faultsOf = (_who, verb) => (verb === 'create' ? { lost: 'answer' } : {})
  const run = a.run()
  await clock.advance(8_000)
  t.equal(a.election.mayWrite(), true)
  t.match(server.lease!.spec, { leaseTransitions: 0 })
  a.stop.abort()
  await clock.advance(1_000)
  await run
})

t.test(
  'whoever takes the Lease away by hand has it: one term ends, and another may begin',
  async t => {
    for (const [what, spec, back] of [
      [
        'somebody else',
        { holderIdentity: 'x', leaseDurationSeconds: 15, renewTime: 'now' },
        17_500,
      ],
      ['nobody', { leaseDurationSeconds: 1 }, 5_000],
      // A holder that promises silence for years is not believed for more than an hour.
      ['for years', { holderIdentity: 'x', leaseDurationSeconds: 1e9 }, 3_605_000],
    ] as const) {
      const { clock, server, a } = bed('a')
      const run = a.run()
      await clock.advance(5_000)
      server.put(spec)
      await clock.advance(2_400)
      t.strictSame(a.terms.slice(0, 2), ['on', 'off'], what)
      await clock.advance(back)
      t.strictSame(a.terms, ['on', 'off', 'on'], what)
      a.stop.abort()
      await clock.advance(1_000)
      await run
    }
    const { clock, server, a } = bed('a')
    const run = a.run()
    await clock.advance(5_000)
    server.lease = undefined
    await clock.advance(6_000)
    t.strictSame(a.terms, ['on', 'off', 'on'], 'deleted')
    a.stop.abort()
    await clock.advance(1_000)
    await run
  },
)

t.test(
  'a process that stood still may not write when it wakes, whichever clock stood still with it',
  async t => {
    for (const standing of [[], ['now'], ['now', 'boot'], ['wall']] as const) {
      const clock = new FakeClock()
      const lag = { now: 0, boot: 0, wall: 0 }
      const own: Clock = {
        now: () => clock.now() - lag.now,
        boot: () => clock.boot() - lag.boot,
        wall: () => clock.wall() - lag.wall,
        // Not one timer fires while it stands.
        after: (ms, wake) => clock.after(ms, () => (isStanding ? held.push(wake) : wake())),
      }
      let isStanding = false
      const held: (() => void)[] = []
      const server = new LeaseServer()
      const a = candidate(server, own, 'a')
      const b = candidate(server, clock, 'b')
      const runs = [a.run(), b.run()]
      await clock.advance(5_000)
      isStanding = true
      await clock.advance(25_000)
      for (const what of standing) lag[what] = 25_000
      t.strictSame([a.election.mayWrite(), b.election.mayWrite()], [false, true], standing.join())
      isStanding = false
      for (const wake of held.splice(0)) wake()
      await settle()
      t.equal(a.election.mayWrite(), false)
      await clock.advance(3_000)
      t.strictSame([a.terms, b.terms], [['on', 'off'], ['on']])
      await endAll([a, b], runs, () => clock.advance(5_000))
    }
  },
)

t.test(
  'a wall clock that is set forward stops writes until the next renewal, and no longer',
  async t => {
    const { clock, a } = bed('a')
    const run = a.run()
    await clock.advance(5_000)
    clock.stepWall(86_400_000)
    t.equal(a.election.mayWrite(), false)
    await clock.advance(2_500)
    t.equal(a.election.mayWrite(), true)
    clock.stepWall(-86_400_000 * 2)
    t.equal(a.election.mayWrite(), true, 'set back')
    await clock.advance(20_000)
    t.strictSame(a.terms, ['on'])
    a.stop.abort()
    await clock.advance(1_000)
    await run
  },
)

t.test('a clock years ahead takes no Lease from a holder that renews', async t => {
  const clock = new FakeClock()
  const server = new LeaseServer()
  const ahead: Clock = { ...bare(clock), wall: () => clock.wall() + 3e11 }
  const [a, b] = [candidate(server, clock, 'a'), candidate(server, ahead, 'b')]
  const runs = [a.run(), b.run()]
  await clock.advance(120_000)
  t.strictSame([a.terms, b.terms], [['on'], []])
  await endAll([a, b], runs, () => clock.advance(5_000))
})

const bare = (clock: Clock): Clock => ({
  now: () => clock.now(),
  boot: () => clock.boot(),
  wall: () => clock.wall(),
  after: (ms, wake) => clock.after(ms, wake),
})

t.test('a server that asks for time gets it, as far as the Lease allows', async t => {
  const { clock, server, a, b } = bed('a', 'b')
  const runs = [a.run(), b.run()]
  await clock.advance(5_000)
  server.asked.length = 0
  server.faultsOf = () => ({ status: 429, retryAfterMs: 8_000 })
  await clock.advance(12_000)
  const calls = (who: string) => server.asked.filter(call => call.startsWith(who)).length
  t.ok(calls('b') <= 3, `a candidate asked ${calls('b')} times`)
  t.ok(calls('a') >= 2 && calls('a') <= 4, `the leader asked ${calls('a')} times`)
  t.strictSame(a.terms, ['on', 'off'], 'it leads no more than it can know')
  await endAll([a, b], runs, () => clock.advance(9_000))
})

t.test('5xx for a while costs nothing, and is logged once', async t => {
  const { clock, server, a } = bed('a')
  const run = a.run()
  await clock.advance(5_000)
  server.faultsOf = () => ({ status: 503 })
  await clock.advance(6_000)
  server.faultsOf = () => ({})
  await clock.advance(6_000)
  t.strictSame(a.terms, ['on'])
  t.strictSame(
    a.log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message),
    ['became leader', 'Lease request failed', 'Lease requests succeed again'],
  )
  a.stop.abort()
  await clock.advance(1_000)
  await run
})

t.test('work that ends by itself ends the election, and what it throws is thrown', async t => {
  const { clock, server } = bed()
  const seams = { client: server.client('a', clock), clock, random: even(1), log: recordingLog() }
  const election = new LeaderElection(seams, { ...where, identity: 'a' })
  const never = new AbortController().signal
  const failing = election.run(never, () => Promise.reject(new Error('broken')))
  failing.catch(() => undefined)
  await clock.advance(100)
  await t.rejects(failing, { message: 'broken' })
  t.notOk('holderIdentity' in server.lease!.spec)
  const done = election.run(never, () => Promise.resolve())
  await clock.advance(100)
  await done
  await t.resolves(election.run(AbortSignal.abort(), () => Promise.reject(new Error('no'))))
})

t.test('options that cannot work are refused', async t => {
  const { clock, server } = bed()
  const seams = { client: server.client('a', clock), clock, random: even(1), log: recordingLog() }
  const make = (times: object) => () =>
    new LeaderElection(seams, { ...where, identity: 'a', ...times })
  t.throws(make({ leaseDurationMs: 15_500 }), /leaseDurationMs must be whole seconds, got 15500/)
  t.throws(make({ leaseDurationMs: 10_000 }), /leaseDurationMs must be more than 10000, got 10000/)
  t.throws(make({ retryMs: 5_000 }), /retryMs must be 1 to 4166/)
  t.throws(make({ retryMs: 0 }), /retryMs/)
})

t.test(
  'whatever happens to requests, processes and clocks, two leaders never write at once',
  async t => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seededRandom(seed)
      const chance = (percent: number): boolean => random.below(100) < percent
      const clock = new FakeClock()
      const server = new LeaseServer()
      const processes = ['a', 'b', 'c'].map(name => {
        const held: (() => void)[] = []
        const state = { isStanding: false, aheadMs: 0, held }
        const own: Clock = {
          ...bare(clock),
          wall: () => clock.wall() + state.aheadMs,
          after: (ms, wake) => clock.after(ms, () => (state.isStanding ? held.push(wake) : wake())),
        }
        const one = candidate(server, own, name, {
          random: seededRandom(seed * 100 + name.charCodeAt(0)),
        })
        return { ...one, state, run: one.run() }
      })
      let isRough = true
      server.faultsOf = () => {
        if (!isRough) return {}
        if (chance(60)) return { toMs: random.below(50), fromMs: random.below(50) }
        if (chance(30))
          return {
            status: [429, 500, 503, 409][random.below(4)]!,
            retryAfterMs: random.below(5_000),
          }
        const lost = chance(50) ? 'request' : 'answer'
        return chance(50) ? { lost } : { toMs: random.below(4_000), fromMs: random.below(9_000) }
      }
      let together = 0
      const look = (): void => {
        const writers = processes.filter(
          ({ election, state }) => !state.isStanding && election.mayWrite(),
        )
        if (writers.length > 1) together++
      }
      for (let at = 0; at < 240_000; at += 250) {
        await clock.advance(250)
        look()
        for (const { state } of processes) {
          if (chance(1)) state.isStanding = true
          else if (state.isStanding && chance(5)) {
            state.isStanding = false
            look()
            for (const wake of state.held.splice(0)) wake()
          }
          if (chance(1)) state.aheadMs += (random.below(21) - 10) * 60_000
        }
      }
      isRough = false
      for (const { state } of processes) {
        state.isStanding = false
        for (const wake of state.held.splice(0)) wake()
      }
      await clock.advance(45_000)
      const leaders = processes.filter(({ election }) => election.mayWrite()).length
      if (together > 0 || leaders !== 1)
        t.fail(`seed ${seed}: ${together} times two, ${leaders} at the end`)
      for (const { stop } of processes) stop.abort()
      await clock.advance(20_000)
      await Promise.all(processes.map(({ run }) => run))
    }
    t.pass('40 runs of four minutes')
  },
)
