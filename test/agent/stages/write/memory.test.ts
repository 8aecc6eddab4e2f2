// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import { RemovedMembers } from '../../../../agent/stages/write/removed-members.js'
import { makeEventRecorder } from '../../../../agent/stages/write/event-recorder.js'
import { LeaseRenewer } from '../../../../agent/stages/write/lease-renewer.js'
import { RequestBackoff } from '../../../../agent/stages/write/request-backoff.js'
import { makeTaintRemover } from '../../../../agent/stages/write/taint-remover.js'
import { makeResultStore, membersOnly } from '../../../../agent/store.js'
import { KubeStatusError, KubeUnreachableError } from '../../../../core/errors.js'
import { parseNodeName, parseZoneName } from '../../../../core/ids.js'
import { makeRoster, type Roster } from '../../../../core/roster.js'
import type { NodeEvent } from '../../../../agent/ports/kube-api.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { FakeCluster } from '../../../../testkit/zone/fake-cluster.js'
import { nodeView } from '../../fake-watches.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const rosterOf = (zone: string, ...indices: readonly number[]): Roster =>
  makeRoster(
    parseZoneName(zone),
    parseNodeName('n0'),
    indices.map(i => ({ name: parseNodeName(`n${i}`), address: `10.0.0.${i + 1}` })),
  )

const makeBackoffs = (clock: FakeClock, seed: number): [RequestBackoff, ApiBackoff] => {
  const seams = { clock, random: seededRandom(seed) }
  const apiBackoff = new ApiBackoff(seams)
  return [new RequestBackoff({ ...seams, apiBackoff }), apiBackoff]
}

const refusal = (status: number, retryAfterMs?: number): KubeStatusError =>
  new KubeStatusError('PATCH', { status, reason: '', message: '', retryAfterMs, isFromApi: true })

t.test('FA2: who stays cleans, if they are most of those who were', t => {
  const rows: [why: string, from: Roster, to: Roster, isOurs: boolean][] = [
    ['one of five left', rosterOf('a', 0, 1, 2, 3, 4), rosterOf('a', 0, 1, 2, 3), true],
    ['two of five left at once', rosterOf('a', 0, 1, 2, 3, 4), rosterOf('a', 0, 1, 2), true],
    ['three of five left at once', rosterOf('a', 0, 1, 2, 3, 4), rosterOf('a', 0, 1), false],
    ['of two, one is no majority', rosterOf('a', 0, 4), rosterOf('a', 0), false],
    ['we left', rosterOf('a', 0, 1, 2, 3, 4), rosterOf('b', 0, 1, 2, 3), false],
  ]
  for (const [why, from, to, isOurs] of rows) {
    const removed = new RemovedMembers()
    t.notOk(removed.note(from, 0), 'the first roster is no change')
    t.ok(removed.note(to, 1_000))
    t.equal(removed.isOursToClean('n4', to), isOurs, why)
  }
  const removed = new RemovedMembers()
  const [five, four, three] = [
    rosterOf('a', 0, 1, 2, 3, 4),
    rosterOf('a', 0, 1, 2, 3),
    rosterOf('a', 0, 1, 2),
  ]
  for (const roster of [five, four, three]) removed.note(roster, 0)
  t.strictSame([...removed.names].sort(), ['n3', 'n4'])
  t.notOk(removed.isOursToClean('n4', rosterOf('a', 0, 1)), 'who leaves after it is no help')
  removed.note(four, 0)
  t.notOk(removed.has('n3'), 'it is back')
  t.ok(removed.has('n4'))
  removed.note(four, 3_600_000)
  t.notOk(removed.has('n4'), 'FA21: nobody is remembered for ever')
  t.end()
})

t.test('FA7: how long a refusal is waited for', t => {
  const clock = new FakeClock(0)
  const [backoff, api] = makeBackoffs(clock, 1)
  const waits = (node?: string): number => backoff.readyAt(node) - clock.now()
  backoff.failed(refusal(503, 30_000), 'a')
  t.ok(waits('b') >= 30_000 && waits('b') <= 30_500, 'as long as it asks, and a little')
  t.ok(waits('a') > waits('b'), 'others go first')
  t.ok(backoff.isFailing)
  backoff.linkLost()
  api.linkChanged()
  t.ok(waits('b') >= 30_000, 'a link that comes back does not make it shorter')
  const [other, otherApi] = makeBackoffs(clock, 2)
  for (let i = 0; i < 40; i++) other.failed(refusal(429), 'a')
  t.ok(other.readyAt('b') <= 30_000, 'without a word from it: half a minute at most')
  t.ok(other.readyAt('a') <= 60_000)
  other.failed(new KubeUnreachableError('PATCH', 'reset'), 'c')
  other.linkLost()
  otherApi.linkChanged()
  t.notOk(other.isFailing)
  other.succeeded('a')
  t.ok(other.readyAt('a') <= 30_000)
  const [third] = makeBackoffs(clock, 3)
  third.failed(refusal(403), 'a')
  t.equal(third.readyAt('b'), -Infinity, 'what concerns one node keeps no other waiting')
  t.ok(third.readyAt('a') > 0)
  third.keepOnly(name => name !== 'a')
  t.equal(third.readyAt('a'), -Infinity, 'FA21: who left is forgotten')
  t.end()
})

t.test('FA7: all that an agent asks of an apiserver that refuses waits together', async t => {
  const clock = new FakeClock(0)
  const [writes, api] = makeBackoffs(clock, 4)
  const other = new RequestBackoff({ clock, random: seededRandom(5), apiBackoff: api })
  writes.failed(refusal(503), 'a')
  t.ok(writes.readyAt('a') >= 350 && other.readyAt('lease') >= 350, 'others wait with it')
  await clock.advance(500)
  t.ok(api.isReady)
  writes.left()
  t.notOk(api.isReady, 'one at a time: what waited too does not leave with it')
  writes.succeeded('a')
  t.ok(api.isReady)
  writes.failed(refusal(503, 10_000), 'a')
  await clock.advance(9_000)
  writes.succeeded('b')
  t.notOk(api.isReady, 'what was asked for is kept, whatever another request came to')
})

t.test('FA21: backoffs, renewals and writes of who left are forgotten', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const taints = makeTaintRemover({ clock, log })
  const wording = { nameOf: () => 'n4', now: clock.now() }
  const node = nodeView('n4', {
    taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }],
  })
  for (let i = 0; i < 3; i++) {
    taints.review(node, wording)
    await clock.advance(60_000)
  }
  t.match(taints.backoff('n4', wording), /put .* back/)
  taints.keepOnly(() => false)
  t.equal(taints.backoff('n4', wording), undefined)

  const cluster = new FakeCluster(clock)
  cluster.put('lease', 'n4', { spec: { renewTime: '2026-01-01T00:00:00.000000Z' } })
  const options = { vouch: 'lease', vouchRenewPeriodMs: 10_000, writerStaggerMs: 2_000 } as const
  const random = seededRandom(1)
  const apiBackoff = new ApiBackoff({ clock, random })
  const { renewals } = makeResultStore(clock.now())
  const kube = cluster.api('n0')
  const seams = { kube, clock, random, apiBackoff, renewals, record: () => undefined }
  const leases = new LeaseRenewer(options, seams)
  // The first answer has the apiserver's time.
  const { signal } = new AbortController()
  const ping = seams.kube.ping(signal)
  await clock.advance(1_000)
  await ping
  const look = leases.look('n4', 0, { signal, guard: () => undefined })
  await clock.advance(1_000)
  await look
  const renewed = cluster.lease('n4').renewTime ?? ''
  t.strictSame([...renewals.current], [['n4', renewed]])
  leases.keepOnly(() => false)
  t.equal(renewals.current.size, 0)
  t.equal(leases.dueAt('n4'), -Infinity)

  const kept = membersOnly(new Map(['n0', 'n4'].map(name => [name, name])), rosterOf('a', 0, 1))
  t.strictSame([...kept.keys()], ['n0'])
})

t.test('FA16: Events about one node are bounded, and what was left out is said', async t => {
  const clock = new FakeClock()
  const sent: NodeEvent[] = []
  const cluster = new FakeCluster(clock)
  const kube = {
    ...cluster.api('n0'),
    createEvent: async (event: NodeEvent) => {
      sent.push(event)
    },
  }
  const [backoff] = makeBackoffs(clock, 1)
  const { signal } = new AbortController()
  const log = recordingLog()
  const recorder = makeEventRecorder('n0', {
    ...{ kube, clock, log, signal, backoff },
    record: () => undefined,
  })
  const event = { type: 'Normal', reason: 'R', action: 'A', note: 'words' } as const
  const node = { name: parseNodeName('n4'), uid: 'u' }
  for (let i = 0; i < 25; i++) await recorder.send(node, event)
  t.equal(sent.length, 10, 'ten at once')
  await recorder.send({ ...node, name: parseNodeName('n5') }, event)
  t.equal(sent.length, 11, 'others are not concerned')
  await clock.advance(300_000)
  await recorder.send(node, event)
  await recorder.send(node, event)
  t.equal(sent.length, 12, 'then one in five minutes')
  t.equal(sent.at(-1)?.note, 'words (15 Events before it left out)')
  recorder.keepOnly(() => false)
  backoff.failed(refusal(429, 60_000))
  await recorder.send(node, event)
  t.equal(sent.length, 12, 'FA7: none is sent to an apiserver that asked us to wait')
  await clock.advance(120_000)
  await recorder.send(node, event)
  t.equal(sent.at(-1)?.note, 'words (1 Event before it left out)')
})

t.test('an Event that the apiserver did not take is none of the ten', async t => {
  const clock = new FakeClock()
  const answers: (Error | undefined)[] = []
  let asked = 0
  const kube = {
    ...new FakeCluster(clock).api('n0'),
    createEvent: async () => {
      asked++
      const answer = answers.shift()
      if (answer !== undefined) throw answer
    },
  }
  const [backoff] = makeBackoffs(clock, 1)
  Object.assign(backoff, { readyAt: () => -Infinity })
  const { signal } = new AbortController()
  const recorder = makeEventRecorder('n0', {
    ...{ kube, clock, log: recordingLog(), signal, backoff },
    record: () => undefined,
  })
  const event = { type: 'Normal', reason: 'R', action: 'A', note: 'words' } as const
  const node = { name: parseNodeName('n4'), uid: 'u' }
  for (let i = 0; i < 12; i++) {
    answers.push(refusal(500))
    t.equal(await recorder.send(node, event), false)
  }
  answers.push(refusal(409), refusal(409))
  t.equal(await recorder.send(node, { ...event, id: 7n }), true, 'it was stored by an earlier try')
  t.equal(await recorder.send(node, event), false, 'somebody else has that name')
  for (let i = 0; i < 12; i++) t.equal(await recorder.send(node, event), true)
  t.equal(asked, 12 + 2 + 9, 'of ten one was used')
})
