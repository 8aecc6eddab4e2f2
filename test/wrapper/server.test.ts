// SPDX-License-Identifier: Apache-2.0
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { makeCredentials } from '../../kube/credentials.js'
import { systemClock } from '../../core/clock.js'
import { makeWrapperServer } from '../../wrapper/server.js'
import { testApi } from '../support/api-client.js'
import { recordingLog } from '../support/recording-log.js'
import { seededRandom } from '../support/seeded-random.js'
import { openedList, PROTOBUF, SetHealth, type Thing } from '../support/wrapper-world.js'

const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

t.test('what upstream has is served, and what changes there', async t => {
  const upstream = await testApi({ anonymous: 'wrapper' })
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
  const clock = systemClock
  const log = recordingLog()
  const health = new SetHealth()
  const credentials = makeCredentials(
    { masterUrl: upstream.api.url, environment: {}, serviceAccountFolder: '/nonexistent' },
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
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(async () => {
    await wrapper.stop()
    server.closeAllConnections()
    server.close()
    await upstream.api.stop()
  })
  wrapper.start()
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
