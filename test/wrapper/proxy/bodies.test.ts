// SPDX-License-Identifier: Apache-2.0
import http, { type IncomingMessage } from 'node:http'
import { connect, createServer as createTcp, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../../core/clock.js'
import { systemRandom } from '../../../core/random.js'
import { openForClients } from '../../../wrapper/listeners.js'
import { Proxy } from '../../../wrapper/proxy/proxy.js'
import { byAddress, type Sources } from '../../../net/sources.js'
import { certificateFor } from '../../../testkit/certificates.js'
import { call, readText, upstreamAt, scripted, startProxy, until } from '../proxy-bed.js'
import { ANYBODY } from '../../../testkit/http/open-listener.js'
import { sendRaw } from '../../../testkit/http/raw-http.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { answer } from '../../../testkit/http/scripted-server.js'

/** An upstream that writes down each byte and answers each request that ends in `last`. */
const startRecorder = async (t: Test) => {
  let text = ''
  const sockets: Socket[] = []
  const server = createTcp(socket => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', part => {
      text += part.toString('latin1')
      if (text.endsWith('last')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, sockets, text: () => text }
}

t.test('FW4: a body is passed on, whatever the method and framing', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  for (const path of ['/api/v1/namespaces/n/services/s/proxy/search', '/version'])
    for (const method of ['GET', 'OPTIONS', 'DELETE', 'POST', 'SEARCH', 'PATCH'])
      for (const headers of [
        {},
        { 'Transfer-Encoding': 'chunked' },
      ] as http.OutgoingHttpHeaders[]) {
        api.script(answer({ is: method }), answer({ is: 'next' }))
        const got = await new Promise<IncomingMessage>((resolve, reject) => {
          const body = '{"query":"ä"}'
          const length = 'Transfer-Encoding' in headers ? {} : { 'Content-Length': Buffer.byteLength(body) } // prettier-ignore
          const request = http.request({ port: bed.port, method, path, headers: { ...headers, ...length } }) // prettier-ignore
          request.on('response', resolve).on('error', reject).end(body)
        })
        const what = `${method} ${path} ${JSON.stringify(headers)}`
        t.equal(await readText(got), `{"is":"${method}"}`, what)
        t.match(api.asked.at(-1), { method, body: '{"query":"ä"}' })
        t.equal((await call(bed, '/version')).text, '{"is":"next"}', 'nobody is in the way of the next') // prettier-ignore
      }
})

t.test('FW4: what has no body is sent without one', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
    api.script(answer({}))
    t.equal((await call(bed, '/api/v1/namespaces/n/services/s', { method })).status, 200, method)
    t.equal(api.asked.at(-1)!.body, '')
  }
})

t.test('a body is read no faster than upstream reads it', async t => {
  const upstream = await startRecorder(t)
  const bed = await startProxy(t, { upstream: upstreamAt(upstream.url) })
  const socket = connect(bed.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const size = 64 << 20
  socket.write(
    `POST /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`,
  )
  await until(() => upstream.sockets.length === 1)
  upstream.sockets[0]!.pause()
  const piece = Buffer.alloc(1 << 20)
  let sent = 0
  const fill = (): void => {
    while (sent < size) {
      sent += piece.length
      if (!socket.write(piece)) return void socket.once('drain', fill)
    }
  }
  fill()
  let last = -1
  await until(() => {
    const isStill = sent === last
    last = sent
    return isStill && sent > 0
  })
  t.ok(sent < size / 2, `${sent >> 20} MiB are on their way to one who reads none of them`)
})

t.test(
  'a client that disconnects ends its upload, an upstream that disconnects does not end the client',
  async t => {
    const upstream = await startRecorder(t)
    const bed = await startProxy(t, { upstream: upstreamAt(upstream.url) })
    const head =
      'POST /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc'
    const first = connect(bed.port, '127.0.0.1', () => first.write(head))
    await until(() => upstream.text().endsWith('abc'))
    first.destroy()
    await until(() => upstream.sockets[0]!.destroyed)
    t.ok(upstream.sockets[0]!.destroyed)
    const second = connect(bed.port, '127.0.0.1', () => second.write(head))
    let text = ''
    second.on('data', part => (text += part.toString()))
    await until(() => upstream.sockets.length === 2)
    upstream.sockets[1]!.resetAndDestroy()
    await until(() => text.includes('"code":503'))
    t.match(text, /^HTTP\/1\.1 503 /)
    text = ''
    second.write(`${'x'.repeat(97)}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`)
    await until(() => upstream.sockets.length === 3)
    t.equal(upstream.sockets.length, 3, 'what was left of the body is nobody’s request')
    second.destroy()
  },
)

t.test('FW20: no header can make a body look like another request', async t => {
  const upstream = await startRecorder(t)
  const bed = await startProxy(t, { upstream: upstreamAt(upstream.url) })
  const inner = 'DELETE /api/v1/nodes/n1 HTTP/1.1\r\nHost: a\r\n\r\nlast'
  const heads: [what: string, head: string][] = [
    ['a length that the connection takes', `Connection: Content-Length\r\nContent-Length: ${inner.length}`],
    ['chunks that the connection takes', 'Connection: close, transfer-encoding\r\nTransfer-Encoding: chunked'],
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${inner.length}`],
    ['two lengths in one', `Content-Length: 0, ${inner.length}`],
    ['a length and chunks', `Content-Length: ${inner.length}\r\nTransfer-Encoding: chunked`],
    ['chunks that are none', `Transfer-Encoding: xchunked\r\nContent-Length: ${inner.length}`],
    ['a coding inside', 'Transfer-Encoding: gzip, chunked'],
    ['a signed length', `Content-Length: +${inner.length}`],
  ] // prettier-ignore
  for (const method of ['GET', 'POST', 'DELETE'])
    for (const [what, head] of heads) {
      const got = await sendRaw(
        bed.port,
        `${method} /version HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n${inner}`,
        '\r\n\r\n',
      )
      t.match(got, /^HTTP\/1\.1 400 /, `${method} with ${what}`)
    }
  t.notMatch(upstream.text(), /DELETE \/api/, 'no second request came through')
  const websocket = await sendRaw(
    bed.port,
    `GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, Content-Length\r\nUpgrade: websocket\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  )
  t.match(websocket, /^HTTP\/1\.1 400 .*Status/s)
  const body = await sendRaw(
    bed.port,
    `POST /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  )
  t.match(body, /^HTTP\/1\.1 400 .*an upgrade must have no body/s)
  t.equal(upstream.text(), '', 'nothing came through')
})

const startListener = async (t: Test, url: string, isTls: boolean) => {
  const log = recordingLog()
  const proxy = new Proxy(
    { maxEvents: 3, maxBytes: 100_000 },
    {
      ...{ clock: systemClock, random: systemRandom, log },
      ...{ upstream: upstreamAt(url), recordOf: () => undefined, isCut: () => false },
    },
  )
  const { key, cert } = await certificateFor('127.0.0.1')
  const handled: string[] = []
  const listener = await openForClients(
    { host: '127.0.0.1', port: 0 },
    {
      handle: (request, response) => {
        handled.push(request.url!)
        proxy.handle(request, response)
      },
      upgrade: proxy.upgrade,
      tls: isTls ? { ca: cert, key, cert } : undefined,
      sources: ANYBODY,
    },
    { clock: systemClock, random: systemRandom, log, signal: new AbortController().signal },
  )
  t.teardown(async () => {
    await proxy.stop()
    await listener.close()
  })
  return { port: listener.port, handled, proxy, tls: isTls ? { ca: cert, key, cert } : undefined }
}

t.test('FW7: an upgrade to an unsupported protocol is answered over HTTP', async t => {
  const api = await scripted(t)
  for (const isTls of [false, true]) {
    const { port, handled, proxy, tls } = await startListener(t, api.url, isTls)
    const { request } = isTls ? await import('node:https') : http
    const agent = isTls
      ? new (await import('node:https')).Agent({ keepAlive: true, maxSockets: 1, ...tls })
      : new http.Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    for (const upgrade of ['h2c', 'TLS/1.0', 'websockets', 'foo, bar'])
      for (const body of ['', 'some text', 'x'.repeat(100_000)]) {
        api.script(answer({ upgrade }))
        const path = `/api/v1/namespaces/n/pods?for=${upgrade.length}-${body.length}`
        const method = body === '' ? 'GET' : 'POST'
        const headers = {
          ...{ Connection: 'Upgrade, HTTP2-Settings', Upgrade: upgrade, 'HTTP2-Settings': 'AAMAAABk' },
          ...(body === '' ? {} : { 'Content-Length': body.length }),
        }
        const response = await new Promise<IncomingMessage>((resolve, reject) => {
          const sent = request({ host: '127.0.0.1', port, agent, method, path, headers })
          sent.on('response', resolve).on('error', reject).end(body)
        })
        t.equal(response.statusCode, 200, `${upgrade}, ${body.length} bytes`)
        t.equal(await readText(response), JSON.stringify({ upgrade }))
        t.equal(handled.at(-1), path, 'it went the way of all requests')
        const asked = api.asked.at(-1)!
        t.equal(asked.body, body)
        t.strictSame([asked.headers.upgrade, asked.headers['http2-settings']], [undefined, undefined])
      }
    t.equal(proxy.counts.upgraded, 0)
  }
}) // prettier-ignore

t.test('FW7: a web page that uses DNS rebinding is refused', async t => {
  const api = await scripted(t)
  const { port, handled } = await startListener(t, api.url, false)
  const head = 'GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'
  t.match(await sendRaw(port, head, '\r\n\r\n'), /^HTTP\/1\.1 403 /)
  t.strictSame(handled, [])
})

t.test('FW5: buffered bodies are limited in size and time', async t => {
  const api = await scripted(t)
  const clock = new FakeClock()
  const bed = await startProxy(t, { clock, upstream: upstreamAt(api.url) })
  const paths = ['/api/v1/namespaces/n/events', '/api/v1/namespaces/n/services/s']
  const size = 3 << 20
  const texts = Array.from({ length: 40 }, () => '')
  const ends: boolean[] = []
  for (let i = 0; i < 40; i++) {
    const socket = connect(bed.port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('close', () => (ends[i] = true))
    socket.on('data', part => (texts[i] = `${texts[i]}${part.toString()}`))
    const method = i % 2 === 0 ? 'POST' : 'PUT'
    socket.write(`${method} ${paths[i % 2]} HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`)
    socket.write(Buffer.alloc(size - 1))
    await new Promise(resolve => setImmediate(resolve))
  }
  await until(() => texts.filter(text => text !== '').length >= 36)
  const refused = texts.filter(text => /^HTTP\/1\.1 429 [^]*"reason":"TooManyRequests"/.test(text))
  t.ok(refused.length >= 36, `${refused.length} of 40 are refused`)
  t.ok(bed.proxy.bodies.bytes <= 12 << 20, `${bed.proxy.bodies.bytes} bytes are held`)
  await clock.advance(30_000)
  await until(() => bed.proxy.bodies.bytes === 0)
  t.equal(bed.proxy.bodies.bytes, 0, 'who does not go on is cut')
  const areCut = (): boolean => texts.every((text, i) => text !== '' || ends[i] === true)
  await until(areCut)
  t.ok(areCut(), 'without a word')
  api.script(answer({}))
  const whole = await call(bed, paths[1]!, { method: 'PUT' }, Buffer.alloc(size))
  t.equal(whole.status, 200, 'and there is room again')
  t.equal(bed.proxy.bodies.bytes, 0)
})

t.test('one who holds all the room for bodies gives way to whoever holds less', async t => {
  const api = await scripted(t)
  const sources = byAddress(address => address === '127.0.0.1')
  const bed = await startProxy(t, { upstream: upstreamAt(api.url), sources })
  const path = '/api/v1/namespaces/n/services/s'
  const size = 3 << 20
  let refused = 0
  let cut = 0
  // One after the other: each of the first three is held whole, and the fourth finds no room.
  for (const isRefused of [0, 0, 0, 1]) {
    const socket = connect({ port: bed.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    if (isRefused === 0) socket.on('close', () => cut++)
    socket.once('data', () => refused++)
    socket.write(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`)
    socket.write(Buffer.alloc(size - 1))
    const before = bed.proxy.bodies.bytes
    const held = before + (isRefused ? 0 : size - 1)
    await until(() => refused === isRefused && bed.proxy.bodies.bytes === held)
    t.strictSame([refused, bed.proxy.bodies.bytes], [isRefused, held])
  }
  for (const localAddress of ['127.0.0.1', '127.0.0.3']) {
    api.script(answer({}))
    const got = await call(bed, path, { method: 'PUT', localAddress }, Buffer.alloc(size))
    t.equal(got.status, 200, `the write from ${localAddress} is passed on`)
  }
  // That a connection is reset reaches its client on its own.
  await until(() => cut > 0)
  t.ok(cut > 0, 'in its place another one is cut off')
})

const notCutOff = async (t: Test, sources: Sources): Promise<void> => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url), sources })
  const path = '/api/v1/namespaces/n/services/s'
  const body = Buffer.alloc(3 << 20)
  const answers = Array.from({ length: 3 }, () => ({ kind: 'stream' }) as const)
  api.script(...answers)
  const writes = answers.map(() => call(bed, path, { method: 'PUT' }, body))
  // Their answers have begun, and do not end yet.
  await until(() => api.asked.length === 3)
  const other = { method: 'PUT', localAddress: '127.0.0.2' }
  t.equal((await call(bed, path, other, body)).status, 429)
  for (const asked of api.asked) asked.end()
  for (const { status } of await Promise.all(writes)) t.equal(status, 200)
}

t.test('a write of a member is not cut off for one of a stranger', t =>
  notCutOff(
    t,
    byAddress(address => address === '127.0.0.1'),
  ),
)

t.test('nor one over a connection whose user is not known at once', t => {
  const seen = new Set<number>()
  return notCutOff(t, {
    keyOf: ({ address, port }) => {
      if (address.endsWith('127.0.0.2') || seen.has(port)) return `user of ${address}`
      seen.add(port)
      return undefined
    },
    isMember: key => key.endsWith('127.0.0.1'),
  })
})

t.test('FW20: headers of an answer pass up to 64 KiB', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  api.script(answer({}, { headers: { 'x-long': 'x'.repeat(60 << 10) } }))
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const given = {
      port: bed.port,
      path: '/version',
      agent: false,
      maxHeaderSize: 1 << 20,
    } as const
    http.request(given).on('response', resolve).on('error', reject).end()
  })
  await readText(response)
  t.equal(response.headers['x-long']?.length, 60 << 10)
})
