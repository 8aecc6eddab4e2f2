// SPDX-License-Identifier: Apache-2.0
// What a wrapper asks of the apiserver, word by word: each of these words saves bytes on the cloud link, or load on the server.
import t, { type Test } from 'tap'
import { KubeClient } from '../../../kube/client/client.js'
import { fixedCredentials } from '../../../kube/client/fixed-credentials.js'
import { answer, refusal, startScripted, type Step } from '../../../testkit/http/scripted-server.js'
import {
  drawing,
  NotingClock,
  requestsOf,
  said,
  TABLE,
} from '../../../testkit/kube/kube-requests.js'
import { eventually, gone } from '../../../testkit/kube/scripted-watch.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { makeWrapperServer } from '../../../wrapper/server.js'
import type { Resource } from '../../../wrapper/store/resources.js'
import { Follower } from '../../../wrapper/upstream/follower.js'
import { Neighbours } from '../../../wrapper/upstream/neighbours.js'
import { makeStore, SetHealth } from '../wrapper-world.js'

const PROTOBUF = 'application/vnd.kubernetes.protobuf, application/json;q=0.9'
const { read, listed } = requestsOf('wrapper')
const watched = (accept: string, path: string, query: Record<string, string>) =>
  read(accept, path, { ...query, watch: 'true' })

const list = (version: string, more: { continue?: string } = {}): Step =>
  answer({ metadata: { resourceVersion: version, ...more }, items: [] })
/** Rows of so many Nodes. */
const rows = (version: string, count: number): Step =>
  answer({
    kind: 'Table',
    metadata: { resourceVersion: version },
    columnDefinitions: [{ name: 'Name', format: 'name' }, { name: 'Internal-IP' }],
    rows: Array.from({ length: count }, (_, i) => ({ cells: [`n${i}`, '10.0.0.1'] })),
  })
const open: Step = { kind: 'stream' }
/** An open watch has a timer of this length. */
const STEADY_MS = 5_000

const start = async (t: Test, place: number, ...steps: readonly Step[]) => {
  const server = await startScripted()
  server.script(...steps)
  const clock = new NotingClock()
  const log = recordingLog()
  const credentials = fixedCredentials({ server: server.url, token: 'of-wrapper' })
  const client = new KubeClient(credentials, clock, 'edge-health-wrapper')
  const seams = { client, clock, log, random: drawing(place) }
  const { store } = makeStore({ self: 'a' })
  const follower = new Follower({ ...seams, store, self: 'a' })
  const reports: number[] = []
  const neighbours = new Neighbours(seams, (_label, _value, names) => reports.push(names.size))
  t.teardown(async () => {
    await Promise.all([follower.stop(), neighbours.stop()])
    await client.close()
    await server.close()
  })
  /** How long the wait is that begins once this is true. That time passes. */
  const passedOnce = async (isTrue: () => boolean): Promise<number> => {
    await eventually(isTrue)
    const waitMs = clock.waits.at(-1)!
    await clock.advance(waitMs)
    return Math.round(waitMs)
  }
  const told = (what: string): number => log.lines.filter(line => line.message === what).length
  return {
    ...{ server, clock, log, credentials, seams, follower, neighbours, reports, passedOnce },
    /** The n-th request, from 0. */
    said: async (n: number) => {
      await eventually(() => server.asked.length > n)
      return said(server.asked[n]!)
    },
    /** As `passedOnce`, after the n-th trouble of a watch, from 1. */
    passed: (n: number) => passedOnce(() => told('watch trouble') === n),
    /** The same for a poll, whose first trouble alone is told. */
    passedAfterPoll: () => passedOnce(() => told('a poll of nodes failed') === 1),
    /** The first watch has lasted so long that its end is no failure. */
    steady: async (): Promise<void> => {
      await eventually(() => clock.waits.includes(STEADY_MS))
      await clock.advance(STEADY_MS)
    },
  }
}

/** Of what the server has in its memory: anything, or what is not older than what is known. */
const ANY_VERSION = { resourceVersion: '0' }
const notOlderThan = (resourceVersion: string) => ({
  resourceVersion,
  resourceVersionMatch: 'NotOlderThan',
})
const NODES = '/api/v1/nodes'
const SELF = { fieldSelector: 'metadata.name=a' }
const ZONE = { includeObject: 'None', labelSelector: 'zone=x' }
const wantZone = new Map([['zone', 'x']])

const FOLLOWED: readonly [
  resource: Resource,
  path: string,
  query: Record<string, string>,
  portion: Record<string, string>,
][] = [
  ['nodes', NODES, SELF, ANY_VERSION],
  ['services', '/api/v1/services', {}, ANY_VERSION],
  ['endpoints', '/api/v1/endpoints', {}, { limit: '500' }],
  ['endpointslices', '/apis/discovery.k8s.io/v1/endpointslices', {}, { limit: '500' }],
  ['servicecidrs', '/apis/networking.k8s.io/v1/servicecidrs', {}, ANY_VERSION],
]
const HOURS = [
  [0, '2400'],
  [0.5, '3600'],
  [1, '4800'],
] as const

for (const [resource, path, query, portion] of FOLLOWED)
  for (const [place, timeoutSeconds] of HOURS)
    t.test(`${resource}: a list, then a watch of ${timeoutSeconds} s with bookmarks`, async t => {
      const { server, follower, said } = await start(t, place, list('7'), open)
      follower.follow(resource)
      t.strictSame(await said(0), listed(PROTOBUF, path, { ...query, ...portion }))
      const more = { allowWatchBookmarks: 'true', timeoutSeconds, resourceVersion: '7' }
      t.strictSame(await said(1), watched(PROTOBUF, path, { ...query, ...more }))
      t.equal(server.asked.length, 2)
    })

t.test('what is long comes in pages', async t => {
  const steps = [list('7', { continue: 'more' }), list('7'), open]
  const { follower, said } = await start(t, 0, ...steps)
  follower.follow('endpointslices')
  const path = '/apis/discovery.k8s.io/v1/endpointslices'
  t.strictSame(await said(1), listed(PROTOBUF, path, { limit: '500', continue: 'more' }))
})

const SPREAD = [
  [0, 350, 5_000, '2400', '60'],
  [0.5, 5_000, 7_500, '3600', '90'],
  [1, 9_999, 9_999, '4800', '120'],
] as const

for (const [place, waitMs, againMs, timeoutSeconds] of SPREAD)
  t.test(`a watch of the own Node that breaks is resumed ${waitMs} ms later`, async t => {
    const steps = [list('7'), open, refusal(500, 'InternalError'), open]
    const { server, follower, said, passed, steady } = await start(t, place, ...steps)
    follower.follow('nodes')
    await steady()
    server.asked[1]!.reset()
    t.equal(await passed(1), waitMs, 'wrappers that lost one server do not come back together')
    const more = { allowWatchBookmarks: 'true', timeoutSeconds, resourceVersion: '7' }
    const resumed = watched(PROTOBUF, NODES, { ...SELF, ...more })
    t.strictSame(await said(2), resumed, 'without a list')
    t.equal(await passed(2), againMs, 'nor when the server is not ready yet')
    t.strictSame(await said(3), resumed)
    t.equal(server.asked.length, 4)
  })

for (const [resource, path, query, portion] of FOLLOWED)
  t.test(`${resource} of a version that the server forgot are listed anew`, async t => {
    const { server, follower, said, passed, steady } = await start(t, 0, list('7'), open, list('9'))
    follower.follow(resource)
    await steady()
    server.asked[1]!.line(gone)
    await passed(1)
    const again = portion === ANY_VERSION ? notOlderThan('7') : portion
    t.strictSame(await said(2), listed(PROTOBUF, path, { ...query, ...again }))
  })

for (const [place, timeoutSeconds] of HOURS)
  t.test(`neighbours: rows, then a watch of ${timeoutSeconds} s without bookmarks`, async t => {
    const { server, neighbours, said } = await start(t, place, rows('7', 100), open)
    neighbours.want(wantZone)
    t.strictSame(await said(0), listed(TABLE, NODES, { ...ZONE, ...ANY_VERSION }))
    const more = { timeoutSeconds, resourceVersion: '7' }
    t.strictSame(await said(1), watched(TABLE, NODES, { ...ZONE, ...more }))
    t.equal(server.asked.length, 2)
  })

for (const [place, waitMs, againMs, , timeoutSeconds] of SPREAD)
  t.test(`a watch of neighbours that breaks is resumed ${waitMs} ms later`, async t => {
    const steps = [rows('7', 2), open, refusal(500, 'InternalError'), open]
    const { server, neighbours, said, passed, steady } = await start(t, place, ...steps)
    neighbours.want(wantZone)
    await steady()
    server.asked[1]!.reset()
    t.equal(await passed(1), waitMs)
    const more = { allowWatchBookmarks: 'true', timeoutSeconds, resourceVersion: '7' }
    const trial = watched(TABLE, NODES, { ...ZONE, ...more })
    t.strictSame(await said(2), trial, 'a short one that proves that the server knows the version')
    t.equal(await passed(2), againMs)
    t.strictSame(await said(3), trial)
    t.equal(server.asked.length, 4)
  })

t.test('neighbours of a version that the server forgot come from the watch cache', async t => {
  const { server, neighbours, said, passed, steady } = await start(t, 0, rows('7', 2), open)
  neighbours.want(wantZone)
  await steady()
  server.asked[1]!.line(gone)
  await passed(1)
  t.strictSame(await said(2), listed(TABLE, NODES, { ...ZONE, ...notOlderThan('7') }))
})

for (const [place, everyMs, retryMs] of [
  [0, 96_000, 500],
  [0.5, 120_000, 1_000],
  [1, 144_000, 1_500],
] as const)
  t.test(`many neighbours are polled each ${everyMs} ms, from the watch cache`, async t => {
    const busy = refusal(429, 'TooManyRequests')
    const steps = [rows('7', 101), rows('8', 102), busy, rows('9', 103), rows('10', 50)]
    const made = await start(t, place, ...steps)
    const { server, neighbours, reports, said, passedOnce, passedAfterPoll } = made
    neighbours.want(wantZone)
    const reported = (count: number) => (): boolean => reports.at(-1) === count
    const polled = async (n: number, version: string, why = 'as before'): Promise<void> => {
      const asked = listed(TABLE, NODES, { ...ZONE, ...notOlderThan(version) })
      t.strictSame(await said(n), asked, why)
    }
    t.equal(await passedOnce(reported(101)), everyMs, 'the first one too')
    await polled(1, '7', 'and nothing was watched')
    t.equal(await passedOnce(reported(102)), everyMs)
    await polled(2, '8')
    t.equal(await passedAfterPoll(), retryMs, 'sooner after a failure')
    await polled(3, '8')
    t.equal(await passedOnce(reported(103)), everyMs)
    await polled(4, '9')
    await eventually(reported(50))
    await polled(5, '10', 'the first list of a watch again')
    t.equal(server.asked.length, 6)
  })

for (const [place, everyMs] of [
  [0, 480_000],
  [0.5, 600_000],
  [1, 720_000],
] as const)
  t.test(`a wrapper that starts; addresses each ${everyMs} ms`, async t => {
    const { server, clock, credentials, seams, said: ask } = await start(t, place)
    let addresses = 0
    const wrapper = makeWrapperServer(
      { store: { self: 'a', keysMode: 'any', inCluster: true } },
      {
        ...{ credentials, clock, random: seams.random, log: seams.log, health: new SetHealth() },
        passThrough: () => t.fail(),
        onAddresses: nodes => (addresses += nodes.size),
      },
    )
    t.teardown(() => wrapper.stop())
    wrapper.start()
    await eventually(() => server.asked.length >= 4)
    t.strictSame(
      new Map(server.asked.map(asked => [asked.path, said(asked)])),
      new Map(
        FOLLOWED.filter(([resource]) => resource !== 'endpoints').map(
          ([, path, query, portion]) => [path, listed(PROTOBUF, path, { ...query, ...portion })],
        ),
      ),
      'endpoints, which slices repeat, are not followed before somebody asks for them',
    )
    server.script(rows('7', 3))
    wrapper.learnAddresses()
    wrapper.learnAddresses()
    t.strictSame(await ask(4), listed(TABLE, NODES, { includeObject: 'None', ...ANY_VERSION }))
    await eventually(() => addresses === 3)
    t.equal(Math.round(clock.waits.at(-1)!), everyMs)
    t.equal(server.asked.length, 5)
  })
