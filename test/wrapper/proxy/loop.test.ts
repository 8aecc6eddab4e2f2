// SPDX-License-Identifier: Apache-2.0
// Where the apiserver's address leads to a wrapper, by whatever way, a request does not go round without end.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createRelay, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { serveUntilEnd } from '../../../testkit/http/serve-until-end.js'
import { call, openCall, readText, startProxy, upstreamAt, type Bed } from '../proxy-bed.js'

const EVENTS = '/api/v1/namespaces/default/events'
const EXEC = '/api/v1/namespaces/n/pods/p/exec'
const UPGRADE = { Connection: 'Upgrade', Upgrade: 'websocket' }
const SAID = {
  code: 508,
  message: "wrappers have passed it on 2 times: the apiserver's address leads to a wrapper",
}

/** A port that leads to another one, as NAT does: each end sees other addresses. */
const startRelay = async (t: Test, target: () => number): Promise<number> => {
  const relay = createRelay(client => {
    const server = connect(target(), '127.0.0.1')
    client.on('error', () => server.destroy()).on('close', () => server.destroy())
    server.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.pipe(server).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.teardown(() => relay.close())
  return (relay.address() as AddressInfo).port
}

const asAll = async (t: Test, bed: Bed): Promise<void> => {
  for (const [path, options, body] of [
    ['/version', {}, undefined],
    // Over the connections that were kept.
    ['/version', {}, undefined],
    ['/api/v1/pods?watch=true', {}, undefined],
    ['/api/v1/namespaces/default/configmaps', { method: 'POST' }, '{}'],
    [EVENTS, { method: 'POST' }, '{}'],
    // It cannot take out what wrappers add.
    ['/version', { headers: { Connection: 'Edge-Health-Passed-By' } }, undefined],
  ] as const) {
    const { status, text } = await call(bed, path, options, body)
    t.equal(status, 508, path)
    t.match(JSON.parse(text), SAID)
  }
  const response = await openCall(bed, EXEC, { headers: UPGRADE })
  t.equal(response.statusCode, 508, EXEC)
  t.match(JSON.parse(await readText(response)), SAID)
  t.equal(bed.proxy.events.length, 0)
}

for (const host of ['127.0.0.1', 'localhost', '0.0.0.0'])
  t.test(`a request that comes back from ${host} is refused`, async t => {
    let port = 0
    const bed = await startProxy(t, { upstream: () => upstreamAt(`http://${host}:${port}`)() })
    ;({ port } = bed)
    await asAll(t, bed)
    t.equal(bed.proxy.counts.passed, 12, 'each was sent twice')
  })

t.test('so is one that comes back through a relay', async t => {
  let port = 0
  const relay = await startRelay(t, () => port)
  const bed = await startProxy(t, { upstream: upstreamAt(`http://127.0.0.1:${relay}`) })
  ;({ port } = bed)
  await asAll(t, bed)
  t.equal(bed.proxy.counts.passed, 12, 'each was sent twice')
})

t.test('so is one that goes to and fro between wrappers', async t => {
  let port = 0
  const other = await startProxy(t, { upstream: () => upstreamAt(`http://127.0.0.1:${port}`)() })
  const bed = await startProxy(t, { upstream: upstreamAt(`http://127.0.0.1:${other.port}`) })
  ;({ port } = bed)
  await asAll(t, bed)
  t.equal(bed.proxy.counts.passed, 6, 'once by each')
  t.equal(other.proxy.counts.passed, 6)
})

t.test('one that a Pod passes on to the wrapper again reaches the apiserver', async t => {
  const seen: (string | undefined)[] = []
  const api = createServer(({ rawHeaders, url }, response) => {
    const passes = rawHeaders.filter(name => name === 'Edge-Health-Passed-By').length
    seen.push(`${url} ${passes}`)
    response.end('fine')
  })
  const bed = await startProxy(t, {
    upstream: upstreamAt(`http://127.0.0.1:${await serveUntilEnd(t, api)}`),
  })
  const passed = { headers: { 'edge-health-passed-by': 'wrapper' } }
  t.match(await call(bed, '/version'), { status: 200, text: 'fine' })
  t.match(await call(bed, '/version', passed), { status: 200, text: 'fine' })
  t.equal((await call(bed, EVENTS, { method: 'POST' }, '{}')).status, 200)
  const twice = { headers: { 'edge-health-passed-by': 'wrapper, wrapper' } }
  t.equal((await call(bed, '/version', twice)).status, 508, 'in one line, too')
  t.strictSame(seen, ['/version 1', '/version 1', `${EVENTS} 1`])
})
