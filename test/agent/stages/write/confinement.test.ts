// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError, KubeUnreachableError } from '../../../../core/errors.js'
import type { KubePatch } from '../../../../kube/client/write.js'
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import type { TriedPart } from '../../../../agent/ports/kube-api.js'
import { ConfinementCheck } from '../../../../agent/stages/write/confinement.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { scenario } from '../../../../testkit/zone/scenario.js'

const status = (status: number, message: string): KubeStatusError =>
  new KubeStatusError('patch n1', { status, reason: '', message, isFromApi: true })
/** In the words of kube-apiserver 1.36. */
const byPolicy = (code = 403): KubeStatusError =>
  status(code, `nodes "n1" is forbidden: ValidatingAdmissionPolicy 'edge-health-agent-nodes' with binding 'edge-health-agent-nodes' denied request: no`) // prettier-ignore
const BY_RBAC = status(403, `nodes "n1" is forbidden: User "system:serviceaccount:edge-system:edge-health-agent" cannot patch resource "nodes" in API group "" at the cluster scope`) // prettier-ignore
const BY_WEBHOOK = status(
  403,
  'admission webhook "x" denied the request: ValidatingAdmissionPolicy',
)
const OF_ANOTHER = status(403, `nodes "n1" is forbidden: ValidatingAdmissionPolicy 'corp-labels' with binding 'corp-labels' denied request: no`) // prettier-ignore
const IMITATED = status(403, `admission webhook "x" denied the request: nodes "n1" is forbidden: ValidatingAdmissionPolicy 'edge-health-agent-nodes' with binding 'x' denied request`) // prettier-ignore
const BY_BRIDGE = status(403, 'leases.coordination.k8s.io "n1" is forbidden: an agent on node n1 may not patch it: only the edge itself renews the Lease of its own node') // prettier-ignore
const HOUR = 3_600_000

type Answer = Error | undefined
const thrice = (error: Answer) => [error, error, error] as const

/** A check whose apiserver answers a forbidden write of each part with an error, or takes it. */
const bed = (...[node, status, lease]: readonly [Answer, Answer, Answer]) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const answers = { node, status, lease }
  const asked: { at: number; part: TriedPart; node: string; patch: KubePatch }[] = []
  const kube = {
    tryPatch: async (part: TriedPart, node: string, patch: KubePatch) => {
      asked.push({ at: clock.now(), part, node, patch })
      const error = answers[part]
      if (error !== undefined) throw error
    },
  }
  const random = seededRandom(1)
  const apiBackoff = new ApiBackoff({ clock, random })
  const check = new ConfinementCheck('n1', { kube, clock, random, log, apiBackoff })
  /** As the votes' rounds do. */
  const run = async (ms: number): Promise<void> => {
    for (const end = clock.now() + ms; clock.now() < end;) {
      check.review()
      await clock.advance(10_000)
    }
  }
  return { check, clock, log, asked, answers, run, apiBackoff }
}

t.test('what the answers to the forbidden writes say', async t => {
  const yes = byPolicy()
  const rows: [string, [Answer, Answer, Answer], state: string, reason: RegExp, asked: number][] = [
    ['policies refuse', [yes, yes, yes], 'yes', /policies refuse/, 3],
    ['… with the reason Invalid', [byPolicy(422), yes, yes], 'yes', /policies/, 3],
    ['a bridge refuses', [BY_BRIDGE, BY_BRIDGE, BY_BRIDGE], 'yes', /policies/, 3],
    ['all are taken', [undefined, undefined, undefined], 'no', /the own Node and its status and its Lease: no policy/, 3],
    ['the policy of Leases is missing', [yes, yes, undefined], 'no', /of its Lease: no policy/, 3],
    ['… of the status', [yes, undefined, yes], 'no', /of its status: no policy/, 3],
    ['… of Nodes', [undefined, yes, yes], 'no', /of the own Node: no policy/, 3],
    ['… and RBAC refuses the Lease', [undefined, yes, BY_RBAC], 'no', /of the own Node: no policy/, 3],
    ['RBAC refuses all', [BY_RBAC, BY_RBAC, BY_RBAC], 'unknown', /the own Node: .*cannot patch/, 3],
    ['… the status', [yes, BY_RBAC, yes], 'unknown', /its status: .*cannot patch/, 3],
    ['… the Lease', [yes, yes, BY_RBAC], 'unknown', /its Lease: .*cannot patch/, 3],
    ['another policy refuses', [OF_ANOTHER, yes, yes], 'unknown', /corp-labels/, 3],
    ['a webhook repeats the words of a policy', [IMITATED, yes, yes], 'unknown', /webhook/, 3],
    ['a webhook refuses', [yes, yes, BY_WEBHOOK], 'unknown', /its Lease: .*webhook/, 3],
    ['a webhook cannot do dry runs', [status(400, ''), yes, yes], 'unknown', /400/, 1],
    ['there is no Lease', [yes, yes, status(404, '')], 'unknown', /its Lease: .*404/, 3],
    ['the apiserver is overloaded', [yes, status(429, ''), yes], 'unknown', /429/, 2],
    ['its own trouble in such words', [yes, yes, byPolicy(500)], 'unknown', /500/, 3],
    ['no answer', [yes, new KubeUnreachableError('patch n1', 'gone'), yes], 'unknown', /gone/, 2],
  ] // prettier-ignore
  for (const [what, answers, state, reason, count] of rows) {
    const { check, run, asked } = bed(...answers)
    t.match(check.current, { state: 'unknown', reason: 'not asked yet', at: -Infinity })
    await run(70_000)
    t.match(check.current, { state, reason }, what)
    t.strictSame(asked.map(({ part }) => part), ['node', 'status', 'lease'].slice(0, count), what) // prettier-ignore
    t.ok(asked.every(({ node }) => node === 'n1'))
    await check.stop()
  }
})

t.test(
  'FA7: who is refused waits with all that the agent asks, and asks when nothing else waits',
  async t => {
    const error = new KubeStatusError('patch n1', {
      ...{ status: 429, reason: '', message: '', retryAfterMs: 90_000 },
    })
    const { check, run, asked, apiBackoff } = bed(...thrice(error))
    await run(60_000)
    t.equal(asked.length, 1)
    t.ok(apiBackoff.readyAt >= asked[0]!.at + 90_000, 'nobody asks sooner')
    await check.stop()

    const other = bed(...thrice(byPolicy()))
    other.apiBackoff.failed(error)
    await other.run(80_000)
    t.equal(other.asked.length, 0, 'it waits for what was asked of others')
    await other.run(60_000)
    t.equal(other.asked.length, 3)
    await other.check.stop()
  },
)

t.test('it asks within a minute, then every few hours, sooner while it does not know', async t => {
  const { check, run, asked, answers, log } = bed(...thrice(byPolicy()))
  await run(60_000)
  t.equal(asked.length, 3)
  await run(3 * HOUR - 60_000)
  t.equal(asked.length, 3)
  await run(21 * HOUR)
  t.ok(asked.length >= 3 * 5 && asked.length <= 3 * 9, `${asked.length} requests in a day`)
  t.equal(log.lines.length, 1, 'news alone is told')

  answers.lease = undefined
  await run(6 * HOUR)
  t.equal(check.current.state, 'no')
  t.match(log.lines.at(-1), { level: 'warn', fields: { state: 'no' } })

  answers.lease = status(500, '')
  await run(6 * HOUR)
  t.equal(check.current.state, 'unknown')
  const before = asked.length
  await run(HOUR)
  t.ok(asked.length - before >= 3 * 3, 'it tries again after some minutes')
  await check.stop()
  await run(HOUR)
  t.ok(asked.length - before <= 3 * 9, 'and not after the end')
})

t.test(
  'where somebody else refuses it asks ever more rarely, and then finds out all the same',
  async t => {
    const noLease = new KubeStatusError('patch n1', {
      status: 404,
      reason: 'NotFound',
      message: '',
      isFromApi: true,
    })
    for (const refusal of [BY_RBAC, noLease]) {
      const { check, run, asked, answers } = bed(byPolicy(), byPolicy(), refusal)
      await run(12 * HOUR)
      const looks = asked.length / 3
      t.ok(looks >= 5 && looks <= 9, `${looks} looks in half a day, where one in ten minutes is 72`)
      answers.lease = status(500, '')
      await run(6 * HOUR)
      const before = asked.length
      await run(HOUR)
      t.ok(asked.length - before >= 3 * 3, 'what may pass by itself is looked at again soon')
      answers.lease = byPolicy()
      await run(HOUR)
      t.equal(check.current.state, 'yes')
      await check.stop()
    }
  },
)

t.test('agents find out whether the cluster confines them, and count it nowhere', async t => {
  for (const unguarded of [[], ['lease']] as const)
    await scenario(t, { what: `unguarded: ${unguarded.join()}`, size: 3, seed: 4 }, async world => {
      const isConfined = unguarded.length === 0
      world.cluster.unguarded = unguarded
      await world.settled()
      await world.run(90_000)
      for (const { agent, log } of world.machines) {
        const status = agent!.views.status()
        t.equal(status.confinement.state, isConfined ? 'yes' : 'no')
        t.type(status.confinement.at, 'string')
        const counted = agent!.views.counts().writes.filter(({ count }) => count > 0)
        t.strictSame(counted, [], 'no write, and no failure')
        const reported = log.lines.filter(({ message }) => message === 'confinement of the account')
        t.strictSame(
          reported.map(({ level }) => level),
          [isConfined ? 'info' : 'warn'],
        )
      }
      t.strictSame(
        world.cluster.writes.filter(({ kind }) => kind !== 'lease'),
        [],
      )
    })
})

t.test(
  'an agent with nothing to do wakes for the check when it is due, and for nothing else',
  async t => {
    const flags = ['--vote-period=1h']
    // One alone may write nothing, and asks all the same.
    for (const size of [1, 3])
      await scenario(
        t,
        { what: `${size}, rounds of an hour`, size, seed: 4, flags },
        async world => {
          const statuses = () => world.machines.map(({ agent }) => agent!.views.status())
          const reviews = () =>
            statuses().map(({ stages }) => stages.find(({ name }) => name === 'write')!.rounds)
          const startedAt = world.clock.wall()
          await world.settled()
          for (const { confinement } of statuses()) {
            t.equal(confinement.state, 'yes')
            t.ok(Date.parse(confinement.at!) - startedAt < 58_000, confinement.at!)
          }
          const before = reviews()
          await world.run(120_000)
          t.strictSame(reviews(), before)
        },
      )
  },
)

t.test('it says when it is due', async t => {
  const { check, clock, asked, apiBackoff } = bed(...thrice(byPolicy()))
  const dueAt = check.review()
  t.ok(dueAt > clock.now() && dueAt <= clock.now() + 57_000)
  t.equal(check.review(), dueAt)
  await clock.advance(dueAt - clock.now() - 1)
  t.equal(check.review(), dueAt)
  t.equal(asked.length, 0)
  const busy = { status: 429, reason: '', message: '', retryAfterMs: 5_000 }
  apiBackoff.failed(new KubeStatusError('patch n1', busy))
  t.equal(check.review(), apiBackoff.readyAt, 'not before the apiserver may be asked')
  apiBackoff.succeeded()
  await clock.advance(6_000)
  t.equal(check.review(), Infinity, 'while it asks')
  t.equal(check.review(), Infinity)
  await clock.advance(1)
  t.equal(asked.length, 3)
  t.ok(check.review() > clock.now() + 2 * HOUR)
  await check.stop()
  t.equal(check.review(), Infinity, 'after the end')
})
