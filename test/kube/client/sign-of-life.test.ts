// SPDX-License-Identifier: Apache-2.0
// What idle connections and signs of life cost on the wire, on real sockets.
import t, { type Test } from 'tap'
import { TimeoutError } from '../../../core/errors.js'
import type { KubeApi } from '../../../agent/ports/kube-api.js'
import { certificateFor } from '../../../testkit/certificates.js'
import { answer, refusal, startScripted, type Step } from '../../../testkit/http/scripted-server.js'
import { keepaliveTimers } from '../../../testkit/http/tcp-timers.js'
import { build, never, ok, startPlain } from '../../../testkit/kube/built-kube.js'

const onLinux = process.platform === 'linux' ? {} : { skip: 'Linux alone tells its timers' }
const healthy = answer('ok')
const noNodes = answer({ metadata: { resourceVersion: '1' }, items: [] })
const unauthorized = refusal(401, 'Unauthorized')
const authority = await certificateFor('127.0.0.1')

/** A Pod with a token, and an apiserver that it can verify. */
const startTls = async (t: Test) => {
  const server = await startScripted(authority)
  const serviceAccountFolder = t.testdir({ token: 'of-the-pod', 'ca.crt': authority.cert })
  const environment = {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(server.port),
  }
  const built = build({ environment, serviceAccountFolder })
  t.teardown(async () => {
    await built.api.close()
    await server.close()
  })
  return { server, ...built }
}

const watch = (api: KubeApi): void => {
  const ignore = (): void => undefined
  api.watchNode('n1', { replace: ignore, upsert: ignore, remove: ignore })
}

for (const [name, start] of [
  ['plain', startPlain],
  ['TLS', startTls],
] as const)
  t.test(`FA19: kept connections to the apiserver are quiet (${name})`, onLinux, async t => {
    const { server, api } = await start(t)
    server.script(noNodes, { kind: 'stream' }, ok)
    watch(api)
    await server.request(1)
    await api.getNode('n1', never)
    const timers = keepaliveTimers(server.port)
    t.equal(timers.length, 2, 'a watch and a kept connection')
    for (const ms of timers) t.ok(ms > 60_000, `the next keepalive is ${ms} ms away`)
  })

t.test(
  'after a request without an answer, watches are asked whether they live',
  onLinux,
  async t => {
    const { server, api, clock } = await startTls(t)
    server.script(noNodes, { kind: 'stream' }, { kind: 'hang' }, healthy)
    watch(api)
    await server.request(1)
    const late = new AbortController()
    const lost = t.rejects(api.ping(late.signal), TimeoutError)
    await server.request(2)
    late.abort(new TimeoutError(3_000))
    await lost
    const isAsked = (): boolean => keepaliveTimers(server.port).some(ms => ms <= 1_000)
    t.notOk(isAsked(), 'not while nothing answers')
    await api.ping(never)
    t.ok(isAsked(), 'the next keepalive of the watch is due within a second')
    t.equal(server.open, 2, 'the connection of the lost request is gone')
    await clock.advance(15_000)
    t.notOk(isAsked(), 'once')
  },
)

t.test('requests without an answer keep no sign of life waiting', async t => {
  const { server, api } = await startTls(t)
  const most = 32
  server.script(...Array.from({ length: most }, (): Step => ({ kind: 'hang' })), healthy, ok)
  const ended = new AbortController()
  const hanging = Array.from({ length: most }, () => t.rejects(api.getNode('n1', ended.signal)))
  await server.request(most - 1)
  await api.ping(never)
  t.match(server.asked[most], { path: '/livez' })
  t.equal(server.asked.length, most + 1)
  ended.abort(new TimeoutError(1))
  await Promise.all(hanging)
  await api.getNode('n1', never)
  t.equal(server.open, 1, 'its connection was not kept')
})

t.test('nor one that has to be sent again', async t => {
  const { server, api } = await startPlain(t)
  const most = 31
  const hang: Step = { kind: 'hang' }
  server.script(...Array.from({ length: most }, () => hang), ok, { kind: 'reset' }, hang, healthy)
  const ended = new AbortController()
  const ask = (): Promise<unknown> => t.rejects(api.getNode('n1', ended.signal))
  const hanging = Array.from({ length: most }, ask)
  await server.request(most - 1)
  await api.getNode('n1', never)
  const pinged = api.ping(never)
  hanging.push(ask())
  await pinged
  ended.abort(new TimeoutError(1))
  await Promise.all(hanging)
})

t.test('a sign of life costs no token', async t => {
  const { server, api, clock } = await startTls(t)
  const ping = async (...steps: Step[]): Promise<string[]> => {
    const from = server.asked.length
    server.script(...steps)
    await api.ping(never)
    return server.asked.slice(from).map(({ headers }) => headers.authorization ?? 'nobody')
  }
  t.same(await ping(healthy), ['nobody'])
  t.same(Object.keys(server.asked[0]!.headers), ['host'], 'nor a header that says nothing')
  const named = 'Bearer of-the-pod'
  t.same(await ping(unauthorized, healthy), ['nobody', named], 'unless the server wants to know')
  t.same(await ping(healthy), [named], 'which is remembered')
  await clock.advance(3_600_000)
  t.same(await ping(refusal(403, 'Forbidden'), healthy), ['nobody', named], 'for an hour')
  t.same(await ping(unauthorized), [named], 'a refusal is a sign of life too')
})
