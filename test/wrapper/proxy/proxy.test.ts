// SPDX-License-Identifier: Apache-2.0
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import http, { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import t from 'tap'
import { systemClock } from '../../../core/clock.js'
import { makeCredentials } from '../../../kube/client/credentials.js'
import { byAddress } from '../../../net/sources.js'
import { certificateFor } from '../../../testkit/certificates.js'
import {
  call,
  openCall,
  readText,
  upstreamAt,
  scripted,
  startProxy,
  until,
  type Got,
} from '../proxy-bed.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { serveUntilEnd } from '../../../testkit/http/serve-until-end.js'
import { answer, type ScriptedServer } from '../../../testkit/http/scripted-server.js'

t.test("no credential of ours is lent: who comes without one is nobody's", async t => {
  const { key, cert } = await certificateFor('127.0.0.1')
  const api = await scripted(t, {
    key,
    cert,
    ca: cert,
    requestCert: true,
    rejectUnauthorized: false,
  })
  const folder = t.testdir()
  writeFileSync(join(folder, 'ca.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  const kubeconfig = join(folder, 'kubeconfig')
  const config = (user: object): void =>
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server: api.url, 'certificate-authority': 'ca.pem' } }],
        users: [{ name: 'u', user }],
      }),
    )
  const certificate = { 'client-certificate': 'ca.pem', 'client-key': 'key.pem' }
  const secrets: [what: string, user: object][] = [
    ['token', { token: 'our-own-secret', ...certificate }],
    ['password', { username: 'us', password: 'our-own-secret', ...certificate }],
    ['impersonation', { token: 'our-own-secret', as: 'our-own-secret' }],
  ]
  for (const [what, user] of secrets) {
    config(user)
    const seams = { clock: systemClock, log: recordingLog() }
    const credentials = makeCredentials({ kubeconfig, environment: {} }, seams)
    const ours = await credentials.material()
    t.match(JSON.stringify(ours.headers), /our-own-secret|Basic /, `${what}: we have one`)
    const bed = await startProxy(t, { upstream: () => credentials.anonymous() })
    api.script(answer({}), answer({}))
    t.equal((await call(bed, '/version')).status, 200)
    const nobody = api.asked.at(-1)!
    t.equal(nobody.client, undefined, `${what}: no certificate`)
    t.notMatch(JSON.stringify(nobody.headers), /our-own|Basic|impersonate|authorization/i, what)
    await call(bed, '/version', { headers: { Authorization: "Bearer the-caller's" } })
    t.equal(api.asked.at(-1)!.headers.authorization, "Bearer the-caller's", what)
    t.equal(api.asked.at(-1)!.client, undefined)
  }
})

t.test('a response is passed on unchanged and as it arrives', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(`${api.url}/base`) })
  api.script({ kind: 'stream', lines: [{ type: 'ADDED' }], then: 'open' })
  const response = await openCall(bed, '/api/v1/pods?watch=true&x=%2F', {
    headers: { Accept: 'application/json;as=Table', 'X-Hop': '1', Connection: 'close, X-Hop' },
  })
  const asked = await api.request(0)
  t.equal(asked.path, '/base/api/v1/pods')
  t.equal(asked.query.get('x'), '/')
  t.equal(asked.headers.host, `127.0.0.1:${api.port}`)
  t.match(asked.headers, { accept: 'application/json;as=Table' })
  t.equal(asked.headers['x-hop'], undefined)
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  t.equal(String((await chunks.next()).value), '{"type":"ADDED"}\n')
  asked.line({ type: 'MODIFIED' })
  t.equal(String((await chunks.next()).value), '{"type":"MODIFIED"}\n', 'before its end')
  response.destroy()
  await asked.gone
  t.pass('a client that leaves takes its request along')
})

t.test('a truncated response is passed on truncated', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  api.script({ kind: 'stream', lines: ['half'], then: 'reset' })
  await t.rejects(call(bed, '/api/v1/pods'), /aborted|hang up|reset/i)
})

t.test('a body is streamed unless it must be read', async t => {
  const parts: string[] = []
  const api = createServer((request, response) => {
    request.on('data', (part: Buffer) => parts.push(part.toString()))
    request.on('end', () => response.end(request.headers['transfer-encoding']))
  })
  await new Promise<void>(resolve => api.listen(0, '127.0.0.1', resolve))
  t.teardown(() => api.close())
  const bed = await startProxy(t, { upstream: upstreamAt(`http://127.0.0.1:${(api.address() as AddressInfo).port}`) }) // prettier-ignore
  const path = '/api/v1/namespaces/n/services/s/proxy/upload'
  const request = http.request({ port: bed.port, method: 'POST', path, agent: false })
  const answered = new Promise<IncomingMessage>(resolve => request.on('response', resolve))
  request.write('one')
  await until(() => parts.length === 1)
  t.strictSame(parts, ['one'], 'before its end')
  request.end('two')
  t.equal(await readText(await answered), 'chunked')
  t.equal(parts.join(''), 'onetwo')
})

t.test('a dead kept-alive connection is no failure to a reader', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'POST', 'PATCH']) {
    api.script(answer({ n: 0 }))
    await call(bed, '/version')
    api.resetAll()
    api.script(answer({ method }))
    const body = ['GET', 'HEAD', 'OPTIONS'].includes(method) ? undefined : '{}'
    t.equal((await call(bed, '/api/v1/x', { method }, body)).status, 200, method)
  }
  t.strictSame(
    api.asked.filter(({ path }) => path === '/api/v1/x').map(({ method }) => method),
    ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'POST', 'PATCH'],
  )
})

t.test('FW15: a write is sent once, whatever happens to its connection', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  const paths = ['/api/v1/namespaces/n/services/s', '/api/v1/namespaces/n/pods/p']
  for (const path of paths)
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH'])
      for (const body of ['{}', undefined]) {
        // A connection is kept from before. The apiserver carries the write out, and then its answer is lost.
        api.script(answer({ n: 0 }))
        await call(bed, '/version')
        const before = api.asked.length
        api.script({ kind: 'reset' }, answer({}, { status: 409 }))
        const got = await call(bed, path, { method }, body)
        t.equal(got.status, 503, `${method} ${path}`)
        t.equal(api.asked.length, before + 1, 'once')
        t.equal((await call(bed, '/next')).status, 409, 'what a second one would be told')
      }
})

t.test('connections are kept alive', async t => {
  const api = await scripted(t)
  const bed = await startProxy(t, { upstream: upstreamAt(api.url) })
  for (let i = 0; i < 5; i++) {
    api.script(answer({}))
    await call(bed, '/version')
  }
  t.equal(api.connections, 1)
})

t.test('without the cloud: 503 with a Status, at once', async t => {
  const bed = await startProxy(t, { upstream: upstreamAt('http://127.0.0.1:1'), isCut: () => true })
  for (const [method, body] of [['GET', undefined], ['POST', '{}'], ['DELETE', undefined]] as const) {
    const got = await call(bed, '/api/v1/namespaces/n/pods', { method }, body)
    t.equal(got.status, 503, method)
    t.equal(got.headers['retry-after'], undefined, 'client-go would wait for each of ten tries')
    t.match(JSON.parse(got.text), {
      ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 503 },
      reason: 'ServiceUnavailable',
      message: /cannot be reached from this node: .*ECONNREFUSED/,
    })
  } // prettier-ignore
  t.equal(bed.proxy.counts.unreachable, 3)
  const silent = await scripted(t)
  const cut = await startProxy(t, { upstream: upstreamAt(silent.url), isCut: () => true })
  const before = performance.now()
  t.match(await call(cut, '/version'), { status: 503, text: /no answer within 5000 ms/ })
  t.ok(performance.now() - before < 8_000)
})

const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'

t.test('Events wait for the cloud, and are sent in order for their own callers', async t => {
  let url = 'http://127.0.0.1:1'
  const sources = byAddress(() => true)
  const bed = await startProxy(t, { upstream: () => upstreamAt(url)(), isCut: () => true, sources })
  const type = 'application/vnd.kubernetes.protobuf'
  const bodies = ['k8s\0one', 'k8s\0two', 'k8s\0three', 'k8s\0four']
  const send = (body: string, i: number, localAddress = '127.0.0.1'): Promise<Got> =>
    call(
      bed,
      EVENTS,
      {
        ...{ method: 'POST', localAddress },
        headers: { 'Content-Type': type, Authorization: `Bearer caller-${i}`, 'User-Agent': 'kp' },
      },
      body,
    )
  for (const [i, body] of bodies.slice(0, 3).entries()) {
    const got = await send(body, i)
    t.equal(got.status, 201)
    t.equal(got.headers['content-type'], type, 'client-go decodes what it sent')
    t.equal(got.text, body)
  }
  t.match(await send(bodies[3]!, 3), { status: 503, text: /no room for more events/ })
  t.match(bed.proxy.events, { length: 3, counts: { accepted: 3, dropped: 1 } })
  t.equal(
    (await send('of another', 9, '127.0.0.2')).status,
    201,
    'there is room for another source',
  )
  const api: ScriptedServer = await scripted(t)
  const created = answer({}, { status: 201 })
  api.script(created, created, answer({}, { status: 401 }), answer({}, { status: 409 }))
  url = api.url
  bed.proxy.online()
  await until(() => bed.proxy.events.length === 0)
  const sent = api.asked.map(({ body, headers: { authorization, 'content-type': as } }) => [
    ...[body, authorization, as],
  ])
  t.strictSame(
    sent.filter(([body]) => body !== 'of another'),
    bodies.slice(0, 3).map((body, i) => [body, `Bearer caller-${i}`, type]),
  )
  t.strictSame(sent[1], ['of another', 'Bearer caller-9', type], 'sources take turns')
  t.match(api.asked[0]!.headers, { 'user-agent': 'kp', host: `127.0.0.1:${api.port}` })
  t.match(bed.proxy.events.counts, { sent: 3, refused: 1 })
  api.script(created)
  t.equal((await send('k8s\0five', 5)).text, '{}', 'with the cloud there it is told at once')
  t.notMatch(JSON.stringify(bed.log.lines), /caller-/)
})

t.test('an Event does not wait when its client has left', async t => {
  const bed = await startProxy(t, { upstream: upstreamAt('http://127.0.0.1:1'), isCut: () => true })
  for (const before of [0, 1]) {
    const socket = connect(bed.port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.end(`POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}`)
    await once(socket.resume(), 'close')
    await until(() => bed.proxy.counts.unreachable === before + 1)
  }
  t.match(bed.proxy.events, { length: 0, counts: { accepted: 0 } })
})

t.test('FW10: object names that look like parts of a path', async t => {
  let url = 'http://127.0.0.1:1'
  const bed = await startProxy(t, { upstream: () => upstreamAt(url)(), isCut: () => true })
  const bodies = ['proxy', 'log', 'exec'].map(namespace => JSON.stringify({ in: namespace }))
  for (const [i, namespace] of ['proxy', 'log', 'exec'].entries()) {
    const path = `/api/v1/namespaces/${namespace}/events`
    const got = await call(bed, path, { method: 'POST' }, bodies[i])
    t.match(got, { status: 201, text: bodies[i] }, namespace)
  }
  const api = await scripted(t)
  api.script(...bodies.map(() => answer({}, { status: 201 })))
  url = api.url
  bed.proxy.online()
  await until(() => bed.proxy.events.length === 0)
  t.strictSame(
    api.asked.map(({ body }) => body),
    bodies,
  )
})

t.test('a client that leaves before its upgrade is sent leaves no session behind', async t => {
  const api = createServer()
  let open = 0
  api.on('upgrade', (_request, socket) => {
    open++
    socket.on('close', () => open--).on('error', () => undefined)
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n',
    )
    t.teardown(() => socket.destroy())
  })
  api.on('request', (_request, response) => response.end())
  const url = `http://127.0.0.1:${await serveUntilEnd(t, api)}`
  let read: () => void = () => undefined
  const files = new Promise<void>(resolve => (read = resolve))
  const bed = await startProxy(t, { upstream: () => files.then(upstreamAt(url)) })
  const gone: Promise<unknown>[] = []
  for (let i = 0; i < 3; i++) {
    const socket = connect(bed.port, '127.0.0.1')
    socket.write(
      'GET /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
    )
    await until(() => bed.proxy.counts.upgraded > i)
    gone.push(new Promise(resolve => socket.on('close', resolve)))
    socket.resetAndDestroy()
  }
  await Promise.all(gone)
  await until(() => bed.connections() === 0)
  read()
  t.equal((await call(bed, '/version')).status, 200)
  await until(() => open === 0)
  t.equal(open, 0)
})

t.test('an upgrade is passed on in both directions', async t => {
  const api = createServer()
  const seen: http.IncomingHttpHeaders[] = []
  const sockets: Duplex[] = []
  api.on('upgrade', (request, socket, head: Buffer) => {
    seen.push(request.headers)
    sockets.push(socket)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream: v4\r\n\r\n') // prettier-ignore
    socket.write(head)
    socket.on('data', (part: Buffer) => socket.write(part.toString().toUpperCase()))
    socket.on('error', () => undefined)
  })
  api.on('request', (_request, response) => response.writeHead(403).end('no exec for you'))
  const url = `http://127.0.0.1:${await serveUntilEnd(t, api)}`
  const bed = await startProxy(t, { upstream: upstreamAt(url) })
  const raw = connect(bed.port, '127.0.0.1')
  let text = ''
  raw.on('data', (part: Buffer) => (text += part.toString()))
  raw.write(
    'POST /api/v1/namespaces/n/pods/p/exec HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer caller\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
  )
  await until(() => text.includes('\r\n\r\n'))
  t.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  t.match(text, /X-Stream: v4/)
  t.match(seen[0], { upgrade: 'SPDY/3.1', connection: 'Upgrade', authorization: 'Bearer caller' })
  raw.write('hello')
  await until(() => text.endsWith('HELLO'))
  t.ok(text.endsWith('HELLO'))
  const closed = new Promise(resolve => raw.once('close', resolve))
  sockets[0]!.destroy()
  await closed
  t.pass('ends when either side ends')

  api.removeAllListeners('upgrade')
  const refused = await call(bed, '/api/v1/namespaces/n/pods/p/exec', {
    method: 'POST',
    headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1' },
  })
  t.match(refused, { status: 403, text: 'no exec for you' })
  const away = await startProxy(t, { upstream: upstreamAt('http://127.0.0.1:1') })
  const nobody = await call(away, '/api/v1/namespaces/n/pods/p/exec', {
    headers: { Connection: 'Upgrade', Upgrade: 'websocket' },
  })
  t.equal(nobody.status, 503)
  t.match(JSON.parse(nobody.text), { kind: 'Status', reason: 'ServiceUnavailable' })
})

t.test('an unknown upstream is an error', async t => {
  mkdirSync(join(t.testdir(), 'empty'))
  const bed = await startProxy(t, {
    upstream: () => Promise.reject(new Error('kubeconfig x: broken')),
  })
  t.match(await call(bed, '/version'), { status: 503, text: /kubeconfig x: broken/ })
})
