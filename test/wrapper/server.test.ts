// SPDX-License-Identifier: Apache-2.0
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { makeCredentials } from '../../kube/client/credentials.js'
import { systemClock } from '../../core/clock.js'
import { makeWrapperServer } from '../../wrapper/server.js'
import { serveUntilEnd } from '../../testkit/http/serve-until-end.js'
import { testApi } from '../../testkit/kube/api-client.js'
import { settle } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import { openedList, PROTOBUF, SetHealth, type Thing } from './wrapper-world.js'

const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

const listening = async (server: http.Server): Promise<number> => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A cache in front of an apiserver, served on a loopback port. */
const startServer = async (t: Test, masterUrl: string) => {
  const clock = systemClock
  const log = recordingLog()
  const health = new SetHealth()
  const credentials = makeCredentials(
    { masterUrl, environment: {}, serviceAccountFolder: '/nonexistent' },
    { clock, log },
  )
  const passed: string[] = []
  const wrapper = makeWrapperServer(
    { store: { self: 'a', keysMode: 'any', inCluster: true } },
    {
      ...{ credentials, health, clock, log, random: seededRandom(1) },
      passThrough: (request, response) => {
        passed.push(request.url!)
        response.end()
      },
    },
  )
  const server = http.createServer(wrapper.handle)
  const port = await listening(server)
  t.teardown(async () => {
    await wrapper.stop()
    server.closeAllConnections()
    server.close()
  })
  wrapper.start()
  return { wrapper, passed, url: `http://127.0.0.1:${port}` }
}

t.test("upstream's objects are served, and their changes", async t => {
  const upstream = await testApi({ anonymous: 'wrapper' })
  t.teardown(() => upstream.api.stop())
  await upstream.ask('POST /api/v1/nodes', { metadata: { name: 'a' } })
  await upstream.ask('POST /api/v1/namespaces/default/services', {
    metadata: { name: 'web' },
    spec: { ports: [{ port: 80 }] },
  })
  const slice = (name: string, ...nodes: string[]): object => ({
    metadata: { name, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: nodes.map((nodeName, i) => ({ addresses: [`10.0.0.${i + 1}`], nodeName })),
    ports: [],
  })
  await upstream.ask(`POST ${SLICES}`, slice('web-1', 'a', 'b'))
  const { wrapper, passed, url } = await startServer(t, upstream.api.url)
  const ask = async (path: string): Promise<readonly Thing[]> => {
    const answer = await fetch(url + path, { headers: { accept: PROTOBUF } })
    return openedList(Buffer.from(await answer.arrayBuffer())).items
  }
  const [first] = await ask(SLICES)
  t.match(first, {
    metadata: { name: 'web-1', namespace: 'default' },
    addressType: 'IPv4',
    endpoints: [{ nodeName: 'a' }, { nodeName: 'b' }],
  })
  t.ok(Number(first!.metadata.resourceVersion) > 1e15, 'under a version of ours')
  t.strictSame(
    (await ask('/api/v1/endpoints')).map(({ metadata }) => metadata.name),
    [],
    'endpoints are followed once they are asked for',
  )
  t.equal(wrapper.upstream.endpoints?.lists, 1)
  t.equal((await fetch(`${url}/apis/networking.k8s.io/v1/servicecidrs`)).status, 200)
  t.strictSame(passed, ['/apis/networking.k8s.io/v1/servicecidrs'], 'what upstream does not serve')
  const table = wrapper.store.table('endpointslices')
  const changed = new Promise<void>(resolve => table.subscribe(resolve))
  await upstream.ask(`POST ${SLICES}`, slice('web-2', 'c'))
  await changed
  t.strictSame(
    (await ask(SLICES)).map(({ metadata }) => metadata.name),
    ['web-1', 'web-2'],
  )
  t.strictSame([...wrapper.store.carriers].sort(), ['a', 'b', 'c'])
})

t.test("it has its own user agent, and passes on upstream's warnings", async t => {
  const warning = '299 - "v1 Endpoints is deprecated"'
  const names = new Set<string | undefined>()
  const upstream = http.createServer(({ url = '', headers }, answer) => {
    names.add(headers['user-agent'])
    const isWatch = url.includes('watch=true')
    if (url.startsWith('/api/v1/endpoints')) answer.setHeader('Warning', warning)
    answer.setHeader('Content-Type', 'application/json')
    if (isWatch) answer.flushHeaders()
    else answer.end('{"metadata":{"resourceVersion":"7"},"items":[]}')
  })
  const port = await serveUntilEnd(t, upstream)
  const { url } = await startServer(t, `http://127.0.0.1:${port}`)
  const warned = async (path: string): Promise<string | null> => {
    const answer = await fetch(url + path)
    await answer.body?.cancel()
    return answer.headers.get('warning')
  }
  for (const path of ['', '?watch=1&timeoutSeconds=1', '?limit=x'])
    t.equal(await warned(`/api/v1/endpoints${path}`), warning, path)
  t.equal(await warned('/api/v1/namespaces/default/endpoints/no'), warning, 'with a 404 too')
  t.equal(await warned('/api/v1/nodes'), null, 'and of nothing else')
  t.strictSame([...names], ['edge-health-wrapper'])
})

t.test(
  'FW23: short lists come from upstream’s memory, long ones in pages; watches last an hour',
  async t => {
    const asked: URL[] = []
    const upstream = http.createServer(({ url = '' }, answer) => {
      asked.push(new URL(url, 'http://upstream'))
      answer.setHeader('Content-Type', 'application/json')
      if (url.includes('watch=true')) answer.flushHeaders()
      else answer.end('{"metadata":{"resourceVersion":"7"},"items":[]}')
    })
    const port = await serveUntilEnd(t, upstream)
    const { url } = await startServer(t, `http://127.0.0.1:${port}`)
    for (const path of ['nodes', 'services', 'endpoints']) await fetch(`${url}/api/v1/${path}`)
    while (asked.length < 10) await settle()
    const of = (isWatch: boolean, ...names: string[]): Record<string, (string | null)[]> => {
      const found: Record<string, (string | null)[]> = {}
      for (const { pathname, searchParams } of asked)
        if (searchParams.has('watch') === isWatch)
          found[pathname.split('/').at(-1)!] = names.map(name => searchParams.get(name))
      return found
    }
    t.strictSame(of(false, 'resourceVersion', 'limit', 'fieldSelector'), {
      nodes: ['0', null, 'metadata.name=a'],
      services: ['0', null, null],
      servicecidrs: ['0', null, null],
      endpoints: [null, '500', null],
      endpointslices: [null, '500', null],
    })
    for (const [name, [seconds]] of Object.entries(of(true, 'timeoutSeconds')))
      t.ok(Number(seconds) >= 2_400 && Number(seconds) <= 4_800, `${name}: ${seconds} s`)
  },
)
