// SPDX-License-Identifier: Apache-2.0
// What several lists and watches of one resource know together.
import t, { type Test } from 'tap'
import { KubeClient } from '../../../kube/client/client.js'
import { fixedCredentials } from '../../../kube/client/fixed-credentials.js'
import { KnownVersion } from '../../../kube/client/known-version.js'
import { ListPoint } from '../../../kube/client/list-point.js'
import { listWatch } from '../../../kube/client/list-watch.js'
import { tableCodec, type TableRow } from '../../../kube/client/table-codec.js'
import type { Watching } from '../../../kube/client/watching.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { startLagging } from '../../../testkit/kube/lagging-server.js'
import { eventually } from '../../../testkit/kube/scripted-watch.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

t.test('a version that is known stays, whoever has an older one', async t => {
  const known = new KnownVersion()
  const rows: [version: string, newest: string][] = [
    ['9', '9'],
    ['8', '9'],
    ['10', '10'],
    ['opaque', 'opaque'],
    ['another', 'another'],
  ]
  for (const [version, newest] of rows) {
    known.reached(version)
    t.equal(known.newest, newest)
  }
  known.restart('3')
  t.equal(known.newest, '3')
  known.restart('')
  t.equal(known.newest, undefined)
})

t.test('lists are as new as what all know, and go back with the store alone', async t => {
  const known = new KnownVersion()
  const [one, two] = [new ListPoint(known), new ListPoint(known)]
  t.equal(one.begin(), undefined, 'any state will do at first')
  t.notOk(one.listed('10'))
  t.equal(two.begin(), '10')
  one.reached('12')
  t.notOk(two.listed('11'), 'as new as it had to be')
  t.equal(known.newest, '12', 'another one knows more')
  two.begin()
  two.refused(504)
  t.equal(two.begin(), null)
  t.equal(one.begin(), '12', 'the other one asks a cache that may not lag')
  t.ok(two.listed('5'), 'the store was restored')
  t.equal(two.begin(), '5')
  one.begin()
  one.reached('20')
  one.restored()
  t.equal(one.begin(), null)
  t.notOk(one.listed('7'), 'which was known')
  t.equal(known.newest, '7')
  t.equal(one.begin(), '7')
  t.notOk(one.listed(''))
  t.equal(one.begin(), undefined, 'a server without versions')
})

const makeBed = async (t: Test) => {
  const { server, url } = await startLagging(t)
  const clock = new FakeClock()
  const log = recordingLog()
  const client = new KubeClient(fixedCredentials({ server: url, token: 'x' }), clock, 'test')
  const seams = { client, clock, log, random: seededRandom(1) }
  const known = new KnownVersion()
  const watchings: Watching[] = []
  /** @returns what a new watch is told: how many objects there are, and how far that is */
  const watch = (): string[] => {
    const told: string[] = []
    const spec = {
      ...{ what: 'nodes', path: '/api/v1/nodes', query: {}, codec: tableCodec, known },
      parse: (row: unknown) => (row as TableRow).name,
      sink: {
        replace: (names: readonly string[]) => told.push(names.join()),
        upsert: () => t.fail(),
        remove: () => t.fail(),
        reached: (version: string) => told.push(version),
      },
    }
    watchings.push(listWatch(spec, seams, { fromCache: true, bookmarks: false }))
    return told
  }
  t.teardown(async () => {
    await Promise.all(watchings.map(watching => watching.stop()))
    await client.close()
  })
  const until = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await clock.advance(100)
  }
  return { server, clock, log, known, watch, until, client }
}

t.test('a new watch passes a cache by that lags, and nobody takes that for an outage', async t => {
  const { server, log, known, watch, until, client } = await makeBed(t)
  server.store = { version: 10, nodes: { a: '' } }
  const first = watch()
  await eventually(() => first.length === 2)
  server.cache = { version: 8, nodes: { a: '', gone: '' } }
  const second = watch()
  await until(() => second.length === 2)
  t.strictSame(second, ['a', '10'])
  t.strictSame(server.lists, ['0', '>=10', 'etcd'], 'and how far the store is was not asked')
  t.equal(client.progress.trouble, undefined)
  t.notOk(log.lines.some(({ level }) => level === 'warn'))
  server.cache = undefined
  known.reached('11')
  server.store = { version: 12, nodes: { b: '' } }
  const third = watch()
  await until(() => third.length === 2)
  t.strictSame([third, server.lists.at(-1)], [['b', '12'], '>=11'], 'nor older than others know')
})

t.test('a new watch that finds a restored store tells the others, once', async t => {
  const { server, known, watch, until, client } = await makeBed(t)
  server.store = { version: 10, nodes: { a: '' } }
  const first = watch()
  await eventually(() => first.length === 2 && server.watches === 1)
  server.store = { version: 5, nodes: { b: '' } }
  const second = watch()
  await until(() => first.length === 4 && server.watches === 2)
  t.strictSame([first, second], [['a', '10', 'b', '5'], ['b', '5']]) // prettier-ignore
  t.strictSame(server.lists, ['0', '>=10', 'etcd', 'etcd'])
  t.equal(known.newest, '5')
  t.equal(client.progress.trouble, undefined)
})
