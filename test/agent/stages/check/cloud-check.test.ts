// SPDX-License-Identifier: Apache-2.0
// By what the cloud link is judged, also where the node's own API is a cache: KubeEdge's MetaServer.
import { readFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import { makeKubeApi } from '../../../../agent/adapters/kube-api.js'
import { askPatiently } from '../../../../agent/ask-patiently.js'
import { makeCloudCheck } from '../../../../agent/stages/check/cloud-check.js'
import { makeApiCheck, watchCloudLink } from '../../../../agent/stages/check/cloud-link.js'
import { sleep } from '../../../../core/clock.js'
import { KubeStatusError, KubeUnreachableError } from '../../../../core/errors.js'
import { parseNodeName } from '../../../../core/ids.js'
import { makeCredentials } from '../../../../kube/client/credentials.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { answer, refusal, startScripted } from '../../../../testkit/http/scripted-server.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const { signal } = new AbortController()

const OPTIONS = {
  ...{ cloudCheckPeriodMs: 10_000, cloudCheckFailures: 2 },
  ...{ namespace: 'edge-system', nodeName: parseNodeName('e1') },
} as const

/** A check and what it asked. */
const checkOf = (cloudCheck: 'auto' | 'livez' | 'write', url: string, trouble?: Error) => {
  const asked: string[] = []
  const ask = (what: string) => async (): Promise<never> => {
    asked.push(what)
    if (trouble !== undefined) throw trouble
    return undefined as never
  }
  const kube = {
    ping: ask('livez'),
    renewAgentLease: ask('write'),
    tryPatch: ask('dry run'),
    getLease: ask('own Lease'),
    server: async () => new URL(url),
  }
  return { asked, check: makeCloudCheck({ ...OPTIONS, cloudCheck }, kube) }
}

const status = (code: number): Error =>
  new KubeStatusError('PATCH', { status: code, reason: '', message: '', isFromApi: true })

/** The agent's client of an API that answers what is scripted. */
const startApi = async (t: Test) => {
  const server = await startScripted()
  const clock = new FakeClock()
  const seams = { clock, log: recordingLog(), random: seededRandom(1) }
  const credentials = makeCredentials({ masterUrl: server.url, environment: {} }, seams)
  const api = makeKubeApi(credentials, seams)
  t.teardown(async () => {
    await api.close()
    await server.close()
  })
  return { server, api, clock }
}

t.test('auto writes where the API is a MetaServer, and asks /livez elsewhere', async t => {
  const rows = [
    ['http://127.0.0.1:10550', 'write'],
    ['http://localhost:10550', 'write'],
    ['http://[::1]:10550', 'write'],
    ['https://127.0.0.1:6443', 'livez'],
    ['https://10.0.0.1:10550', 'livez'],
    ['https://kubernetes.default.svc', 'livez'],
  ] as const
  for (const [url, what] of rows) {
    const { check, asked } = checkOf('auto', url)
    await check(signal)
    t.strictSame(asked, [what], url)
  }
})

t.test('a cache that answers everything else does not hide that the cloud is away', async t => {
  const away = status(500)
  const { check, asked } = checkOf('write', 'http://127.0.0.1:10550', away)
  await t.rejects(check(signal), away)
  t.strictSame(asked, ['write'])
  const silent = new KubeUnreachableError('PATCH', 'ECONNREFUSED')
  await t.rejects(checkOf('write', 'http://x', silent).check(signal), silent)
  await t.rejects(checkOf('write', 'http://x', status(429)).check(signal))
  for (const code of [403, 404, 409, 422])
    await t.resolves(checkOf('write', 'http://x', status(code)).check(signal), `${code} is a word`)
})

t.test("the agent's own Lease is renewed, and made where there is none", async t => {
  const { server, api } = await startApi(t)
  t.equal((await api.server()).href, `${server.url}/`)
  const lease = {
    ...{ kind: 'Lease', spec: {} },
    metadata: { name: 'edge-health-e1', uid: 'u', resourceVersion: '1' },
  }
  server.script(
    answer(lease),
    refusal(404, 'NotFound'),
    answer(lease, { status: 201 }),
    refusal(500, ''),
  )
  const of = {
    ...{ namespace: 'edge-system', name: 'edge-health-e1', holder: 'e1', durationSeconds: 40 },
  }
  await api.renewAgentLease(of, signal)
  await api.renewAgentLease(of, signal)
  await t.rejects(api.renewAgentLease(of, signal), /scripted 500/)
  const leases = '/apis/coordination.k8s.io/v1/namespaces/edge-system/leases'
  t.strictSame(
    server.asked.map(({ method, path }) => `${method} ${path.split('?')[0]}`),
    [
      `PATCH ${leases}/edge-health-e1`,
      `PATCH ${leases}/edge-health-e1`,
      `POST ${leases}`,
      `PATCH ${leases}/edge-health-e1`,
    ],
  )
  t.match(JSON.parse(server.asked[2]!.body), {
    metadata: { name: 'edge-health-e1', namespace: 'edge-system' },
    spec: { holderIdentity: 'e1', leaseDurationSeconds: 40, renewTime: /000Z$/ },
  })
})

t.test(
  'what a portal, a proxy or another program on the port answers is no word of the cloud',
  async t => {
    const { server, api } = await startApi(t)
    const check = makeCloudCheck({ ...OPTIONS, cloudCheck: 'write' }, api)
    const page = { 'content-type': 'text/html' }
    for (const code of [200, 302, 401, 403, 405, 409]) {
      server.script(answer('<html>log in</html>', { status: code, headers: page }))
      await t.rejects(check(signal), `${code}`)
    }
    const missing = answer('404 page not found', { status: 404, headers: page })
    server.script(missing, missing)
    await t.rejects(check(signal), '404')
    server.script(refusal(403, 'Forbidden'))
    await t.resolves(check(signal), 'a Status is')
  },
)

t.test('behind a cache on this machine a Lease that it kept is no sign of life', async t => {
  // As SuperEdge's lite-apiserver: reads of objects from what it kept, anything else is refused while the cloud is away.
  const kept = answer({ kind: 'Lease', metadata: { name: 'e1', resourceVersion: '1' } })
  const away = answer('dial tcp 10.0.0.1:6443: connect: connection refused', { status: 503 })
  const rows = [
    ['cut', away, /livez: 503/],
    ['the cloud is unwell, and serves', kept, undefined],
    ['the cloud is unwell, and this account may not', refusal(403, 'Forbidden'), undefined],
  ] as const
  for (const [what, toWrites, trouble] of rows) {
    const { server, api } = await startApi(t)
    const check = makeCloudCheck({ ...OPTIONS, cloudCheck: 'auto' }, api)
    server.script(away, toWrites)
    if (trouble === undefined) await t.resolves(check(signal), what)
    else await t.rejects(check(signal), trouble, what)
    t.match(server.asked[1], { method: 'PATCH', body: '{}' }, what)
    t.equal(server.asked[1]!.query.get('dryRun'), 'All')
  }
})

t.test(
  'where the Lease is asked for: written where a cache may answer, read elsewhere',
  async t => {
    const rows = [
      ['https://127.0.0.1:51003', 'dry run'],
      ['https://169.254.20.11:51003', 'dry run'],
      ['https://[::1]:51003', 'dry run'],
      ['https://10.96.0.1', 'own Lease'],
      ['https://kubernetes.default.svc', 'own Lease'],
    ] as const
    for (const [url, what] of rows) {
      const { check, asked } = checkOf('livez', url, status(503))
      await t.rejects(check(signal))
      t.strictSame(asked, ['livez', what], url)
    }
  },
)

t.test('a connection that is switched to another protocol ends the question', async t => {
  const server = net.createServer(socket =>
    socket.once('data', () =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    ),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const clock = new FakeClock()
  const seams = { clock, log: recordingLog(), random: seededRandom(1) }
  const masterUrl = `http://127.0.0.1:${port}`
  const api = makeKubeApi(makeCredentials({ masterUrl, environment: {} }, seams), seams)
  t.teardown(() => api.close())
  await t.rejects(api.ping(signal), /connection was closed/)
})

t.test('while the apiserver is unwell, the Lease as it is served now decides', async t => {
  const [clock, random] = [new FakeClock(), seededRandom(5)]
  const apiBackoff = new ApiBackoff({ clock, random })
  const states: string[] = []
  let ping: Error | undefined
  let lease: Error | undefined
  const answerWith = async (trouble: Error | undefined): Promise<void> => {
    if (trouble !== undefined) throw trouble
  }
  const link = watchCloudLink(
    { ...OPTIONS, cloudCheckTimeoutMs: 4_000 },
    {
      ...{ clock, random, log: recordingLog() },
      onChange: ({ state }) => {
        states.push(state)
        apiBackoff.linkChanged()
      },
      ping: makeApiCheck({ ping: () => answerWith(ping), askLease: () => answerWith(lease) }),
    },
  )
  const stopping = new AbortController()
  // As a webhook that is closed, an etcd without space or a broken connection answers the agent's writes.
  const troubles = [status(500), new KubeUnreachableError('PATCH', 'ECONNRESET'), status(403)]
  const writes = async (): Promise<void> => {
    const write = (): Promise<void> => Promise.reject(troubles[random.below(troubles.length)]!)
    while (await sleep(clock, 50, stopping.signal))
      await askPatiently({ clock, apiBackoff }, stopping.signal, write).catch(() => undefined)
  }
  const done = writes()
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) await clock.advance(1_000)
  }
  await pass(300)
  ping = status(500)
  await pass(600)
  t.strictSame(states, ['up'], 'it serves, whatever the writes come to')
  for (const trouble of [status(500), new KubeUnreachableError('GET', 'ECONNRESET')]) {
    lease = trouble
    await pass(30)
    t.equal(states.at(-1), 'cut', 'what it served before says nothing of now')
    await pass(300)
    lease = undefined
    await pass(15)
    t.equal(states.at(-1), 'up')
  }
  ping = undefined
  await pass(300)
  t.strictSame(states, ['up', 'cut', 'up', 'cut', 'up'])
  stopping.abort()
  await Promise.all([done, link.stop()])
})

t.test("400 is the word of a node's own cache: no apiserver says it to these requests", async t => {
  // OpenYurt's YurtHub, while the cloud is away, to what it has not kept.
  for (const cloudCheck of ['auto', 'livez', 'write'] as const) {
    const { server, api } = await startApi(t)
    server.script(...Array.from({ length: 3 }, () => refusal(400, 'BadRequest')))
    await t.rejects(makeCloudCheck({ ...OPTIONS, cloudCheck }, api)(signal), /400/, cloudCheck)
  }
})

t.test("the kubeconfig in docs/kubeedge.md leads to the node's MetaServer", async t => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/kubeedge.md'), 'utf8')
  const [, text = ''] = /```yaml\n(apiVersion: v1\n[^`]*)```/.exec(page) ?? []
  const folder = t.testdir({ kubeconfig: text })
  const seams = { clock: new FakeClock(), log: recordingLog(), random: seededRandom(1) }
  const credentials = makeCredentials(
    { kubeconfig: `${folder}/kubeconfig`, environment: {} },
    seams,
  )
  const api = makeKubeApi(credentials, seams)
  t.equal((await api.server()).href, 'http://127.0.0.1:10550/')
  await api.close()
})
