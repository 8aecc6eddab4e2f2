// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import { WebSocketServer } from 'ws'
import { makeAuthority, makeNodePair, makeServerPair } from '../../../testkit/edge/certificates.js'
import { startEdges } from '../../../testkit/edge/edge-process.js'
import { dialWebsocket } from '../../../testkit/edge/link.js'
import { eventually } from '../../../testkit/bundle.js'

/** The common name of the certificate that the other end showed. */
const nameOf = (socket: Socket): string => {
  if (!('getPeerCertificate' in socket)) return ''
  const read = socket.getPeerCertificate as () => { readonly subject: { readonly CN: string } }
  return read.call(socket).subject.CN
}

t.test(
  'edges of one process over TLS: headers exactly as recorded, text frames, no extension',
  async t => {
    const ca = await makeAuthority()
    const server = createServer({
      ...(await makeServerPair(ca)),
      ...{ ca: ca.cert, requestCert: true },
    })
    const sockets = new WebSocketServer({ server, perMessageDeflate: true })
    const upgrades: { readonly url: string; readonly headers: readonly string[]; cn: string }[] = []
    const frames: { readonly text: string; readonly isBinary: boolean }[] = []
    sockets.on('connection', (socket, request) => {
      const { url = '', rawHeaders: headers } = request
      upgrades.push({ url, headers, cn: nameOf(request.socket) })
      t.equal(socket.extensions, '')
      socket.on('message', (bytes: Buffer, isBinary) =>
        frames.push({ text: bytes.toString(), isBinary }),
      )
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const url = `wss://127.0.0.1:${port}`
    const edges = startEdges({ url, authority: ca, nodes: ['e1', 'e2', 'e3'] })
    t.teardown(async () => {
      await edges.close()
      server.close()
      server.closeAllConnections()
    })
    // Of each: a keepalive, the membership, a query of the Lease, the registration.
    await eventually('the first frames of three edges', 60_000, () => frames.length >= 12)
    const one = upgrades.find(({ url }) => url.includes('/e2/'))
    t.match(one, {
      url: '/e632aba927ea4ac2b575ec1603d56f10/e2/events',
      cn: 'system:node:e2',
      headers: [
        ...['Host', `127.0.0.1:${port}`, 'User-Agent', 'Go-http-client/1.1'],
        ...['Connection', 'Upgrade', 'Connectionuse', 'msg', 'Node_id', 'e2'],
        ...['Project_id', 'e632aba927ea4ac2b575ec1603d56f10'],
        ...['Sec-WebSocket-Key', /^.{24}$/, 'Sec-WebSocket-Version', '13', 'Upgrade', 'websocket'],
      ],
    })
    t.equal(one?.headers.length, 18)
    t.ok(frames.every(({ text, isBinary }) => !isBinary && text.endsWith('}\n')))
    t.match(await edges.view(), { e1: { isConnected: true }, e3: { isConnected: true, acks: 0 } })
    t.match(edges.events, [{ kind: 'connected' }, { kind: 'connected' }, { kind: 'connected' }])
  },
)

t.test('a dial that is refused says so; a link that is frozen neither sends nor hears', async t => {
  const ca = await makeAuthority()
  const server = createServer({ ...(await makeServerPair(ca)), ca: ca.cert, requestCert: true })
  const sockets = new WebSocketServer({ noServer: true })
  let isOpen = false
  const came: string[] = []
  let answered = 0
  server.on('upgrade', (request, socket, head) => {
    if (isOpen)
      sockets.handleUpgrade(request, socket, head, socket =>
        socket.on('message', (bytes: Buffer) => {
          came.push(bytes.toString())
          answered++
          socket.send('answer')
        }),
      )
    else socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
    for (const socket of sockets.clients) socket.terminate()
  })
  const { port } = server.address() as AddressInfo
  const tls = { ca: ca.cert, ...(await makeNodePair(ca, 'e1')) }
  const said: string[] = []
  const dial = () =>
    dialWebsocket(
      { url: `wss://127.0.0.1:${port}`, node: 'e1', tls },
      {
        opened: () => said.push('opened'),
        refused: reason => said.push(`refused ${reason}`),
        received: text => said.push(text),
        ended: () => said.push('ended'),
      },
    )
  dial()
  await eventually('a refusal', 20_000, () => said.length > 0)
  t.match(said[0], /^refused .*503/)
  isOpen = true
  const link = dial()
  await eventually('an open link', 20_000, () => said.includes('opened'))
  t.ok(link.send('one'))
  await eventually('an answer', 20_000, () => said.includes('answer'))
  link.freeze()
  t.ok(link.send('two'), 'it looks as if it were sent')
  link.thaw()
  link.send('three')
  await eventually('another answer', 20_000, () => answered === 2)
  t.strictSame(came, ['one', 'three'])
  link.reset()
  await eventually('the end', 20_000, () => said.includes('ended'))
  t.notOk(link.send('four'))
})
