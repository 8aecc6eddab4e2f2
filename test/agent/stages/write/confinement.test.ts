// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError, KubeUnreachableError } from '../../../../core/errors.js'
import type { KubePatch } from '../../../../kube/client/write.js'
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import { ConfinementCheck } from '../../../../agent/stages/write/confinement.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { scenario } from '../../../../testkit/zone/scenario.js'

const refused = (status: number): KubeStatusError =>
  new KubeStatusError('patch n1', { status, reason: '', message: 'no' })
const HOUR = 3_600_000
const isEmpty = (patch: KubePatch): boolean =>
  patch.type === 'merge' && Object.keys(patch.body).length === 0

/** A check whose apiserver answers each of the two writes with an error, or takes it. */
const bed = (onNothing: Error | undefined, onForbidden: Error | undefined) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const answers = { onNothing, onForbidden }
  const asked: { at: number; node: string; patch: KubePatch }[] = []
  const kube = {
    tryNodePatch: async (node: string, patch: KubePatch) => {
      asked.push({ at: clock.now(), node, patch })
      const error = isEmpty(patch) ? answers.onNothing : answers.onForbidden
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

t.test('what the answers to the two writes say', async t => {
  const rows: [string, Error | undefined, Error | undefined, string][] = [
    ['the forbidden one is refused by a policy', undefined, refused(403), 'yes'],
    ['… with the reason Invalid', undefined, refused(422), 'yes'],
    ['both are taken', undefined, undefined, 'no'],
    ['RBAC refuses both', refused(403), refused(403), 'unknown'],
    ['a webhook cannot do dry runs', refused(400), refused(400), 'unknown'],
    ['the apiserver is overloaded', undefined, refused(429), 'unknown'],
    ['no answer', undefined, new KubeUnreachableError('patch n1', 'gone'), 'unknown'],
  ]
  for (const [what, onNothing, onForbidden, state] of rows) {
    const { check, run, asked } = bed(onNothing, onForbidden)
    t.match(check.current, { state: 'unknown', reason: 'not asked yet', at: -Infinity })
    await run(70_000)
    t.equal(check.current.state, state, what)
    t.not(check.current.reason, '', check.current.reason)
    t.equal(asked.length, onNothing === undefined ? 2 : 1)
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
    const { check, run, asked, apiBackoff } = bed(error, undefined)
    await run(60_000)
    t.equal(asked.length, 1)
    t.ok(apiBackoff.readyAt >= asked[0]!.at + 90_000, 'nobody asks sooner')
    await check.stop()

    const other = bed(undefined, refused(403))
    other.apiBackoff.failed(error)
    await other.run(80_000)
    t.equal(other.asked.length, 0, 'it waits for what was asked of others')
    await other.run(60_000)
    t.equal(other.asked.length, 2)
    await other.check.stop()
  },
)

t.test('it asks within a minute, then every few hours, sooner while it does not know', async t => {
  const { check, run, asked, answers, log } = bed(undefined, refused(403))
  await run(60_000)
  t.equal(asked.length, 2)
  await run(3 * HOUR - 60_000)
  t.equal(asked.length, 2)
  await run(21 * HOUR)
  t.ok(asked.length >= 2 * 5 && asked.length <= 2 * 9, `${asked.length} requests in a day`)
  t.equal(log.lines.length, 1, 'news alone is told')

  answers.onForbidden = undefined
  await run(6 * HOUR)
  t.equal(check.current.state, 'no')
  t.match(log.lines.at(-1), { level: 'warn', fields: { state: 'no' } })

  answers.onForbidden = refused(500)
  await run(6 * HOUR)
  t.equal(check.current.state, 'unknown')
  const before = asked.length
  await run(HOUR)
  t.ok(asked.length - before >= 2 * 3, 'it tries again after some minutes')
  await check.stop()
  await run(HOUR)
  t.ok(asked.length - before <= 2 * 9, 'and not after the end')
})

t.test('agents find out whether the cluster confines them, and count it nowhere', async t => {
  for (const isConfined of [true, false])
    await scenario(t, { what: `confined: ${isConfined}`, size: 3, seed: 4 }, async world => {
      world.cluster.isConfined = isConfined
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
