// SPDX-License-Identifier: Apache-2.0
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { type Clock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { startApi } from '../../sandbox/api/server.js'
import { type KubeletOptions, parseKubeletOptions, startKubelet } from '../../sandbox/kubelet.js'
import { openKubeletPort, makeCertificate } from '../../sandbox/kubelet-server.js'
import {
  conditionsOf,
  type LeaseObject,
  type NodeObject,
  readyOf,
} from '../../sandbox/node-object.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'

interface Answer {
  readonly status: number
  readonly text: string
}

const ask = (url: string, method = 'GET', token?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const options = { method, headers, agent: false as const, rejectUnauthorized: false }
    const request = url.startsWith('https')
      ? httpsRequest(url, options, read)
      : httpRequest(url, options, read)
    function read(answer: IncomingMessage): void {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    }
    request.on('error', reject)
    request.end()
  })

interface Tap {
  teardown(end: () => unknown): void
}

const setUp = async (
  test: Tap,
  given: Partial<KubeletOptions> = {},
  clock: Clock = systemClock,
) => {
  const api = await startApi({ host: '127.0.0.1', port: 0, clock: systemClock, log: silentLog })
  const log = recordingLog()
  const options: KubeletOptions = {
    nodeName: 'n1',
    address: '127.0.0.1',
    labels: { 'superedgehealth/topology-zone': 'z' },
    server: api.url,
    token: api.addClient('kubelet'),
    healthz: { host: '127.0.0.1', port: 0 },
    secure: { host: '127.0.0.1', port: 0 },
    leaseSeconds: 40,
    renewMs: 20,
    statusMs: 100_000,
    ...given,
  }
  const kubelet = await startKubelet(options, { clock, log })
  test.teardown(async () => {
    await kubelet.stop()
    await api.stop()
  })
  const node = () => api.store.get('nodes', undefined, 'n1') as unknown as NodeObject | undefined
  const lease = () =>
    api.store.get('leases', 'kube-node-lease', 'n1') as unknown as LeaseObject | undefined
  /** Wait for a change of a resource that makes it so. */
  const until = (resource: string, holds: () => boolean) =>
    new Promise<void>(resolve => {
      const look = (): void => {
        if (!holds()) return
        end()
        resolve()
      }
      const end = api.store.subscribe(resource, () => setImmediate(look))
      look()
    })
  const isReady = () => {
    const now = node()
    return now !== undefined && readyOf(now)?.status === 'True'
  }
  return { api, kubelet, log, node, lease, until, isReady, options }
}

t.test('what the cluster sees', async t => {
  const k = await setUp(t)
  await k.until('nodes', k.isReady)
  t.match(k.node(), {
    metadata: {
      labels: { 'kubernetes.io/hostname': 'n1', 'superedgehealth/topology-zone': 'z' },
    },
    status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }, { type: 'Hostname' }] },
  })
  t.strictSame(
    conditionsOf(k.node()!)
      .map(({ type, status }) => `${type}=${status}`)
      .sort(),
    ['DiskPressure=False', 'MemoryPressure=False', 'PIDPressure=False', 'Ready=True'],
  )
  await k.until('leases', () => k.lease()?.spec?.renewTime !== undefined)
  const first = k.lease()!
  t.match(first.spec, { holderIdentity: 'n1', leaseDurationSeconds: 40 })
  await k.until('leases', () => k.lease()!.spec!.renewTime! > first.spec!.renewTime!)
  t.pass('the Lease is renewed')

  const version = k.node()!.metadata.resourceVersion
  await k.until('leases', () => Number(k.lease()!.metadata.resourceVersion) > Number(version) + 5)
  t.equal(
    k.node()!.metadata.resourceVersion,
    version,
    'the status is not posted while nothing changes',
  )

  const lease = k.lease()!
  k.api.store.put('leases', {
    ...lease,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    spec: { ...lease.spec, holderIdentity: 'somebody else' },
  } as never)
  await k.until('leases', () => k.lease()!.spec!.holderIdentity === 'n1')
  t.pass('a Lease that others renewed is taken back')

  const silent = { type: 'Ready', status: 'Unknown', lastTransitionTime: '2020-01-01T00:00:00Z' }
  const now = k.node()!
  k.api.store.put('nodes', {
    ...now,
    apiVersion: 'v1',
    kind: 'Node',
    status: { ...now.status, conditions: [silent] },
  } as never)
  await k.until('nodes', k.isReady)
  t.not(readyOf(k.node()!)?.lastTransitionTime, silent.lastTransitionTime)
  t.pass('a node that was called Unknown says Ready again')
})

t.test('a kubelet that was there before', async t => {
  const k = await setUp(t)
  await k.until('nodes', k.isReady)
  const again = await startKubelet(
    { ...k.options, labels: { 'superedgehealth/topology-zone': 'other' } },
    { clock: systemClock, log: silentLog },
  )
  t.teardown(() => again.stop())
  await k.until(
    'nodes',
    () => k.node()!.metadata.labels!['superedgehealth/topology-zone'] === 'other',
  )
  t.pass('takes over its Node, with new labels')
})

t.test('the API is away at first', async t => {
  const clock = new FakeClock()
  const k = await setUp(t, { token: 'nobody' }, clock)
  await new Promise<void>(resolve => {
    const look = (): void => {
      void clock.advance(10_000).then(() => {
        const failures = k.log.lines.filter(line => line.message.includes('cannot register'))
        if (failures.length >= 4) {
          t.ok(
            failures.every((line, i) => Number(line.fields['againInMs']) >= (i === 0 ? 200 : 400)),
            'the waits grow',
          )
          resolve()
        } else setImmediate(look)
      })
    }
    look()
  })
  t.equal(k.node(), undefined)
})

t.test('healthz', async t => {
  const k = await setUp(t)
  const base = `http://127.0.0.1:${k.kubelet.healthzPort}`
  t.strictSame(await ask(`${base}/healthz`), { status: 200, text: 'ok' })
  t.equal((await ask(`${base}/pods`)).status, 404)
  t.equal((await ask(`${base}/sandbox/sick`, 'POST')).status, 200)
  t.equal((await ask(`${base}/healthz`)).status, 500)
  await ask(`${base}/sandbox/well`, 'POST')
  t.equal((await ask(`${base}/healthz`)).status, 200)
})

t.test('the authenticated port', async t => {
  const k = await setUp(t)
  const url = `https://127.0.0.1:${k.kubelet.securePort}`
  t.equal((await ask(`${url}/healthz`)).status, 401, 'no token')
  t.equal((await ask(`${url}/healthz`, 'GET', 'made-up')).status, 401, 'a token nobody knows')
  const token = k.api.addClient('prober')
  t.strictSame(await ask(`${url}/healthz`, 'GET', token), { status: 200, text: 'ok' })
  t.equal((await ask(`${url}/pods`, 'GET', token)).status, 404)
  k.api.cutLink('kubelet', 'refused')
  t.equal((await ask(`${url}/healthz`, 'GET', token)).status, 200, 'a yes is remembered')
  const other = k.api.addClient('other')
  t.equal((await ask(`${url}/healthz`, 'GET', other)).status, 401, 'nobody can be asked: 401')
  k.api.healLink('kubelet')
  t.equal((await ask(`${url}/healthz`, 'GET', other)).status, 200, 'a no is asked again')
})

t.test('a yes is forgotten after two minutes', async t => {
  const clock = new FakeClock()
  let asked = 0
  const review = async (): Promise<boolean> => {
    asked++
    if (asked > 1) throw new Error('cut')
    return true
  }
  const listen = { host: '127.0.0.1', port: 0 }
  const pair = await makeCertificate('n1', '127.0.0.1')
  const server = await openKubeletPort(listen, pair, review, clock)
  t.teardown(() => server.close())
  const url = `https://127.0.0.1:${server.port}/healthz`
  t.equal((await ask(url, 'GET', 'x')).status, 200)
  await clock.advance(119_000)
  t.equal((await ask(url, 'GET', 'x')).status, 200)
  t.equal(asked, 1)
  await clock.advance(2_000)
  t.equal((await ask(url, 'GET', 'x')).status, 401, 'the link is cut: minutes later it shows')
})

t.test('what cannot be', async t => {
  const k = await setUp(t)
  await t.rejects(
    startKubelet(
      { ...k.options, secure: { host: '127.0.0.1', port: k.kubelet.securePort } },
      { clock: systemClock, log: silentLog },
    ),
    { code: 'LISTEN' },
    'a taken port',
  )
  t.throws(() => parseKubeletOptions({ nodeName: 1 }), { code: 'INVALID_INPUT' })
  t.strictSame(parseKubeletOptions({ ...k.options }), k.options)
})
