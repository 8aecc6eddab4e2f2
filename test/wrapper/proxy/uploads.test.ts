// SPDX-License-Identifier: Apache-2.0
import http, { createServer, type IncomingMessage } from 'node:http'
import {
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
import t, { type Test } from 'tap'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { call, startProxy, until, upstreamAt, type Got } from '../proxy-bed.js'

const PATH = '/api/v1/namespaces/shop/configmaps'

const listen = async (t: Test, server: Server): Promise<string> => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const pause = () => new Promise(resolve => setTimeout(resolve, 20))

t.test('a body that the apiserver stops reading is given up', async t => {
  const url = await listen(t, createTcpServer({ pauseOnConnect: true }))
  const clock = new FakeClock()
  const bed = await startProxy(t, { clock, upstream: upstreamAt(url) })
  let got: Got | undefined
  const asking = call(bed, PATH, { method: 'POST' }, Buffer.alloc(32 << 20)).then(
    answer => (got = answer),
  )
  await pause()
  const began = clock.now()
  while (got === undefined && clock.now() - began < 300_000) {
    await clock.advance(1_000)
    await pause()
  }
  t.ok(clock.now() - began >= 70_000, 'a slow apiserver has 70 s')
  t.equal(got?.status, 503)
  await asking
})

t.test('a body that comes slowly is passed on to its end', async t => {
  let length = 0
  const url = await listen(
    t,
    createServer((request, response) => {
      request.on('data', (part: Buffer) => (length += part.length))
      request.on('end', () => response.writeHead(201).end(String(length)))
    }),
  )
  const clock = new FakeClock()
  const { port } = await startProxy(t, { clock, upstream: upstreamAt(url) })
  const request = http.request({ port, path: PATH, method: 'POST', agent: false })
  const answer = new Promise<IncomingMessage>((resolve, reject) =>
    request.on('response', resolve).on('error', reject),
  )
  for (let i = 0; i < 6; i++) {
    request.write('a')
    await until(() => length > i)
    await clock.advance(60_000)
  }
  request.end()
  const response = await answer
  response.resume()
  t.equal(response.statusCode, 201)
})
