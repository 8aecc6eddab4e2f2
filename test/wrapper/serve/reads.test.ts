// SPDX-License-Identifier: Apache-2.0
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { encodeToken } from '../../../kube/server/continue-token.js'
import {
  node,
  opened,
  openedList,
  PROTOBUF,
  service,
  slice,
  startReads,
  type Thing,
} from '../wrapper-world.js'

const NODES = '/api/v1/nodes'
const SERVICES = '/api/v1/services'
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices'
const JSON_TYPE = 'application/json'

const names = (list: unknown): readonly string[] =>
  (list as { items: readonly Thing[] }).items.map(({ metadata }) => metadata.name)

const fixture = {
  nodes: [node('a', { zone: '1' }), node('b', { zone: '2' }), node('c')],
  services: [service('web'), service('head', { spec: { clusterIP: 'None', type: 'ClusterIP' } })],
  endpointslices: [
    slice('web-1', 'web', ['a', 'b']),
    slice('web-2', 'web', ['c'], { labels: { 'service.kubernetes.io/headless': '' } }),
  ],
}

t.test('an object by its name, in both encodings', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const json = await world.ask(`${NODES}/a`)
  t.equal(json.headers['content-type'], JSON_TYPE)
  t.match(json.json, {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { name: 'a', labels: { zone: '1' } },
  })
  const bytes = await world.ask('/api/v1/namespaces/default/services/web', PROTOBUF)
  t.equal(bytes.headers['content-type'], PROTOBUF)
  t.match(opened(bytes.bytes), {
    kind: 'Service',
    apiVersion: 'v1',
    spec: { clusterIP: '10.96.0.1' },
  })
  const missing = await world.ask(`${NODES}/nobody`)
  t.match(
    { status: missing.status, body: missing.json },
    {
      status: 404,
      body: {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        message: 'nodes "nobody" not found',
        reason: 'NotFound',
        details: { name: 'nobody', kind: 'nodes' },
        code: 404,
      },
    },
  )
  const inProtobuf = await world.ask(
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/x',
    PROTOBUF,
  )
  t.equal(inProtobuf.headers['content-type'], PROTOBUF)
  t.match(opened(inProtobuf.bytes), {
    kind: 'Status',
    code: 404,
    message: 'endpointslices.discovery.k8s.io "x" not found',
    details: { name: 'x', group: 'discovery.k8s.io', kind: 'endpointslices' },
  })
  t.same(world.passed, [])
})

t.test('lists choose by namespace and selectors', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const rows: [path: string, names: readonly string[]][] = [
    [NODES, ['a', 'b', 'c']],
    [`${NODES}/`, ['a', 'b', 'c']],
    [`${NODES}?watch=false`, ['a', 'b', 'c']],
    [`${NODES}?labelSelector=zone`, ['a', 'b']],
    [`${NODES}?labelSelector=zone%20in%20(2)`, ['b']],
    [`${NODES}?fieldSelector=metadata.name=c`, ['c']],
    [`${NODES}?fieldSelector=metadata.name=z`, []],
    [`${NODES}?fieldSelector=metadata.name!=c,metadata.name!=a`, ['b']],
    [`${NODES}?fieldSelector=spec.unschedulable=false`, ['a', 'b', 'c']],
    [`${SERVICES}?fieldSelector=spec.clusterIP!=None`, ['web']],
    [`${SERVICES}?fieldSelector=spec.type=ClusterIP,metadata.name=head`, ['head']],
    [`${SERVICES}?fieldSelector=metadata.namespace=default,metadata.name=head`, ['head']],
    ['/api/v1/namespaces/default/services', ['head', 'web']],
    ['/api/v1/namespaces//services', ['head', 'web']],
    ['/api/v1/namespaces/other/services', []],
    ['/api/v1/namespaces/default/services?fieldSelector=metadata.namespace=other', []],
    ['/api/v1/namespaces/default/services?fieldSelector=metadata.name=web', ['web']],
    ['/api/v1/namespaces/defaul/services?fieldSelector=metadata.name=web', []],
    [`${SLICES}?labelSelector=!service.kubernetes.io/headless`, ['web-1']],
    [`${SLICES}?fieldSelector=metadata.name=web-2`, ['web-2']],
    ['/api/v1/endpoints', []],
    ['/apis/networking.k8s.io/v1/servicecidrs?fieldSelector=metadata.namespace=x', []],
  ]
  for (const [path, wanted] of rows) t.strictSame(names((await world.ask(path)).json), wanted, path)
  const list = openedList((await world.ask(SERVICES, PROTOBUF)).bytes)
  t.match(list, { apiVersion: 'v1', kind: 'ServiceList', version: String(world.versions.newest) })
  t.strictSame(names(list), ['head', 'web'])
  t.same(world.passed, [])
})

t.test('invalid queries are refused as kube-apiserver refuses them', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const rows: [path: string, code: number, message: RegExp | string][] = [
    [`${NODES}?labelSelector=a%20b`, 400, /^unable to parse requirement: found 'b'/],
    [`${NODES}?watch=1&labelSelector=,`, 400, /^found ','/],
    [
      `${NODES}?fieldSelector=metadata.namespace=a`,
      400,
      'field label not supported: metadata.namespace',
    ],
    [`${SERVICES}?fieldSelector=spec.foo=a`, 400, 'field label not supported: spec.foo'],
    [
      `${SLICES}?fieldSelector=spec.foo=a`,
      400,
      '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
    [`${NODES}?limit=x`, 400, /^strconv.ParseInt/],
    [`${NODES}?resourceVersion=x`, 400, /^invalid resource version/],
    [`${NODES}/a?resourceVersion=x`, 500, /^resourceVersion: Invalid value/],
    [`${NODES}?watch=1&resourceVersion=x`, 500, /^resourceVersion: Invalid value/],
    [`${NODES}?sendInitialEvents=true`, 422, /sendInitialEvents is forbidden for list/],
    [`${NODES}?watch=1&sendInitialEvents=true`, 422, /requires setting resourceVersionMatch/],
    [`${NODES}?resourceVersion=5&resourceVersionMatch=Exact`, 410, /too old/],
    [`${NODES}?resourceVersion=5&limit=2`, 410, /too old/],
    [`${NODES}?watch=1&resourceVersion=5`, 410, /^too old resource version: 5 /],
    [`${NODES}?watch=1&resourceVersion=9000000000000000`, 410, /^too old resource version: 9/],
  ]
  for (const [path, code, message] of rows) {
    const answer = await world.ask(path)
    const status = (answer.json['type'] === 'ERROR' ? answer.json['object'] : answer.json) as Thing
    t.match(
      { ...status },
      { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message },
      path,
    )
    t.equal(answer.status, path.includes('watch=1') && code === 410 ? 200 : code, path)
  }
})

t.test('a refusal comes in the encoding that was asked for', async t => {
  const world = await startReads(t, { reads: { ownNode: 'a' } })
  world.fill(fixture)
  for (const query of [`labelSelector=${'a'.repeat(3_000)}`, 'fieldSelector=spec.foo=a'])
    for (const path of [NODES, SERVICES]) {
      const { status, headers, bytes } = await world.ask(`${path}?${query}`, PROTOBUF)
      t.strictSame(
        [status, headers['content-type']],
        [400, PROTOBUF],
        `${path} ${query.slice(0, 30)}`,
      )
      t.match(opened(bytes), { kind: 'Status', code: 400, reason: 'BadRequest' })
    }
  t.same(world.passed, [])
})

t.test('a future version is waited for, then refused', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const future = world.versions.newest + 2
  const patient = world.ask(`${NODES}?resourceVersion=${future}`)
  const single = world.ask(`${NODES}/a?resourceVersion=${future}`)
  await world.clock.advance(100)
  world.put('nodes', node('d', {}, '2'), node('e', {}, '2'))
  t.strictSame(names((await patient).json), ['a', 'b', 'c', 'd', 'e'])
  t.equal((await single).status, 200)
  for (const path of [NODES, `${NODES}/a`, `${NODES}?resourceVersionMatch=Exact`]) {
    const sign = path.includes('?') ? '&' : '?'
    const refused = await world.patiently(world.ask(`${path}${sign}resourceVersion=${future + 9}`))
    t.match(refused, { status: 504, headers: { 'retry-after': '1' } }, path)
    t.match(refused.json, {
      reason: 'Timeout',
      message: `Timeout: Too large resource version: ${future + 9}, current: ${future}`,
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
    })
  }
  const initial =
    'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const asking = world.ask(`${NODES}?${initial}&resourceVersion=${future + 9}`)
  t.match((await world.patiently(asking)).json, {
    type: 'ERROR',
    object: { code: 504, reason: 'Timeout' },
  })
})

t.test('all pages of a list show the same state', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const first = (await world.ask(`${NODES}?limit=2`)).json as { metadata: Record<string, unknown> }
  t.strictSame(names(first), ['a', 'b'])
  t.match(first.metadata, { remainingItemCount: 1 })
  world.put('nodes', node('aa', {}, '5'))
  world.remove('nodes', 'c')
  const more = `${NODES}?limit=2&continue=${String(first.metadata['continue'])}`
  const second = (await world.ask(more)).json as typeof first
  t.strictSame(names(second), ['c'], 'what went since is still there, what came is not')
  t.equal(second.metadata['resourceVersion'], first.metadata['resourceVersion'])
  t.notOk('continue' in second.metadata, 'that was the last page')
  const chosen = (await world.ask(`${NODES}?limit=1&labelSelector=zone`)).json as typeof first
  t.notOk('remainingItemCount' in chosen.metadata, 'nobody counts what selectors leave')
  const token = String(chosen.metadata['continue'])
  t.strictSame(names((await world.ask(`${NODES}?labelSelector=zone&continue=${token}`)).json), [
    'b',
  ])
  const all = (await world.ask(`${NODES}?limit=1&resourceVersion=0`)).json
  t.strictSame(names(all), ['a', 'aa', 'b'], 'from any state there is no limit, as kube-proxy asks')
  const inProtobuf = openedList((await world.ask(`${NODES}?limit=1`, PROTOBUF)).bytes)
  t.match(inProtobuf, { remaining: 2, continue: /./ })
})

t.test('a page of a dropped state is answered 410, with a token to continue', async t => {
  const world = await startReads(t, { store: { history: { changes: 1, bytes: 1 << 20 } } })
  world.fill(fixture)
  const first = (await world.ask(`${NODES}?limit=1`)).json as { metadata: { continue: string } }
  for (let i = 0; i < 20; i++) world.put('nodes', node('z', { i: String(i) }))
  const gone = await world.ask(`${NODES}?continue=${first.metadata.continue}`)
  t.match(gone.json, { code: 410, reason: 'Expired' })
  const { metadata } = gone.json as unknown as typeof first
  const rest = await world.ask(`${NODES}?continue=${metadata.continue}`)
  t.strictSame(names(rest.json), ['b', 'c', 'z'])
})

t.test(
  'a resource that is not listed yet is waited for, then refused: never a partial list',
  async t => {
    const world = await startReads(t)
    const asking = world.ask(SLICES)
    await world.clock.advance(1_000)
    world.replace('endpointslices', ...fixture.endpointslices)
    world.replace('services', ...fixture.services)
    await world.clock.advance(1_000)
    world.replace('nodes', ...fixture.nodes)
    t.strictSame(names((await asking).json), ['web-1', 'web-2'], 'nodes and services came first')
    for (const query of ['', '?watch=1']) {
      const late = await world.patiently(
        world.ask(`/apis/networking.k8s.io/v1/servicecidrs${query}`),
      )
      t.match(late, { status: 503, headers: { 'retry-after': '1' } })
      t.match(late.json, { kind: 'Status', reason: 'ServiceUnavailable', code: 503 })
    }
    t.equal(
      (await world.ask('/api/v1/endpoints?limit=x')).status,
      400,
      'nonsense is refused at once',
    )
    world.store.absent('servicecidrs')
    await world.ask('/apis/networking.k8s.io/v1/servicecidrs')
    t.strictSame(world.passed, ['GET /apis/networking.k8s.io/v1/servicecidrs'])
  },
)

t.test('nodes are listed and watched, not looked up by the name of the resource', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  for (const accept of [JSON_TYPE, PROTOBUF]) {
    const { bytes, status } = await world.ask(NODES, accept)
    t.equal(status, 200)
    const list = accept === PROTOBUF ? openedList(bytes) : (JSON.parse(bytes.toString()) as object)
    t.match(list, { kind: 'NodeList', apiVersion: 'v1' })
    t.strictSame(names(list), ['a', 'b', 'c'])
    const watch = await world.watch(`${NODES}?watch=1`, accept)
    await watch.until(3)
    t.strictSame(watch.received, ['ADDED a', 'ADDED b', 'ADDED c'])
  }
  t.equal((await world.ask(`${NODES}/a/status`)).text, 'passed', 'a part of a node is not a node')
})

t.test('a version of slices that upstream lacks is never an empty list', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const strange = '/apis/discovery.k8s.io/v1alpha1/endpointslices'
  t.equal((await world.ask(strange)).text, 'passed')
  const bare = await startReads(t)
  bare.store.absent('endpointslices')
  for (const path of [SLICES, SLICES.replace('v1', 'v1beta1'), `${SLICES}?watch=1`])
    t.equal((await bare.ask(path)).text, 'passed', `${path}: upstream says what it does not serve`)
})

t.test('a list is what does not ask for a watch, however it says so', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  for (const query of ['', '?watch=false', '?watch=0', '?watch=False', '?limit=0'])
    t.match((await world.ask(`${NODES}${query}`)).json, { kind: 'NodeList' }, query)
  for (const query of ['watch=true', 'watch=1', 'watch', 'watch=yes']) {
    const watch = await world.watch(`${NODES}?${query}`)
    await watch.until(3)
    t.equal(watch.events[0]!.type, 'ADDED', query)
  }
  t.match((await world.ask(`${NODES}/a?watch=1`)).json, { kind: 'Node' }, 'one object is got')
})

t.test('encodings that no watch has are passed on to the apiserver, YAML too', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const rows: [accept: string, query: string][] = [
    ['application/yaml', ''],
    ['application/yaml', '?watch=1'],
    ['application/yaml, application/json;q=0.5', '?watch=1'],
    ['text/html', ''],
    ['constructor;as=Table;g=meta.k8s.io;v=v1', ''],
    ['text/html;q=0.9, image/*', '?watch=1'],
    [`${JSON_TYPE};as=Nonsense;g=meta.k8s.io;v=v1`, ''],
    [`${JSON_TYPE};as=Table;g=meta.k8s.io;v=v7`, ''],
    [`${JSON_TYPE};as=Table;g=elsewhere;v=v1`, ''],
    [`${PROTOBUF};as=Table;g=meta.k8s.io;v=v1`, ''],
  ]
  for (const [accept, query] of rows) {
    const { text } = await world.ask(`${NODES}${query}`, accept)
    t.equal(text, 'passed', accept)
    t.equal(world.passed.at(-1), `GET ${NODES}${query}`)
  }
})

t.test('a list that began at the apiserver is continued there', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const first = await world.ask(`${NODES}?limit=1`)
  const { metadata } = first.json as { metadata: { continue: string } }
  t.strictSame(names((await world.ask(`${NODES}?continue=${metadata.continue}`)).json), ['b', 'c'])
  t.same(world.passed, [], 'a token of ours is ours')
  const upstream = encodeToken({ version: 4_711, after: 'a' })
  for (const token of [upstream, 'x'])
    t.equal((await world.ask(`${NODES}?continue=${token}`)).text, 'passed', token)
})

t.test('the Accept header is parsed as kube-apiserver parses it', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const rows: [accept: string, type: string][] = [
    ['', JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', ''],
    [`${JSON_TYPE}, ${PROTOBUF}`, JSON_TYPE],
    [`${JSON_TYPE};q=0.8, ${PROTOBUF}`, PROTOBUF],
    [`${PROTOBUF};q=0.2,${JSON_TYPE};q=0.3`, JSON_TYPE],
    [`*/*, ${PROTOBUF}`, PROTOBUF],
    [PROTOBUF.toUpperCase(), PROTOBUF],
    [`text/html, ${PROTOBUF};q=0.1, */*;q=0.01`, PROTOBUF],
    [`${JSON_TYPE};as=Nonsense;g=meta.k8s.io;v=v1, ${PROTOBUF}`, PROTOBUF],
    [`${PROTOBUF};q=7`, PROTOBUF],
    [';;=,,', ''],
  ]
  for (const [accept, type] of rows) {
    const answer = await world.ask(NODES, accept)
    if (type === '') t.equal(answer.text, 'passed', accept)
    else t.equal(answer.headers['content-type'], type, accept)
  }
})

t.test('requests that others answer are passed on', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
  const partial = `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`
  const rows: [path: string, accept?: string | undefined, method?: string][] = [
    ['/version'],
    ['/api/v1'],
    ['/api/v1/pods'],
    ['/api/v1/secrets'],
    ['/api/v1/configmaps'],
    ['/api/v1/nodes/a/status'],
    ['/api/v1/services/web'],
    ['/api/v1/namespaces/default/nodes'],
    ['/api/v1/namespaces/services'],
    ['/api/v1/namespaces/default/services/web/proxy'],
    ['/api/v1/watch/services'],
    ['/api/v1//nodes'],
    ['/api/v1/nodes/%zz'],
    ['/api/v1/nodes/a%2Fb'],
    ['/apis/discovery.k8s.io/v2/endpointslices'],
    ['/apis/discovery.k8s.io/v1/services'],
    ['//api/v1/nodes'],
    ['/api/constructor/nodes'],
    ['/superedge-ingress/zone/api/v1?a=1'],
    [NODES, table],
    [`${NODES}?watch=1`, table],
    [NODES, partial],
    [NODES, 'application/yaml'],
    [`${NODES}?labelSelector=${'!a,'.repeat(32)}a`],
    [`${NODES}?watch=1&labelSelector=${'a+in+(b,c),'.repeat(32)}a`],
    [NODES, undefined, 'HEAD'],
    [NODES, undefined, 'POST'],
    [`${NODES}/a`, undefined, 'DELETE'],
  ]
  for (const [path, accept, method = 'GET'] of rows) {
    const response = await world.open(path, accept === undefined ? {} : { accept }, method)
    response.resume()
    t.equal(world.passed.at(-1), `${method} ${path}`)
  }
  const stranger = await world.open(NODES, { 'impersonate-user': 'stranger' })
  stranger.resume()
  t.equal(world.passed.at(-1), `GET ${NODES}`, 'who reads as somebody else is judged by the API')
  t.equal(world.passed.length, rows.length + 1)
  const values = Array.from({ length: 100 }, (_, n) => `v${n}`).join()
  for (const path of [
    `${NODES}?labelSelector=${'!a,'.repeat(31)}!a`,
    `${NODES}?labelSelector=a+notin+(${values})`,
    `${NODES}/a?labelSelector=${'a,'.repeat(32)}a`,
  ])
    t.equal((await world.ask(path)).status, 200, 'so much is held against each object')
  t.match(world.reads.counts, { passed: rows.length + 1, refused: 0, lists: 2 })
})

t.test('large lists are compressed if the client accepts gzip', async t => {
  const world = await startReads(t)
  const big = Array.from({ length: 3_000 }, (_, i) => service(`s${String(i).padStart(4, '0')}`))
  world.fill({ ...fixture, services: big })
  const takes = { 'accept-encoding': 'gzip, deflate' }
  for (const accept of [JSON_TYPE, PROTOBUF]) {
    const plain = await world.ask(SERVICES, accept)
    t.equal(plain.headers['content-encoding'], undefined)
    const packed = await world.ask(SERVICES, accept, takes)
    t.equal(packed.headers['content-encoding'], 'gzip')
    t.ok(packed.bytes.length < plain.bytes.length / 4)
    t.ok(gunzipSync(packed.bytes).equals(plain.bytes), accept)
  }
  const small = await world.ask(NODES, JSON_TYPE, takes)
  t.equal(small.headers['content-encoding'], undefined, 'small ones are not worth it')
  t.equal(Number(small.headers['content-length']), small.bytes.length)
  const refused = await world.ask(SERVICES, JSON_TYPE, { 'accept-encoding': 'gzip;q=0, br' })
  t.equal(refused.headers['content-encoding'], undefined)
})

t.test('v1beta1 slices are derived from v1', async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const path = '/apis/discovery.k8s.io/v1beta1/endpointslices'
  const wanted = {
    metadata: { name: 'web-1' },
    endpoints: [{ nodeName: 'a', topology: { 'kubernetes.io/hostname': 'a' } }, { nodeName: 'b' }],
  }
  const json = (await world.ask(path)).json as { items: readonly Thing[] }
  t.match(json, { kind: 'EndpointSliceList', apiVersion: 'discovery.k8s.io/v1beta1' })
  t.match(json.items[0], wanted)
  const bytes = openedList((await world.ask(path, PROTOBUF)).bytes)
  t.equal(bytes.apiVersion, 'discovery.k8s.io/v1beta1')
  t.match(bytes.items[0], wanted)
})

t.test("FW12: NotOlderThan a version of upstream's waits until it is here", async t => {
  const world = await startReads(t)
  world.fill(fixture)
  const table = world.store.table('services')
  table.reached('100')
  const notOlder = (version: number): string =>
    `resourceVersion=${version}&resourceVersionMatch=NotOlderThan`
  t.equal((await world.ask(`${SERVICES}?${notOlder(100)}`)).status, 200, 'seen already')
  // The caller wrote a service, and upstream called that 105.
  const list = world.ask(`${SERVICES}?${notOlder(105)}`)
  const plain = world.ask(`${SERVICES}?resourceVersion=105`)
  const get = world.ask('/api/v1/namespaces/default/services/mine?resourceVersion=105')
  const other = await world.ask(`${SERVICES}?${notOlder(99)}`)
  t.notOk(names(other.json).includes('mine'), 'who wants less does not wait')
  table.reached('104')
  world.put('services', service('mine', {}, '105'))
  table.reached('105')
  t.ok(names((await list).json).includes('mine'))
  t.ok(names((await plain).json).includes('mine'))
  t.match((await get).json, { metadata: { name: 'mine' } })
  const watch = await world.watch(
    `${SERVICES}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&${notOlder(105)}`,
  )
  t.ok((await watch.until(3)).some(({ object }) => object.metadata.name === 'mine'))
  const never = await world.patiently(world.ask(`${SERVICES}?${notOlder(106)}`))
  t.equal(never.status, 504)
  t.match(never.json, {
    message: 'Timeout: Too large resource version: 106, current: 105',
    details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
  })
  table.reached('opaque')
  t.equal(table.upstreamVersion, 105, 'a version that is no number says nothing')
  t.same(world.passed, [])
})
