// SPDX-License-Identifier: Apache-2.0
import { Agent, get } from 'node:http'
import t from 'tap'
import { InvalidInputError, ListenError } from '../../core/errors.js'
import { testApi, type TestApi } from '../../testkit/kube/api-client.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'

const NODES = '/api/v1/nodes'
const MAPS = '/api/v1/namespaces/default/configmaps'
const SLICES = '/namespaces/default/endpointslices'
const named = (name: string, more: object = {}): object => ({ metadata: { name }, ...more })
const touch = (world: TestApi, name: string, value: string) =>
  world.ask(
    `PATCH ${NODES}/${name}`,
    { metadata: { annotations: { touched: value } } },
    { 'content-type': 'application/merge-patch+json' },
  )
const typesOf = (events: readonly { type: string }[]): string[] => events.map(event => event.type)

t.test('a client is known by its token', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  const stranger = await world.ask(`GET ${NODES}`, undefined, { authorization: 'Bearer x' })
  t.match(stranger, { status: 401, body: { kind: 'Status', reason: 'Unauthorized', code: 401 } })
  t.equal((await fetch(`${world.api.url}${NODES}`)).status, 401, 'no token, no objects')
  t.equal((await fetch(`${world.api.url}/apis`)).status, 401, 'no token, no discovery')
  for (const path of ['/livez', '/readyz', '/healthz', '/version'])
    t.equal((await fetch(`${world.api.url}${path}`)).status, 200, `${path} is open`)
  t.equal(world.api.addClient('tester'), world.token, 'a known name keeps its token')
  t.throws(() => world.api.cutLink('nobody', 'silent'), InvalidInputError)
})

t.test('requests without a token may belong to a named client', async t => {
  const world = await testApi({ anonymous: 'people' })
  t.teardown(() => world.api.stop())
  t.equal((await fetch(`${world.api.url}${NODES}`)).status, 200)
  t.match(world.api.requests, [{ client: 'people', verb: 'list', resource: 'nodes' }])
})

t.test('requests are recorded as RBAC names them', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  await world.ask(`POST ${NODES}`, named('a'))
  await world.ask(`PATCH ${NODES}/a/status`, {}, { 'content-type': 'application/merge-patch+json' })
  await world.ask('GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a')
  await world.ask(`DELETE ${MAPS}`)
  await world.ask('GET /livez')
  const watch = await world.watch(`${NODES}?watch=true`)
  await watch.close()
  const lines = world.api.requests.map(one =>
    [one.verb, one.group, one.resource, one.subresource, one.namespace, one.name, one.status].join(
      ' ',
    ),
  )
  t.strictSame(lines, [
    'create  nodes    201',
    'patch  nodes status  a 200',
    'get coordination.k8s.io leases  kube-node-lease a 404',
    'deletecollection  configmaps  default  200',
    'get      200',
    'watch  nodes    200',
  ])
  t.equal(world.api.requests[0]?.client, 'tester')
})

t.test('a refused link resets what is open and what comes, for its client alone', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  const other = { authorization: `Bearer ${world.api.addClient('other')}` }
  const watch = await world.watch(`${NODES}?watch=true`)
  world.api.cutLink('tester', 'refused')
  await t.rejects(watch.rest(), 'the open watch breaks')
  await t.rejects(world.ask(`GET ${NODES}`), 'a new request is reset')
  await t.rejects(world.ask('GET /livez'), 'so is a health check')
  t.equal((await world.ask(`GET ${NODES}`, undefined, other)).status, 200, 'others go on')
  world.api.healLink('tester')
  t.equal((await world.ask(`GET ${NODES}`)).status, 200)
})

for (const options of [{}, { anonymous: 'people' }])
  t.test(
    `while a link is cut, a sign of life needs a token: it is whose link that counts ${JSON.stringify(options)}`,
    async t => {
      const world = await testApi(options)
      t.teardown(() => world.api.stop())
      const other = { authorization: `Bearer ${world.api.addClient('other')}` }
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      t.teardown(() => {
        agent.destroy()
      })
      const stranger = (): Promise<number | undefined> =>
        new Promise((resolve, reject) => {
          get(`${world.api.url}/livez`, { agent }, response => {
            response.resume().once('end', () => {
              resolve(response.statusCode)
            })
          }).once('error', reject)
        })
      t.equal(await stranger(), 200)
      world.api.cutLink('tester', 'refused')
      t.equal(await stranger(), 401)
      t.equal((await world.ask('GET /livez', undefined, other)).status, 200)
      world.api.healLink('tester')
      t.equal(await stranger(), 200)
    },
  )

t.test('a silent link answers nothing until it heals', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  const other = { authorization: `Bearer ${world.api.addClient('other')}` }
  const watch = await world.watch(`${NODES}?watch=true`)
  world.api.cutLink('tester', 'silent')
  let answered = 0
  const held = world.ask(`POST ${NODES}`, named('late')).finally(() => answered++)
  const given = new AbortController()
  const gone = fetch(`${world.api.url}${NODES}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.token}` },
    body: JSON.stringify(named('never')),
    signal: given.signal,
  })
  t.equal((await world.ask(`POST ${NODES}`, named('a'), other)).status, 201)
  const events = watch.lines(1).finally(() => answered++)
  await settle()
  given.abort()
  await t.rejects(gone)
  await world.ask(`GET ${NODES}`, undefined, other)
  t.equal(answered, 0, 'neither the stream nor the request moved')
  world.api.healLink('tester')
  t.match(await events, [{ type: 'ADDED', object: { metadata: { name: 'a' } } }])
  t.equal((await held).status, 201, 'the held request is carried out')
  t.equal((await world.ask(`GET ${NODES}/never`)).status, 404, 'one that was given up is not')
})

t.test('too old is 410: in the stream, or by status when asked for', async t => {
  const world = await testApi({ history: 3 })
  const strict = await testApi({ expiredWatch: 'status' })
  t.teardown(() => Promise.all([world.api.stop(), strict.api.stop()]))
  const first = await world.ask(`POST ${NODES}`, named('a'))
  const { resourceVersion: rv } = first.body['metadata'] as { resourceVersion: string }
  for (let n = 0; n < 3; n++) await touch(world, 'a', String(n))
  const early = await world.watch(`${NODES}?watch=true&resourceVersion=${rv}`)
  t.strictSame(typesOf(await early.lines(3)), ['MODIFIED', 'MODIFIED', 'MODIFIED'])
  for (let n = 3; n < 9; n++) await touch(world, 'a', String(n))
  const late = await world.watch(`${NODES}?watch=true&resourceVersion=${rv}`)
  t.equal(late.status, 200)
  t.match(await late.rest(), [
    { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } },
  ])
  const list = await world.ask(`GET ${NODES}?resourceVersion=${rv}&resourceVersionMatch=Exact`)
  t.match(list, { status: 410, body: { reason: 'Expired' } })
  strict.api.store.forgetHistory()
  const refused = await strict.watch(`${NODES}?watch=true&resourceVersion=1`)
  t.equal(refused.status, 410)
})

t.test('a page that is too old can be continued without consistency', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  for (const name of ['a', 'b', 'c']) await world.ask(`POST ${NODES}`, named(name))
  const page = await world.ask(`GET ${NODES}?limit=1`)
  const { continue: go } = page.body['metadata'] as { continue: string }
  world.api.store.forgetHistory()
  const broken = await world.ask(`GET ${NODES}?limit=1&continue=${go}`)
  t.match(broken, { status: 410, body: { reason: 'Expired' } })
  const { continue: anyway } = broken.body['metadata'] as { continue: string }
  const rest = await world.ask(`GET ${NODES}?continue=${anyway}`)
  t.match(rest.body['items'], [{ metadata: { name: 'b' } }, { metadata: { name: 'c' } }])
})

t.test('bookmarks come in their period, and a watch ends in its time', async t => {
  const clock = new FakeClock()
  const world = await testApi({ clock, bookmarkPeriodMs: 1_000 })
  t.teardown(() => world.api.stop())
  await world.ask(`POST ${NODES}`, named('a'))
  const query = 'watch=true&timeoutSeconds=5'
  const marked = await world.watch(`${NODES}?${query}&allowWatchBookmarks=true`)
  const plain = await world.watch(`${NODES}?${query}`)
  await clock.advance(1_500)
  await world.ask(`POST ${MAPS}`, named('b'))
  await clock.advance(2_400)
  await clock.advance(2_000)
  const types = typesOf(await marked.rest())
  t.strictSame(
    types,
    ['ADDED', 'BOOKMARK', 'BOOKMARK', 'BOOKMARK', 'BOOKMARK'],
    'none without news',
  )
  t.strictSame(typesOf(await plain.rest()), ['ADDED'])
  t.equal(clock.waiting, 0, 'no timer is left')
})

t.test('a slow watcher holds up nobody and ends with 410', async t => {
  const world = await testApi({ watchBuffer: 4 })
  t.teardown(() => world.api.stop())
  await world.ask(`POST ${MAPS}`, named('a'))
  const slow = await world.watch(`${MAPS}?watch=true`)
  await slow.lines(1)
  // More than the socket buffers of both ends take, while the client does not read.
  for (let n = 0; n < 24; n++) {
    const text = String(n % 10).repeat(900_000)
    const put = await world.ask(`PUT ${MAPS}/a`, named('a', { data: { text } }))
    t.equal(put.status, 200)
  }
  const events = await slow.rest()
  t.match(events.at(-1), { type: 'ERROR', object: { code: 410, reason: 'Expired' } })
  t.ok(events.length < 24, 'what did not fit was dropped')
})

t.test('an older server refuses initial events', async t => {
  const world = await testApi({ watchList: false })
  t.teardown(() => world.api.stop())
  const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  t.match(await world.ask(`GET ${NODES}?${query}`), { status: 422, body: { reason: 'Invalid' } })
})

t.test('server-side apply is refused in words', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  await world.ask(`POST ${NODES}`, named('a'))
  const type = { 'content-type': 'application/apply-patch+yaml' }
  const answer = await world.ask(`PATCH ${NODES}/a?fieldManager=x`, {}, type)
  t.match(answer, {
    status: 415,
    body: { reason: 'UnsupportedMediaType', message: /server-side apply/ },
  })
})

t.test('slices of v1beta1 are those of v1 under other names', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  const topology = { 'kubernetes.io/hostname': 'n', 'topology.kubernetes.io/zone': 'z', x: 'y' }
  const slice = { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'], topology }] }
  await world.ask(`POST /apis/discovery.k8s.io/v1beta1${SLICES}`, named('s', slice))
  const v1 = await world.ask(`GET /apis/discovery.k8s.io/v1${SLICES}/s`)
  t.match(v1.body, {
    apiVersion: 'discovery.k8s.io/v1',
    endpoints: [{ nodeName: 'n', zone: 'z', deprecatedTopology: { x: 'y' } }],
  })
  const old = await world.ask(`GET /apis/discovery.k8s.io/v1beta1${SLICES}/s`)
  t.match(old.body, { apiVersion: 'discovery.k8s.io/v1beta1', endpoints: [{ topology }] })
})

t.test('a namespace takes its objects with it', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  await world.ask('POST /api/v1/namespaces', named('x'))
  await world.ask('POST /api/v1/namespaces/x/configmaps', named('a'))
  await world.ask('DELETE /api/v1/namespaces/x')
  t.match(await world.ask('GET /api/v1/configmaps'), { body: { items: [] } })
})

t.test('stop ends watches and connections, and may be called twice', async t => {
  const world = await testApi()
  const watch = await world.watch(`${NODES}?watch=true`)
  const held = await testApi()
  held.api.cutLink('tester', 'silent')
  const never = held.ask(`GET ${NODES}`)
  never.catch(() => undefined)
  await settle()
  await Promise.all([world.api.stop(), held.api.stop()])
  await world.api.stop()
  await watch.rest().catch(() => undefined)
  await t.rejects(never)
  await t.rejects(fetch(`${world.api.url}/livez`), 'nobody listens')
})

t.test('a taken port is a ListenError', async t => {
  const world = await testApi()
  t.teardown(() => world.api.stop())
  await t.rejects(testApi({ port: world.api.port }), ListenError)
})

t.test('a token of a ServiceAccount is one of a client of that name', async t => {
  const world = await testApi()
  const { api } = world
  t.teardown(() => api.stop())
  const made = await world.ask('POST /api/v1/namespaces/shop/serviceaccounts/runner/token', {
    spec: { expirationSeconds: 3600 },
  })
  const { token } = made.body['status'] as { token: string }
  t.match(made, { status: 201, body: { kind: 'TokenRequest', spec: { expirationSeconds: 3600 } } })
  await fetch(`${api.url}/api/v1/nodes`, { headers: { authorization: `Bearer ${token}` } })
  t.match(api.requests.at(-1), { client: 'system:serviceaccount:shop:runner', status: 200 })
  t.match(api.requests.at(-2), { verb: 'create', resource: 'serviceaccounts', name: 'runner' })
  t.equal((await world.ask('GET /api/v1/namespaces/shop/serviceaccounts/runner/token')).status, 404)
})
