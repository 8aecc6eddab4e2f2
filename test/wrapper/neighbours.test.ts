// SPDX-License-Identifier: Apache-2.0
// FW23: what the wrapper asks of other Nodes, and what becomes of it.
import t, { type Test } from 'tap'
import type { TestApi } from '../../testkit/kube/api-client.js'
import { behind, refuseWith } from './front.js'
import { isSo, memoryFolder, MERGE, startUpstream, startWrapper } from './wrapper-bed.js'

t.setTimeout(180_000)

const NET = 9

const setZones = async (upstream: TestApi, zones: Readonly<Record<string, string>>) => {
  for (const [name, zone] of Object.entries(zones))
    await upstream.ask(`PATCH /api/v1/nodes/${name}`, { metadata: { labels: { zone } } }, MERGE)
}

const annotate = (upstream: TestApi, topologyKeys: string | null): Promise<unknown> =>
  upstream.ask(
    'PATCH /api/v1/namespaces/default/services/web',
    { metadata: { annotations: { topologyKeys } } },
    MERGE,
  )

/** Nodes a and b in zone x, c in zone y; the Service `web` has an endpoint on each and asks for the own zone. */
const startZones = async (t: Test): Promise<TestApi> => {
  const upstream = await startUpstream(t)
  await setZones(upstream, { a: 'x', b: 'x', c: 'y' })
  await annotate(upstream, '["zone"]')
  return upstream
}

/** What of Nodes the wrapper has asked for, as selectors; `all` without one. */
const asked = (upstream: TestApi): readonly string[] => [
  ...new Set(
    upstream.api.requests.flatMap(({ client, path, query: text }) => {
      if (client !== 'wrapper' || path !== '/api/v1/nodes') return []
      const query = new URLSearchParams(text)
      return [query.get('fieldSelector') ?? query.get('labelSelector') ?? 'all']
    }),
  ),
]

t.test(
  'FW23: without topology keys only the own Node is asked for, and others are passed on',
  async t => {
    const upstream = await startUpstream(t)
    const bed = await startWrapper(t, upstream, { net: NET })
    await isSo(async () => (await bed.shown()) === 'a,b,c')
    t.strictSame(asked(upstream), ['metadata.name=a'])
    const own = '/api/v1/nodes?fieldSelector=metadata.name%3Da'
    t.match(await bed.list(own), [{ metadata: { name: 'a' } }])
    const { requests } = await bed.status()
    t.equal(requests.passed, 0, "kube-proxy's own question is answered from the store")
    const names = (await bed.list('/api/v1/nodes')).map(({ metadata }) => metadata.name)
    t.strictSame(names, ['a', 'b', 'c'], 'a list of all is the apiserver’s')
    t.match(await (await fetch(`${bed.url}/api/v1/nodes/b`)).json(), { metadata: { name: 'b' } })
    t.equal((await bed.status()).requests.passed, 2)
    t.equal((await bed.status()).resources.find(({ resource }) => resource === 'nodes')?.objects, 1)
  },
)

t.test(
  'FW23: with topology keys, the nodes that share the own value; changes are seen at once',
  async t => {
    const upstream = await startZones(t)
    const bed = await startWrapper(t, upstream, { net: NET })
    await isSo(async () => (await bed.shown()) === 'a,b')
    t.strictSame(asked(upstream), ['metadata.name=a', 'zone=x'])
    const rows = upstream.api.requests.filter(({ query }) => query.includes('labelSelector=zone'))
    t.ok(
      rows.every(({ query }) => query.includes('includeObject=None')),
      'as rows, without objects',
    )
    await setZones(upstream, { c: 'x' })
    await isSo(async () => (await bed.shown()) === 'a,b,c')
    await setZones(upstream, { b: 'y' })
    await isSo(async () => (await bed.shown()) === 'a,c')
    await setZones(upstream, { a: 'y' })
    await isSo(async () => (await bed.shown()) === 'a,b')
    t.strictSame(asked(upstream), ['metadata.name=a', 'zone=x', 'zone=y'])
    t.match((await bed.explain('default/web')).slices, [
      { node: 'a', isKept: true, reason: 'kept-own-node' },
      { node: 'b', isKept: true },
      { node: 'c', isKept: false, reason: 'no-topology-match' },
    ])
    t.match((await bed.status()).neighbours, [
      { label: 'zone', value: 'y', how: 'watched', nodes: 2 },
    ])
    await annotate(upstream, null)
    await isSo(async () => (await bed.shown()) === 'a,b,c')
    await isSo(async () => (await bed.status()).neighbours.length === 0)
  },
)

/** What is shown once something is, while time goes on. */
const shownLater = async (bed: Awaited<ReturnType<typeof startWrapper>>): Promise<string> => {
  const over = new AbortController()
  const asking = bed.shown().finally(() => over.abort())
  while (!over.signal.aborted) await bed.clock.advance(100)
  return asking
}

t.test('FW23: a boot without the cloud knows which nodes shared the own value', async t => {
  const upstream = await startZones(t)
  const folder = memoryFolder()
  const first = await startWrapper(t, upstream, { folder, net: NET })
  await isSo(async () => (await first.shown()) === 'a,b')
  await first.wrapper.stop()
  t.ok(folder.files.has('neighbours.list'))
  upstream.api.cutLink('wrapper', 'refused')
  const second = await startWrapper(t, upstream, { folder, net: NET })
  t.equal(await shownLater(second), 'a,b')
  await second.wrapper.stop()
  folder.files.delete('neighbours.list')
  const third = await startWrapper(t, upstream, { folder, net: NET })
  t.equal(await shownLater(third), 'a', 'who is not known to share it is outside')
})

t.test('FW23: a boot in which one of two labels is answered keeps the other’s nodes', async t => {
  const upstream = await startZones(t)
  for (const [name, region] of Object.entries({ a: 'r', b: 'r', c: 's' }))
    await upstream.ask(`PATCH /api/v1/nodes/${name}`, { metadata: { labels: { region } } }, MERGE)
  await annotate(upstream, '["region"]')
  await upstream.ask('POST /api/v1/namespaces/default/services', {
    metadata: { name: 'other', annotations: { topologyKeys: '["zone"]' } },
    spec: { ports: [{ port: 80 }] },
  })
  const folder = memoryFolder()
  const known = async (bed: Awaited<ReturnType<typeof startWrapper>>) =>
    (await bed.status()).neighbours.filter(({ nodes }) => nodes !== null).map(({ label }) => label)
  const first = await startWrapper(t, upstream, { folder, net: NET })
  await isSo(async () => (await known(first)).length === 2)
  await first.wrapper.stop()
  const half = await behind(t, upstream, ({ url = '' }, response) => {
    const isRefused = url.includes('region')
    if (isRefused) refuseWith(response, 429, { 'retry-after': '1' })
    return isRefused
  })
  const second = await startWrapper(t, half, { folder, net: NET })
  await isSo(async () => (await known(second)).join() === 'zone')
  t.equal(await shownLater(second), 'a,b', 'the remembered ones count')
  await second.wrapper.stop()
  upstream.api.cutLink('wrapper', 'refused')
  const third = await startWrapper(t, upstream, { folder, net: NET })
  t.equal(await shownLater(third), 'a,b', 'also after the next start')
})

t.test(
  'a typing error that is made while the wrapper is away keeps the last valid keys',
  async t => {
    const upstream = await startZones(t)
    const folder = memoryFolder()
    const first = await startWrapper(t, upstream, { folder, net: NET })
    await isSo(async () => (await first.shown()) === 'a,b')
    await first.clock.advance(40_000)
    await first.wrapper.stop()
    await annotate(upstream, '["zone"')
    const second = await startWrapper(t, upstream, { folder, net: NET })
    const passing = setInterval(() => void second.clock.advance(100), 5)
    t.equal(await second.shown().finally(() => clearInterval(passing)), 'a,b')
  },
)
