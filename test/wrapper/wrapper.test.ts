// SPDX-License-Identifier: Apache-2.0
// The whole wrapper against the embedded API and an agent that the test speaks for; time moves when it is told.
import { connect } from 'node:net'
import t from 'tap'
import {
  ENDPOINTS,
  isSo,
  memoryFolder,
  MERGE,
  SLICES,
  startUpstream,
  startWrapper,
} from './wrapper-bed.js'
import type { Thing } from './wrapper-world.js'

// Some 5 s; a busy machine takes longer.
t.setTimeout(180_000)

t.test('when the health report expires all endpoints are served at once', async t => {
  const bed = await startWrapper(t, await startUpstream(t))
  bed.agent.say({ a: true, b: false, c: true })
  await isSo(async () => (await bed.shown()) === 'a,c')
  bed.agent.die()
  await isSo(async () => (await bed.status()).health.state === 'last-known')
  t.equal(await bed.shown(), 'a,c', 'the last word counts for a while')
  // Nothing else happens: no event of the apiserver's, no answer of the agent's.
  await bed.clock.advance(300_000)
  t.equal((await bed.status()).health.state, 'expired')
  await isSo(async () => (await bed.shown()) === 'a,b,c')
  t.match(
    bed.log.lines.find(({ message }) => message.startsWith('health is too old')),
    { level: 'warn', fields: { dead: ['b'] } },
  )
})

t.test('an agent that reports addresses means the nodes that have them', async t => {
  const upstream = await startUpstream(t)
  const bed = await startWrapper(t, upstream)
  bed.agent.say({ '10.0.0.1': true, '10.0.0.2': false, '10.0.0.3': true })
  await isSo(async () => (await bed.shown()) === 'a,c')
  t.match((await bed.explain('default/web')).slices, [
    { node: 'a', isKept: true, reason: 'kept-own-node' },
    { node: 'b', isKept: false, reason: 'node-dead' },
    { node: 'c', isKept: true, reason: 'kept' },
  ])
  const move = (name: string, address: string): Promise<unknown> =>
    upstream.ask(
      `PATCH /api/v1/nodes/${name}/status`,
      { status: { addresses: [{ type: 'InternalIP', address }] } },
      MERGE,
    )
  t.match(await move('b', '10.0.0.9'), { status: 200 })
  await move('c', '10.0.0.2')
  t.equal(await bed.shown(), 'a,c', 'addresses are asked for every ten minutes')
  await bed.clock.advance(720_000)
  bed.agent.say({ '10.0.0.1': true, '10.0.0.2': false, '10.0.0.3': true })
  await isSo(async () => (await bed.shown()) === 'a,b')
  t.pass('the address is another node’s now: that one goes, this one is back')
})

t.test('an annotation that is added later takes effect without a change of endpoints', async t => {
  const upstream = await startUpstream(t)
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 6443 }] }]
  await upstream.ask(`POST ${ENDPOINTS}`, { metadata: { name: 'kubernetes' }, subsets })
  const bed = await startWrapper(t, upstream)
  const address = async (): Promise<string | undefined> => {
    const [first] = await bed.list(ENDPOINTS)
    const [subset] = (first?.['subsets'] ?? []) as { addresses: { ip: string }[] }[]
    return subset?.addresses[0]?.ip
  }
  const annotate = (local: string | null, port: string | null): Promise<unknown> =>
    upstream.ask(
      `PATCH ${ENDPOINTS}/kubernetes`,
      {
        metadata: {
          annotations: { 'superedge.io/local-endpoint': local, 'superedge.io/local-port': port },
        },
      },
      MERGE,
    )
  await isSo(async () => (await address()) === '192.0.2.1')
  await annotate('169.254.20.11', '51003')
  await isSo(async () => (await address()) === '169.254.20.11')
  t.match((await bed.explain('default/kubernetes')).endpoints, [
    { address: '192.0.2.1', isKept: false, reason: 'replaced-by-local' },
    { address: '169.254.20.11', isKept: true, reason: 'local-endpoint' },
  ])
  await annotate('169.254.20.12', '51003')
  await isSo(async () => (await address()) === '169.254.20.12')
  await annotate('here', '51003')
  await isSo(async () => (await address()) === '192.0.2.1')
  const complaint = { level: 'warn', fields: { object: 'Endpoints default/kubernetes' } }
  const complaints = bed.log.lines.filter(({ message }) => message.startsWith('the local endpoint'))
  t.match(complaints, [complaint])
  t.match(complaints[0]?.fields, { error: /local-endpoint must be an IP address/ })
  await annotate(null, null)
  await isSo(async () => {
    const [first] = await bed.list(ENDPOINTS)
    return first?.metadata.annotations === undefined
  })
  t.equal(await address(), '192.0.2.1')
})

t.test('FW2: pruned endpoints are never removed upstream', async t => {
  const upstream = await startUpstream(t)
  const bed = await startWrapper(t, upstream)
  bed.agent.say({ a: true, b: false, c: true })
  await isSo(async () => (await bed.shown()) === 'a,c')
  const path = `${SLICES}/web-1`
  interface Slice extends Thing {
    endpoints: { nodeName: string }[]
    metadata: Thing['metadata'] & { resourceVersion: string; labels: Record<string, string> }
  }
  const read = async (): Promise<Slice> => (await fetch(bed.url + path)).json() as Promise<Slice>
  const headers = { authorization: `Bearer ${upstream.token}`, 'content-type': 'application/json' }
  const put = async (slice: Slice): Promise<{ status: number; text: string }> => {
    const body = JSON.stringify(slice)
    const response = await bed.write(path, { method: 'PUT', headers, body })
    return { status: response.status, text: await response.text() }
  }
  const nodes = async (): Promise<string> => {
    const { body } = await upstream.ask(`GET ${path}`)
    return (body as unknown as Slice).endpoints.map(({ nodeName }) => nodeName).join()
  }
  t.match(await put(await read()), { status: 409, text: /would take them from the whole cluster/ })
  t.equal(await nodes(), 'a,b,c')
  const applied = { metadata: { resourceVersion: (await read()).metadata.resourceVersion } }
  const patch = await bed.write(path, {
    ...{ method: 'PATCH', body: JSON.stringify(applied) },
    headers: { ...headers, ...MERGE },
  })
  t.equal(patch.status, 409)
  const deleted = await bed.write(path, {
    ...{ method: 'DELETE', headers },
    body: JSON.stringify({ preconditions: applied.metadata }),
  })
  t.equal(deleted.status, 409)
  t.equal(await nodes(), 'a,b,c')

  bed.agent.say({ a: true, b: true, c: true })
  await isSo(async () => (await bed.shown()) === 'a,b,c')
  const whole = await read()
  whole.metadata.labels['written'] = 'here'
  const written = await put(whole)
  t.equal(written.status, 200, 'whole again, it may be written')
  t.equal(await nodes(), 'a,b,c')
  t.equal((await put(whole)).status, 409, 'and its version counts: it is another one now')

  // FW12: the answer has upstream's version, and a read that asks for it sees what was written.
  const { metadata } = JSON.parse(written.text) as Slice
  const version = `resourceVersion=${metadata.resourceVersion}`
  const list = await bed.list(`${SLICES}?${version}&resourceVersionMatch=NotOlderThan`)
  t.match(list, [{ metadata: { labels: { written: 'here' } } }], 'FW12')
  const refused = await fetch(
    `${bed.url}${SLICES}?resourceVersion=${whole.metadata.resourceVersion}`,
    {
      headers: { ...headers, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    },
  )
  t.equal(refused.status, 410, 'upstream has never heard of a version of ours')
})

t.test('the agent hears which nodes matter here', async t => {
  const bed = await startWrapper(t, await startUpstream(t))
  bed.agent.say({ a: true, b: true, other: true })
  await isSo(async () => (await bed.status()).health.state === 'fresh')
  await isSo(async () => (await bed.shown()) === 'a,b,c')
  const interests = (): (string | null)[] =>
    bed.agent.asked.map(url => url.searchParams.get('interest'))
  t.strictSame(interests(), [null], 'before anything is known')
  while (interests().at(-1) === null) await bed.clock.advance(1_000)
  t.equal(interests().at(-1), 'b', 'that carry endpoints, that it knows, and not its own')
})

t.test('invalid topology keys leave the last valid ones in use, across a restart', async t => {
  const upstream = await startUpstream(t)
  for (const [name, zone] of Object.entries({ a: 'x', b: 'x', c: 'y' })) {
    const labels = { zone, 'kubernetes.io/hostname': name }
    await upstream.ask(`PATCH /api/v1/nodes/${name}`, { metadata: { labels } }, MERGE)
  }
  const annotate = (topologyKeys: string): Promise<unknown> =>
    upstream.ask(
      'PATCH /api/v1/namespaces/default/services/web',
      { metadata: { annotations: { topologyKeys } } },
      MERGE,
    )
  const folder = memoryFolder()
  await annotate('["zone"]')
  const first = await startWrapper(t, upstream, { folder })
  await isSo(async () => (await first.shown()) === 'a,b')
  await annotate('["zone"')
  await isSo(async () => (await first.status()).malformed.join() === 'default/web')
  t.equal(await first.shown(), 'a,b')
  await first.wrapper.stop()
  const second = await startWrapper(t, upstream, { folder })
  await isSo(async () => (await second.shown()) !== '')
  t.equal(await second.shown(), 'a,b')
  t.strictSame((await second.explain('default/web')).topologyKeys, ['zone'])
  await annotate('["*"]')
  await isSo(async () => (await second.shown()) === 'a,b,c')
  t.strictSame((await second.status()).malformed, [])
  await second.wrapper.stop()
  await annotate('rubbish')
  const third = await startWrapper(t, upstream, { folder })
  await isSo(async () => (await third.status()).malformed.join() === 'default/web')
  await isSo(async () => (await third.shown()) !== '')
  t.equal(await third.shown(), 'a,b,c', 'those of before that are forgotten')
})

const isRecalled = ({ resource, source }: { resource: string; source: string }): boolean =>
  source !== 'none' || resource === 'endpoints'

t.test(
  'a boot without the cloud serves the lists on disk, reports it, and writes nothing',
  async t => {
    const upstream = await startUpstream(t)
    const folder = memoryFolder()
    const first = await startWrapper(t, upstream, { folder })
    await isSo(async () => (await first.shown()) === 'a,b,c')
    await isSo(async () => (await first.status()).ready.reason === 'ok')
    await first.wrapper.stop()
    t.strictSame([...folder.files.keys()].sort(), [
    ...['endpointslices.list', 'nodes.list', 'served-version', 'servicecidrs.list'],
    ...['services.list', 'topologykeys.list'],
  ]) // prettier-ignore
    const before = new Map(folder.files)
    upstream.api.cutLink('wrapper', 'refused')
    const second = await startWrapper(t, upstream, { folder })
    second.agent.say({ a: true, b: true, c: false })
    let view = ''
    while (view !== 'a,b') {
      await second.clock.advance(100)
      const { resources } = await second.status()
      if (resources.every(isRecalled)) view = await second.shown()
    }
    const { resources, ready } = await second.status()
    t.match(ready, { isReady: true, reason: 'from disk: nodes, services, endpointslices' })
    t.match(
      resources.find(({ resource }) => resource === 'servicecidrs'),
      { source: 'absent' },
      'that the apiserver does not serve it is known from disk too',
    )
    t.match(
    resources.filter(({ source }) => source === 'disk').map(({ resource, isStale }) => [resource, isStale]),
    [['nodes', true], ['services', true], ['endpointslices', true]],
  ) // prettier-ignore
    await second.wrapper.stop()
    for (const [name, bytes] of before)
      if (name !== 'served-version')
        t.equal(folder.files.get(name), bytes, `${name} is not touched`)
  },
)

t.test('FW5: connections that end to make room are counted, by listener', async t => {
  const bed = await startWrapper(t, await startUpstream(t))
  const { hostname } = new URL(bed.url)
  const sockets = Array.from({ length: 18 }, () => connect({ host: hostname, port: 51_007 }))
  t.teardown(() => sockets.forEach(socket => socket.destroy()))
  let ended = 0
  for (const socket of sockets)
    socket
      .on('error', () => undefined)
      .once('close', () => {
        ended++
      })
  await isSo(() => ended === 2)
  for (const socket of sockets) socket.destroy()
  await isSo(() => ended === 18)
  t.strictSame((await bed.status()).connectionsEvicted, { clients: 0, status: 2 })
})

t.test('FW21: a node name that no Node has is reported as an error', async t => {
  const upstream = await startUpstream(t)
  const bed = await startWrapper(t, upstream, { name: 'typo' })
  await isSo(async () => (await bed.status()).nodeTrouble !== null)
  t.match(await bed.status(), { ready: { isReady: false, reason: /no Node typo: --hostname/ } })
  await isSo(() => bed.log.lines.some(({ message }) => message.includes('no such Node')))
  await upstream.ask('POST /api/v1/nodes', { metadata: { name: 'typo' } })
  await isSo(async () => (await bed.status()).ready.reason === 'ok')
  t.equal((await bed.status()).nodeTrouble, null)
  t.ok(bed.log.lines.some(({ message }) => message.includes('has this Node now')))
})

t.test('FW8: resources that nobody requested since the start are not served from disk', async t => {
  const upstream = await startUpstream(t)
  const subset = (ip: string) => [{ addresses: [{ ip }], ports: [{ port: 80 }] }]
  await upstream.ask(`POST ${ENDPOINTS}`, {
    metadata: { name: 'web' },
    subsets: subset('192.0.2.1'),
  })
  const addresses = async (bed: { list(path: string): Promise<readonly Thing[]> }) =>
    JSON.stringify((await bed.list(ENDPOINTS)).map(({ subsets }) => subsets))
  const folder = memoryFolder()
  const first = await startWrapper(t, upstream, { folder })
  await isSo(async () => (await addresses(first)).includes('192.0.2.1'))
  await first.wrapper.stop()
  t.ok(folder.files.has('endpoints.list'))
  await upstream.ask(`PATCH ${ENDPOINTS}/web`, { subsets: subset('192.0.2.2') }, MERGE)
  const second = await startWrapper(t, upstream, { folder })
  await isSo(async () => (await second.status()).ready.reason === 'ok')
  await second.clock.advance(10_000)
  const endpoints = (await second.status()).resources.find(
    ({ resource }) => resource === 'endpoints',
  )
  t.match(endpoints, { source: 'none', isStale: false, objects: 0 })
  t.match(await addresses(second), '192.0.2.2', 'the first answer is the apiserver’s')
  await second.wrapper.stop()
  upstream.api.cutLink('wrapper', 'refused')
  const third = await startWrapper(t, upstream, { folder })
  const over = new AbortController()
  const asking = addresses(third).finally(() => over.abort())
  while (!over.signal.aborted) await third.clock.advance(100)
  t.match(await asking, '192.0.2.2', 'without it the disk answers who asks')
})
