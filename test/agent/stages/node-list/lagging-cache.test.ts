// SPDX-License-Identifier: Apache-2.0
// Behind several apiservers the next answer may come from a cache that lags: no watch or poll goes back to what that has.
import t, { type Test } from 'tap'
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import { watchZone, type ZoneWatch } from '../../../../agent/stages/node-list/zone-watch.js'
import { build } from '../../../../testkit/kube/built-kube.js'
import { startLagging, type NodesState } from '../../../../testkit/kube/lagging-server.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const state = (version: number, count: number): NodesState => ({
  version,
  nodes: Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, `10.0.0.${i}`])),
})

/** Everybody, while five are watched and more are polled. */
const start = async (t: Test, first: NodesState) => {
  const { server, url } = await startLagging(t)
  server.store = first
  const { api, clock, log } = build({
    masterUrl: url,
    environment: {},
    serviceAccountFolder: '/nonexistent',
  })
  const random = seededRandom(1)
  /** Every count of members that was seen, where it changed, and every own address. */
  const counts: number[] = []
  const addresses: (string | undefined)[] = []
  const note = <T>(seen: T[], now: T): void => {
    if (now !== undefined && seen.at(-1) !== now) seen.push(now)
  }
  const look = (): void => {
    note(counts, zone.members?.size ?? 0)
    note(addresses, zone.own?.internalIPs[0])
  }
  const zone: ZoneWatch = watchZone(
    {
      ...{ nodeName: 'n0', namespace: 'edge-system', configMaps: [], secret: 'none' },
      ...{ watchUpTo: 5, pollMs: 300_000 },
    },
    {
      ...{ kube: api, clock, random, log, apiBackoff: new ApiBackoff({ clock, random }) },
      onChange: look,
    },
  )
  t.teardown(async () => {
    await zone.stop()
    await api.close()
  })
  /** Time goes on until this is true. */
  const until = async (isTrue: () => boolean): Promise<void> => {
    while (!isTrue()) await clock.advance(500)
  }
  const has = (count: number) => (): boolean => zone.members?.size === count
  return { server, zone, clock, log, counts, addresses, until, has }
}

const ALL = { selector: '', wider: undefined }

t.test('a zone that is small again is not listed as it was before', async t => {
  const { server, zone, counts, until, has } = await start(t, state(10, 8))
  zone.select(ALL)
  await until(has(8))
  await until(() => server.watches > 0)
  const { length } = server.lists
  server.store = state(20, 3)
  server.onListed = () => (server.cache = state(12, 8))
  await until(() => server.lists.length === length + 3 && server.watches > 0)
  t.strictSame(server.lists.slice(length), ['>=10', '>=20', 'etcd'], 'a poll, then a watch')
  t.strictSame(counts, [0, 8, 3])
})

t.test('who is gone does not join again by a stale list', async t => {
  const { server, zone, counts, until, has } = await start(t, state(10, 8))
  zone.select(ALL)
  await until(has(8))
  await until(() => server.watches > 0)
  server.cache = state(10, 8)
  server.store = state(20, 7)
  const { length } = server.lists
  zone.doubt('n7')
  await until(() => server.lists.length === length + 3)
  t.strictSame(server.lists.slice(length), ['etcd', '>=20', 'etcd'], 'a look, then who joins')
  await until(() => server.watches > 0)
  t.strictSame(counts, [0, 8, 7])
})

t.test('the own Node keeps the address that was read', async t => {
  const { server, zone, addresses, until } = await start(t, state(10, 1))
  server.cache = { version: 9, nodes: { n0: '10.9.9.9' } }
  await until(() => zone.own !== undefined)
  const { length } = server.lists
  zone.followOwn([])
  await until(() => server.lists.length > length + 1)
  t.strictSame(addresses, ['10.0.0.0'])
  t.strictSame(server.lists.slice(length), ['>=10', 'etcd'])
  const { length: first } = server.lists
  zone.followOwn(['zone'])
  await until(() => server.lists.length > first + 1)
  t.strictSame(addresses, ['10.0.0.0'], 'nor when other labels matter')
})

t.test('another selection is no older, and a restored store ends that', async t => {
  const { server, zone, log, until, has } = await start(t, state(10, 8))
  zone.select(ALL)
  await until(has(8))
  server.cache = state(9, 4)
  const { length } = server.lists
  zone.select({ selector: 'zone=x', wider: undefined })
  await until(has(8))
  t.strictSame(server.lists.slice(length, length + 2), ['>=10', 'etcd'])
  server.cache = undefined
  server.store = state(5, 7)
  await until(has(7))
  await until(() => server.lists.at(-1) === '>=5')
  t.strictSame(
    log.lines.filter(({ level, fields }) => level === 'warn' && fields['what'] === 'nodes'),
    [],
    'nobody is warned of a cache that lags',
  )
})
