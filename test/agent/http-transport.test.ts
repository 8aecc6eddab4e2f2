// SPDX-License-Identifier: Apache-2.0
import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { makeHttpTransport } from '../../agent/adapters/http-transport.js'
import { keepaliveTimers } from '../../testkit/http/tcp-timers.js'
import type { Peer } from '../../agent/ports/transport.js'

/** A server that shows what came over the socket and answers with `answer`. */
const rawServer = async (
  t: Test,
  onRequest: (text: string, socket: Socket) => void,
): Promise<{ peer: Peer; connections: () => number }> => {
  let connections = 0
  const server: Server = createServer(socket => {
    connections++
    socket.on('error', () => undefined)
    socket.on('data', chunk => onRequest(chunk.toString('latin1'), socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { peer: { name: 'n2', address: '127.0.0.1', port }, connections: () => connections }
}
const open = (t: Test) => {
  const transport = makeHttpTransport()
  t.teardown(() => transport.close())
  return transport
}
const forever = new AbortController().signal
const body = Buffer.from([0, 255, 10, 13])

t.test(
  'a request is as small as HTTP allows, bytes pass unchanged, connections are kept',
  async t => {
    const seen: string[] = []
    const { peer, connections } = await rawServer(t, (text, socket) => {
      seen.push(text)
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x00\x01\xfe\xff', 'latin1')
    })
    const transport = open(t)
    const answer = await transport.send(peer, 'gossip', body, forever)
    t.equal(answer.status, 200)
    t.strictSame([...answer.body], [0, 1, 254, 255])
    await transport.send(peer, 'vote', body, forever)
    await transport.send(peer, 'result', body, forever)
    t.equal(
      seen[0],
      `POST /v1/gossip HTTP/1.1\r\nContent-Length: 4\r\nHost: 127.0.0.1:${peer.port}\r\n\r\n\x00\xff\n\r`,
    )
    t.match(seen[1], /^POST \/v1\/vote /)
    t.match(seen[2], /^PUT \/result /)
    t.equal(connections(), 1)
    for (const ms of keepaliveTimers(peer.port)) t.ok(ms > 110_000, 'FA19: and send no keepalive')
  },
)

t.test('any status is an answer; a redirect is not followed', async t => {
  const { peer } = await rawServer(t, (_, socket) => {
    socket.write('HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n')
  })
  t.equal((await open(t).send(peer, 'gossip', body, forever)).status, 302)
})

t.test('a kept connection that the peer closed is asked again once', async t => {
  let requests = 0
  const { peer, connections } = await rawServer(t, (_, socket) => {
    requests++
    if (requests === 2) socket.resetAndDestroy()
    else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  const transport = open(t)
  await transport.send(peer, 'result', body, forever)
  t.equal((await transport.send(peer, 'result', body, forever)).status, 200)
  t.equal(connections(), 2)
  t.equal(requests, 3)
})

t.test('trouble is a PeerUnreachableError with its reason; the signal is a deadline', async t => {
  const { peer } = await rawServer(t, (_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
    const drip = setInterval(() => socket.write('.'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  const transport = open(t)
  const stop = new AbortController()
  const sending = transport.send(peer, 'gossip', body, stop.signal)
  setTimeout(() => stop.abort(new Error('time is over')), 100)
  await t.rejects(sending, { message: 'time is over' }, 'a peer that trickles is cut off')

  const big = await rawServer(t, (_, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${2 << 20}\r\n\r\n${'x'.repeat(2 << 20)}`)
  })
  await t.rejects(transport.send(big.peer, 'gossip', body, forever), { code: 'PEER_UNREACHABLE' })
  await t.rejects(
    transport.send({ name: 'n3', address: '127.0.0.1', port: 1 }, 'gossip', body, forever),
    { code: 'PEER_UNREACHABLE', peer: 'n3', message: /ECONNREFUSED/ },
  )
})

t.test('a proxy in the environment is ignored', async t => {
  const { peer } = await rawServer(t, (_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  process.env['http_proxy'] = 'http://127.0.0.1:1'
  t.teardown(() => delete process.env['http_proxy'])
  t.equal((await open(t).send(peer, 'gossip', body, forever)).status, 200)
})
