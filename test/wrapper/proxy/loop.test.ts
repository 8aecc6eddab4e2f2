// SPDX-License-Identifier: Apache-2.0
// Where the apiserver's address leads to the wrapper itself, by whatever name, a request goes round once.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import t from 'tap'
import { systemClock } from '../../../core/clock.js'
import { serveUntilEnd } from '../../../testkit/http/serve-until-end.js'
import { UpstreamPool } from '../../../wrapper/proxy/upstream-call.js'
import { call, openCall, readText, startProxy, upstreamAt } from '../proxy-bed.js'

const EVENTS = '/api/v1/namespaces/default/events'
const UPGRADE = { Connection: 'Upgrade', Upgrade: 'websocket' }

for (const host of ['127.0.0.1', 'localhost', '0.0.0.0'])
  t.test(`a request that comes back from ${host} is refused`, async t => {
    let port = 0
    const bed = await startProxy(t, { upstream: () => upstreamAt(`http://${host}:${port}`)() })
    ;({ port } = bed)
    const said = { code: 508, message: "the apiserver's address leads to this wrapper itself" }
    for (const [path, options, body] of [
      ['/version', {}, undefined],
      // Over the connection that was kept.
      ['/version', {}, undefined],
      ['/api/v1/pods?watch=true', {}, undefined],
      ['/api/v1/namespaces/default/configmaps', { method: 'POST' }, '{}'],
      [EVENTS, { method: 'POST' }, '{}'],
    ] as const) {
      const { status, text } = await call(bed, path, options, body)
      t.equal(status, 508, path)
      t.match(JSON.parse(text), said)
    }
    const exec = '/api/v1/namespaces/n/pods/p/exec'
    const response = await openCall(bed, exec, { headers: UPGRADE })
    t.equal(response.statusCode, 508, exec)
    t.match(JSON.parse(await readText(response)), said)
    t.equal(bed.proxy.counts.passed, 5, 'each was sent once')
    t.equal(bed.proxy.events.length, 0)
  })

t.test('a connection is ours by both of its ends, and while it is open', async t => {
  const accepted: Socket[] = []
  const api = createServer((request, response) => {
    accepted.push(request.socket)
    response.end()
  })
  const url = `http://127.0.0.1:${await serveUntilEnd(t, api)}`
  const pool = new UpstreamPool(systemClock, upstreamAt(url))
  const version = { method: 'GET', url: '/version', headers: ['Host', 'a'] }
  const call = await pool.open({ ...version, answerMs: 60_000, isPooled: true })
  call.request.end()
  const { response } = await call.answer
  const [ours] = accepted
  const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = ours!
  const ends = { localAddress, localPort, remoteAddress, remotePort }
  t.equal(pool.isOwn(ends), true)
  t.equal(pool.isOwn({ ...ends, remoteAddress: '::ffff:127.0.0.1' }), true, 'on [::], too')
  t.equal(pool.isOwn({ ...ends, localPort: 1 }), false, 'a client may have our port toward others')
  t.equal(pool.isOwn({ ...ends, remotePort: remotePort - 1 }), false)
  t.equal(pool.isOwn({ ...ends, remoteAddress: '127.0.0.2' }), false)
  const { socket } = response
  const closed = once(socket, 'close')
  response.resume()
  pool.close()
  socket.destroy()
  await closed
  t.equal(pool.isOwn(ends), false, 'its port may be anybody’s now')
})
