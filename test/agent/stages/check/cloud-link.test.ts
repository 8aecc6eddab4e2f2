// SPDX-License-Identifier: Apache-2.0
// What counts as the apiserver's answer, and what as the word of something on the way to it; on real sockets.
import net, { type AddressInfo, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { makeKubeApi } from '../../../../agent/adapters/kube-api.js'
import { makeLeaseCheck } from '../../../../agent/stages/check/cloud-check.js'
import { makeApiCheck } from '../../../../agent/stages/check/cloud-link.js'
import { KubeStatusError } from '../../../../core/errors.js'
import { parseNodeName } from '../../../../core/ids.js'
import { makeCredentials } from '../../../../kube/client/credentials.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

/** A response as it stands on the wire. */
type Raw = string | Buffer

const raw = (status: string, body: Raw, headers: readonly string[] = []): Buffer => {
  const bytes = Buffer.from(body)
  const head = [`HTTP/1.1 ${status}`, `content-length: ${bytes.length}`, ...headers]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes])
}

const HTML = 'content-type: text/html'
const JSON_TYPE = 'content-type: application/json'
const PAGE = '<html><body>Log in to this network</body></html>'

const page = (status: string, body: Raw = PAGE): Buffer => raw(status, body, [HTML])

/** As kube-apiserver 1.36 writes it. */
const statusBody = (code: number, reason: string): string =>
  JSON.stringify({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
    ...{ message: `scripted ${code}`, reason, code },
  })

const status = (code: number, phrase: string): Buffer =>
  raw(`${code} ${phrase}`, statusBody(code, phrase.replaceAll(' ', '')), [JSON_TYPE])

const OK = raw('200 OK', 'ok', ['content-type: text/plain; charset=utf-8'])
/** Its one refusal without a Status. */
const TOO_MANY = raw('429 Too Many Requests', 'Too many requests, please try again later.\n', [
  'content-type: text/plain; charset=utf-8',
  'retry-after: 1',
])
const LEASE = raw(
  '200 OK',
  JSON.stringify({ kind: 'Lease', metadata: { name: 'n1', resourceVersion: '7' }, spec: {} }),
  [JSON_TYPE],
)

const SLOW_MS = 1_500

/** An API that gives each path one answer; undefined hangs. Returns its address and the paths that were asked. */
const startRaw = async (t: Test, answerTo: (path: string) => Raw | undefined) => {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const server = net.createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', chunk => {
      const [, path = ''] = /^GET (\S+) /.exec(chunk.toString('latin1')) ?? []
      asked.push(path === '/livez' ? 'livez' : 'Lease')
      const answer = answerTo(path)
      if (answer !== undefined) socket.write(answer)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    const closed = new Promise(resolve => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, asked, sockets }
}

/** The check of an agent whose API answers like this. */
const startCheck = async (t: Test, livez: Raw | undefined, lease: Raw | undefined) => {
  const server = await startRaw(t, path => (path === '/livez' ? livez : lease))
  const clock = new FakeClock()
  const seams = { clock, log: recordingLog(), random: seededRandom(1) }
  const credentials = makeCredentials({ masterUrl: server.url, environment: {} }, seams)
  const api = makeKubeApi(credentials, seams)
  t.teardown(() => api.close())
  const kube = {
    getLease: (name: string, signal: AbortSignal) => api.getLease(name, signal),
    tryRenewal: (name: string, signal: AbortSignal) => api.tryRenewal(name, signal),
    // What has another address is no cache on the node.
    server: async () => new URL('https://10.96.0.1'),
  }
  const check = makeApiCheck({
    ...{ clock, slowMs: SLOW_MS },
    ping: signal => api.ping(signal),
    askLease: makeLeaseCheck(kube, { nodeName: parseNodeName('n1') }),
    reconnect: () => api.reconnect(),
  })
  const { signal } = new AbortController()
  return { ...server, clock, check: () => check(signal) }
}

t.test('what the apiserver itself says to /livez is a sign of life', async t => {
  const rows: readonly (readonly [what: string, livez: Raw, asked?: readonly string[]])[] = [
    ['ok', OK],
    ['ok with a line end', raw('200 OK', 'ok\n')],
    ['ok, compressed on the way', raw('200 OK', gzipSync('ok'), ['content-encoding: gzip'])],
    ['ok in chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['hints first', Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'), OK])],
    // Asked again with credentials.
    ['401 with a Status', status(401, 'Unauthorized'), ['livez', 'livez']],
    ['403 with a Status', status(403, 'Forbidden'), ['livez', 'livez']],
    ['404 with a Status', status(404, 'Not Found')],
    // Nothing tells such a one from an apiserver.
    ['ok by a portal', page('200 OK', 'ok')],
  ]
  for (const [what, livez, asked = ['livez']] of rows) {
    const cloud = await startCheck(t, livez, page('500 no'))
    await t.resolves(cloud.check(), what)
    t.strictSame(cloud.asked, asked, `${what}: nothing else is asked`)
  }
})

t.test('what another one says leads to the own Lease', async t => {
  const rows: readonly (readonly [what: string, livez: Raw])[] = [
    ['a portal', page('200 OK')],
    ['an empty page', page('200 OK', '')],
    ['ok and more', page('200 OK', 'ok, now log in')],
    ['ok in other words', raw('200 OK', '{"status":"ok"}', [JSON_TYPE])],
    ['a Status that is none', raw('200 OK', '{"kind":"Status","code":403}', [JSON_TYPE])],
    ['created', raw('201 Created', 'ok')],
    ['nothing', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['a page from a store', raw('304 Not Modified', '')],
    ['a redirect', raw('302 Found', '', ['location: https://portal.example/'])],
    ['a redirect for ever', raw('301 Moved', PAGE, ['location: https://portal.example/', HTML])],
    ['a redirect with a Status', raw('302 Found', statusBody(403, 'Forbidden'), [JSON_TYPE])],
    ...['400 Bad', '401 Log in', '403 No', '404 Gone', '407 Proxy', '429 Slow', '451 Law'].map(
      code => [`the page ${code}`, page(code)] as const,
    ),
    ['the API of another', raw('403 Forbidden', '{"error":"forbidden"}', [JSON_TYPE])],
    ['no text', raw('403 Forbidden', Buffer.from([0xff, 0xfe, 0x00]), [JSON_TYPE])],
    ['unwell', raw('500 Internal Server Error', '[+]ping ok\n[-]etcd failed\n')],
    ['unwell, in JSON', status(503, 'Service Unavailable')],
    ['a proxy without a backend', page('502 Bad Gateway')],
    ['a portal that says so', page('511 Network Authentication Required')],
  ]
  for (const [what, livez] of rows) {
    const served = await startCheck(t, livez, LEASE)
    await t.resolves(served.check(), `${what}: the Lease is served all the same`)
    t.equal(served.asked.at(-1), 'Lease', what)
    const cut = await startCheck(t, livez, livez)
    await t.rejects(cut.check(), KubeStatusError, `${what}: and to the Lease too`)
    t.equal(cut.asked.at(-1), 'Lease', what)
  }
})

t.test('the Lease is read where the API gives it, or refuses it itself', async t => {
  const unwell = raw('500 Internal Server Error', 'not ok')
  const rows: readonly (readonly [what: string, lease: Raw, served: boolean])[] = [
    ['a Lease', LEASE, true],
    ['not for this account', status(403, 'Forbidden'), true],
    ['no such Lease', status(404, 'Not Found'), true],
    ['too many requests', status(429, 'Too Many Requests'), true],
    ['too many requests, in plain words', TOO_MANY, true],
    ['unwell', status(500, 'Internal Server Error'), false],
    ['a portal', page('200 OK'), false],
    ['another API', raw('200 OK', '{"metadata":{"name":"n1"}}', [JSON_TYPE]), false],
    ["a cache that has none, as SuperEdge's", raw('404 Not Found', 'dial tcp: refused'), false],
    ['a page', page('403 Forbidden'), false],
    ['a proxy that wants a password', page('407 Proxy Authentication Required'), false],
    ['a limit on the way', page('429 Too Many Requests'), false],
    ['a redirect', raw('302 Found', '', ['location: /login']), false],
  ]
  for (const [what, lease, served] of rows) {
    const { check } = await startCheck(t, unwell, lease)
    if (served) await t.resolves(check(), what)
    else await t.rejects(check(), /livez: 500 Internal Server Error: not alive/, what)
  }
})

t.test('that there are too many requests leads to the own Lease, which decides', async t => {
  for (const [what, livez] of [
    ['with a Status', status(429, 'Too Many Requests')],
    ['without', TOO_MANY],
  ] as const) {
    for (const lease of [LEASE, livez]) {
      const cloud = await startCheck(t, livez, lease)
      await t.resolves(cloud.check(), what)
      t.strictSame(cloud.asked, ['livez', 'Lease'], what)
    }
    const cut = await startCheck(t, livez, page('500 no'))
    await t.rejects(cut.check(), KubeStatusError, what)
  }
})

t.test('what has no end is no sign of life', async t => {
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  const rows: readonly (readonly [what: string, livez: Raw | undefined])[] = [
    ['silence', undefined],
    ['hints alone', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)],
    ['a body that drips', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no'],
    ['chunks without a last one', `${chunked}2\r\nok\r\n`],
    ['headers without an end', 'HTTP/1.1 200 OK\r\nx: '],
  ]
  for (const [what, livez] of rows) {
    const { check, asked, clock, sockets } = await startCheck(t, livez, livez)
    const checked = t.rejects(check(), { code: 'KUBE_UNREACHABLE' }, what)
    while (asked.length === 0) await new Promise(setImmediate)
    await clock.advance(SLOW_MS)
    while (asked.length === 1) await new Promise(setImmediate)
    await clock.advance(15_000)
    await checked
    t.strictSame(asked, ['livez', 'Lease'], what)
    for (const socket of sockets) await new Promise(resolve => socket.once('close', resolve))
    t.equal(sockets.size, 0, `${what}: its connections are closed`)
    const served = await startCheck(t, livez, LEASE)
    const isUp = t.resolves(served.check(), `${what}, and the Lease is served`)
    while (served.asked.length === 0) await new Promise(setImmediate)
    t.strictSame(served.asked, ['livez'], 'which is asked for when /livez is slow')
    await served.clock.advance(SLOW_MS)
    await isUp
    while (served.sockets.size > 1) await new Promise(setImmediate)
    t.equal(
      served.sockets.size,
      1,
      `${what}: /livez is given up, the connection of the Lease is kept`,
    )
  }
})

t.test('what cannot be read is no sign of life', async t => {
  const rows: readonly (readonly [what: string, livez: Raw])[] = [
    ['a page without bounds', page('200 OK', Buffer.alloc(1 << 20, 32))],
    ['ok, then a page without bounds', page('200 OK', `ok${' '.repeat(1 << 17)}`)],
    ['a page that grows when it is inflated', raw('200 OK', gzipSync(Buffer.alloc(1 << 24)), ['content-encoding: gzip'])], // prettier-ignore
    ['what is not compressed as it says', raw('200 OK', 'ok', ['content-encoding: gzip'])],
    ['no HTTP', 'SSH-2.0-portal\r\n'],
  ]
  for (const [what, livez] of rows) {
    const { check, asked } = await startCheck(t, livez, livez)
    await t.rejects(check(), { code: 'KUBE_UNREACHABLE' }, what)
    t.strictSame(asked, ['livez', 'Lease'], what)
    const served = await startCheck(t, livez, LEASE)
    await t.resolves(served.check(), `${what}, and the Lease is served`)
  }
})
