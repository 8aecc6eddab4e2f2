// SPDX-License-Identifier: Apache-2.0
// By what the cloud link is judged, also where the node's own API is a cache: KubeEdge's MetaServer.
import { readFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
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
import { serveUntilEnd } from '../../../../testkit/http/serve-until-end.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const { signal } = new AbortController()

const OPTIONS = {
  ...{ cloudCheckPeriodMs: 10_000, cloudCheckTimeoutMs: 3_000, cloudCheckFailures: 2 },
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
    tryRenewal: ask('dry run'),
    getLease: ask('own Lease'),
    server: async () => new URL(url),
    reconnect: () => undefined,
  }
  return { asked, check: makeCloudCheck({ ...OPTIONS, cloudCheck }, kube, new FakeClock()) }
}

const status = (code: number): Error =>
  new KubeStatusError('PATCH', { status: code, reason: '', message: '', isFromApi: true })

/** The agent's client of the API at this address. */
const startClient = (t: Test, masterUrl: string) => {
  const clock = new FakeClock()
  const seams = { clock, log: recordingLog(), random: seededRandom(1) }
  const api = makeKubeApi(makeCredentials({ masterUrl, environment: {} }, seams), seams)
  t.teardown(() => api.close())
  const checkBy = (cloudCheck: 'auto' | 'livez' | 'write') =>
    makeCloudCheck({ ...OPTIONS, cloudCheck }, api, clock)
  return { api, clock, checkBy }
}

/** The same of an API that answers what is scripted. */
const startApi = async (t: Test) => {
  const server = await startScripted()
  t.teardown(() => server.close())
  return { server, ...startClient(t, server.url) }
}

interface Question {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Of a PATCH or a POST. */
  readonly body: { readonly spec?: object }
}

/** What is said to a question: text, or JSON. */
type Reply = (question: Question) => { readonly status?: number; readonly body: unknown }

/** The same of an API that answers by what it is asked. `connections` counts those that were opened. */
const startAnswering = async (t: Test, reply: Reply) => {
  const asked: string[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await readText(request)
    const { pathname: path, searchParams: query } = new URL(request.url!, 'http://x')
    asked.push(`${request.method} ${path}`)
    const body = (text === '' ? {} : JSON.parse(text)) as Question['body']
    const said = reply({ method: request.method!, path, query, body })
    response.writeHead(said.status ?? 200, { 'content-type': 'application/json' })
    response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body))
  }
  const server = http.createServer((request, response) => void handle(request, response))
  let connections = 0
  server.on('connection', () => connections++)
  const port = await serveUntilEnd(t, server)
  const client = startClient(t, `http://127.0.0.1:${port}`)
  return { asked, connections: () => connections, ...client }
}

const leaseOf = (spec: object) => ({
  body: { kind: 'Lease', metadata: { name: 'e1', resourceVersion: '7' }, spec },
})

const statusBody = (code: number, reason: string) => ({
  status: code,
  body: { kind: 'Status', status: 'Failure', code, reason, message: reason },
})

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
  const made: object[] = []
  let reply: Reply = ({ body }) => leaseOf(body.spec!)
  const { api, asked } = await startAnswering(t, question => reply(question))
  const of = {
    ...{ namespace: 'edge-system', name: 'edge-health-e1', holder: 'e1', durationSeconds: 40 },
  }
  await api.renewAgentLease(of, signal)
  reply = ({ method, body }) => {
    if (method === 'PATCH') return statusBody(404, 'NotFound')
    made.push(body)
    return { ...leaseOf(body.spec!), status: 201 }
  }
  await api.renewAgentLease(of, signal)
  reply = () => statusBody(500, 'away')
  await t.rejects(api.renewAgentLease(of, signal), /away/)
  const leases = '/apis/coordination.k8s.io/v1/namespaces/edge-system/leases'
  const one = `PATCH ${leases}/edge-health-e1`
  t.strictSame(asked, [one, one, `POST ${leases}`, one])
  t.match(made[0], {
    metadata: { name: 'edge-health-e1', namespace: 'edge-system' },
    spec: { holderIdentity: 'e1', leaseDurationSeconds: 40, renewTime: /000Z$/ },
  })
})

t.test(
  'what a portal, a proxy or another program on the port answers is no word of the cloud',
  async t => {
    const { server, checkBy } = await startApi(t)
    const check = checkBy('write')
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

t.test('behind a cache on this machine what it kept is no sign of life', async t => {
  const kept = leaseOf({ renewTime: '2025-01-01T00:00:00.000000Z' })
  const refused = 'dial tcp 10.0.0.1:6443: connect: connection refused'
  const livez = ({ path }: Question): boolean => path === '/livez'
  const cut: readonly (readonly [what: string, reply: Reply])[] = [
    // Reads of objects from what it kept, anything else is refused.
    [
      "as SuperEdge's lite-apiserver",
      ({ method }) => (method === 'GET' ? kept : { status: 503, body: refused }),
    ],
    // It answers PATCH from what it kept, and says itself what it has not kept.
    ["as OpenYurt's YurtHub", question => (livez(question) ? statusBody(400, 'BadRequest') : kept)],
    [
      '… which has not kept it',
      question => (livez(question) ? statusBody(400, 'BadRequest') : statusBody(404, 'NotFound')),
    ],
    ['that has too much to do', () => statusBody(429, 'TooManyRequests')],
  ]
  for (const [what, reply] of cut)
    for (const cloudCheck of ['auto', 'livez'] as const) {
      const { checkBy } = await startAnswering(t, reply)
      await t.rejects(checkBy(cloudCheck)(signal), /livez/, what)
    }
  const { checkBy: checkOfCache } = await startAnswering(t, () => kept)
  await t.rejects(checkOfCache('write')(signal), /earlier time/, 'a renewal, too')
  const served: readonly (readonly [what: string, reply: Reply])[] = [
    ['the cloud is unwell, and serves', ({ body }) => leaseOf(body.spec!)],
    ['… and this account may not', () => statusBody(403, 'Forbidden')],
  ]
  for (const [what, reply] of served) {
    const renewals: Question[] = []
    const { checkBy } = await startAnswering(t, question => {
      if (livez(question)) return { status: 500, body: 'not ok' }
      renewals.push(question)
      return reply(question)
    })
    await t.resolves(checkBy('auto')(signal), what)
    t.equal(renewals[0]!.query.get('dryRun'), 'All', 'nothing is written')
    t.equal(renewals[0]!.method, 'PATCH')
  }
})

t.test('a check that fails lets the next one have a new connection', async t => {
  // A load balancer leads each new connection to an apiserver that is well.
  const { checkBy, connections } = await startAnswering(t, () => ({ status: 500, body: 'not ok' }))
  const check = checkBy('livez')
  for (const opened of [1, 2, 3]) {
    await t.rejects(check(signal), /not ok|not alive/)
    t.equal(connections(), opened)
  }
  let isUnwell = true
  const other = await startAnswering(t, ({ path, body }) => {
    if (path !== '/livez') return leaseOf(body.spec!)
    return isUnwell ? { status: 500, body: 'not ok' } : { body: 'ok' }
  })
  const otherCheck = other.checkBy('livez')
  for (let i = 0; i < 3; i++) await otherCheck(signal)
  isUnwell = false
  await otherCheck(signal)
  t.equal(other.connections(), 1, 'one that serves keeps its connection')
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
      ping: makeApiCheck({
        ...{ clock, slowMs: 2_000, reconnect: () => undefined },
        ...{ ping: () => answerWith(ping), askLease: () => answerWith(lease) },
      }),
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
    const { server, checkBy } = await startApi(t)
    server.script(...Array.from({ length: 3 }, () => refusal(400, 'BadRequest')))
    await t.rejects(checkBy(cloudCheck)(signal), /400/, cloudCheck)
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
