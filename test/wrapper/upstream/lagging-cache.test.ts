// SPDX-License-Identifier: Apache-2.0
// Behind several apiservers the next answer may come from a cache that lags: a wrapper never goes back to what that has.
import t, { type Test } from 'tap'
import { KubeClient } from '../../../kube/client/client.js'
import { fixedCredentials } from '../../../kube/client/fixed-credentials.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { startLagging, type NodesState } from '../../../testkit/kube/lagging-server.js'
import { eventually } from '../../../testkit/kube/scripted-watch.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { Neighbours } from '../../../wrapper/upstream/neighbours.js'
import { addressesIn, NodeRowsPoll } from '../../../wrapper/upstream/node-rows.js'

const state = (version: number, count: number): NodesState => ({
  version,
  nodes: Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, `10.0.0.${i}`])),
})

const start = async (t: Test) => {
  const { server, url } = await startLagging(t)
  const clock = new FakeClock()
  const client = new KubeClient(fixedCredentials({ server: url, token: 'x' }), clock, 'test')
  t.teardown(() => client.close())
  const seams = { client, clock, log: recordingLog(), random: seededRandom(1) }
  /** Time goes on until this is true. */
  const until = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await clock.advance(500)
  }
  return { server, seams, until }
}

const startPoll = async (t: Test) => {
  const bed = await start(t)
  const seen: (string | undefined)[] = []
  const poll = { what: 'addresses', everyMs: 60_000, isUrgent: true }
  bed.server.store = { version: 7, nodes: { a: '10.0.0.7' } }
  const polling = new NodeRowsPoll(poll, bed.seams, ([row]) => seen.push(...addressesIn(row)))
  t.teardown(() => polling.stop())
  await eventually(() => seen.length === 1)
  return { ...bed, seen }
}

t.test('a poll is never older than the one before', async t => {
  const { server, seen, until } = await startPoll(t)
  server.store = { version: 9, nodes: { a: '10.0.0.9' } }
  server.cache = { version: 5, nodes: { a: '10.0.0.5' } }
  await until(() => seen.length === 2)
  t.strictSame(seen, ['10.0.0.7', '10.0.0.9'])
  t.strictSame(server.lists, ['0', '>=7', 'etcd'], 'the cache is passed by once')
  server.cache = undefined
  await until(() => seen.length === 3)
  t.equal(server.lists.at(-1), '>=9')
})

t.test('a poll goes back with a store that was restored', async t => {
  const { server, seen, until } = await startPoll(t)
  server.store = { version: 3, nodes: { a: '10.0.0.3' } }
  await until(() => seen.length === 3)
  t.strictSame(seen, ['10.0.0.7', '10.0.0.3', '10.0.0.3'])
  t.strictSame(server.lists, ['0', '>=7', 'etcd', '>=3'])
})

t.test('what says nothing of versions costs no read of etcd', async t => {
  const { server, until } = await startPoll(t)
  for (const status of [401, 403, 429, 502, 503]) {
    server.refusal = status
    const { length } = server.lists
    await until(() => server.lists.length === length + 2)
    t.strictSame(server.lists.slice(length), ['>=7', '>=7'], String(status))
  }
  for (const status of [400, 410, 500, 504]) {
    server.refusal = status
    const { length } = server.lists
    await until(() => server.lists.length === length + 2)
    server.refusal = undefined
    await until(() => server.lists.length === length + 4)
    t.strictSame(server.lists.slice(length + 1), ['etcd', 'etcd', '>=7'], String(status))
  }
})

t.test('neighbours are no older when they are polled, watched again, or others', async t => {
  const { server, seams, until } = await start(t)
  const sizes: number[] = []
  server.store = state(10, 101)
  const neighbours = new Neighbours(seams, (_label, _value, names) => sizes.push(names.size))
  t.teardown(() => neighbours.stop())
  const how = () => neighbours.status[0]!.how
  neighbours.want(new Map([['zone', 'x']]))
  await eventually(() => sizes.length === 1)
  t.equal(how(), 'polled')
  const stale = state(8, 120)
  server.cache = stale
  server.store = state(20, 40)
  await until(() => how() === 'watched')
  t.strictSame(sizes, [101, 40], 'of the poll')
  await until(() => server.watches === 1)
  t.strictSame(sizes, [101, 40, 40], 'of the watch')
  neighbours.want(new Map([['zone', 'y']]))
  await until(() => sizes.length === 4)
  t.equal(sizes.at(-1), 40, 'of another value')
  t.strictSame(server.lists, ['0', '>=10', 'etcd', '>=20', 'etcd', '>=20', 'etcd'])
})
