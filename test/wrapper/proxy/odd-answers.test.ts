// SPDX-License-Identifier: Apache-2.0
// Answers as no apiserver gives them, and connections that end anywhere: everybody is told something, nobody is kept.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { upstreamAt, startProxy, until } from '../proxy-bed.js'
import { sendRaw } from '../../../testkit/http/raw-http.js'

/** An apiserver that answers each request with the same bytes. */
const startRaw = async (t: Test, answer: string, thenEnds: boolean) => {
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
    let got = ''
    socket.setEncoding('latin1').on('data', (part: string) => {
      got += part
      if (!got.includes('\r\n\r\n')) return
      got = ''
      socket.write(answer, 'latin1', () => {
        if (thenEnds) socket.destroy()
      })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, open }
}

const GET = 'GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

const rows: readonly (readonly [what: string, answer: string, answered: RegExp])[] = [
  ['hints before the answer', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/],
  ['100 that nobody waited for', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/],
  ['another protocol that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nabc', /^HTTP\/1\.1 503 [^]*"code":503/],
  ['204 with a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello', /^HTTP\/1\.1 204 No Content\r\n[^]*\r\n\r\n$/],
  ['304 with a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', /^HTTP\/1\.1 304 Not Modified\r\n[^]*\r\n\r\n$/],
  ['chunks with extensions and trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n2;a="b"\r\nok\r\n0\r\nX-A: b\r\n\r\n', /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n2\r\nok\r\n0\r\n\r\n$/],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n', /^HTTP\/1\.1 503 /],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\noka', /^HTTP\/1\.1 503 /],
  ['more than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n', /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/],
  ['headers that come twice', 'HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1\.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n/],
  ['text that is not ASCII, in Latin-1 and UTF-8', 'HTTP/1.1 200 OK\r\nWarning: 299 - "\xfc \xc3\xbc"\r\nContent-Length: 0\r\n\r\n', /\r\nWarning: 299 - "\xfc \xc3\xbc"\r\n/],
  ['a status that is none', 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1\.1 503 /],
  ['a status of its own', 'HTTP/1.1 799 \xfcber\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1\.1 799 \xfcber\r\n/],
  ['noise', '\0\x01\x02\r\n\r\n', /^HTTP\/1\.1 503 /],
] // prettier-ignore

for (const [what, answer, answered] of rows)
  t.test(`an answer with ${what}`, async t => {
    const upstream = await startRaw(t, answer, false)
    const bed = await startProxy(t, { upstream: upstreamAt(upstream.url) })
    t.match(await sendRaw(bed.port, GET), answered)
    t.match(await sendRaw(bed.port, GET), answered, 'and whoever comes next is told no other')
    t.ok(upstream.open.size <= 1, 'at most one connection is kept')
  })

t.test('a response that ends with its connection is complete', async t => {
  const upstream = await startRaw(t, 'HTTP/1.0 200 OK\r\n\r\nall of it', true)
  const bed = await startProxy(t, { upstream: upstreamAt(upstream.url) })
  t.match(await sendRaw(bed.port, GET), /^HTTP\/1\.1 200 OK\r\n[^]*all of it/)
})

t.test('a truncated response is never taken for complete', async t => {
  const whole =
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3\r\nyes\r\n0\r\n\r\n'
  for (let length = 0; length < whole.length; length++) {
    const upstream = await startRaw(t, whole.slice(0, length), true)
    const bed = await startProxy(t, { upstream: upstreamAt(upstream.url) })
    const answered = await sendRaw(bed.port, GET)
    if (length < whole.indexOf('\r\n\r\n') + 4)
      t.match(answered, /^HTTP\/1\.1 503 /, `${length} bytes`)
    else t.notMatch(answered, /\r\n0\r\n\r\n$/, `${length} bytes`)
  }
})

t.test('a client that leaves anywhere leaves nothing open', async t => {
  const upstream = await startRaw(t, '', false)
  const bed = await startProxy(t, { upstream: upstreamAt(upstream.url) })
  const body = '{"kind":"Node","metadata":{"name":"a"}}'
  for (const [method, path] of [
    ['POST', '/api/v1/namespaces/a/configmaps'],
    ['PUT', '/api/v1/nodes/a'],
    ['GET', '/api/v1/pods?watch=1'],
  ] as const) {
    const whole = `${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    for (let length = 1; length <= whole.length; length++) {
      await new Promise<void>(resolve => {
        const socket = connect({ port: bed.port, host: '127.0.0.1' }, () =>
          socket.write(whole.slice(0, length), () => socket.destroy()),
        )
        socket.on('close', () => resolve())
      })
    }
  }
  await until(() => upstream.open.size === 0 && bed.proxy.bodies.bytes === 0)
  t.equal(upstream.open.size, 0)
  t.equal(bed.proxy.bodies.bytes, 0)
})
