// SPDX-License-Identifier: Apache-2.0
// The network adapters of the check stage, on real loopback sockets, and the plugins on top of them.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from 'node:net'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeHttpGet } from '../../../agent/adapters/http-get.js'
import { makeLoopLag } from '../../../agent/adapters/loop-lag.js'
import { netDial } from '../../../agent/adapters/net-dial.js'
import type { CheckPlugin, ProbeResult } from '../../../core/check.js'
import { systemClock, withTimeout, type Clock } from '../../../core/clock.js'
import type { HttpGet, HttpRequest } from '../../../core/dial.js'
import { parseNodeName } from '../../../core/ids.js'
import { makePlugins, parsePluginSpec } from '../../../plugins/registry.js'
import { keepaliveTimers } from '../../../testkit/http/tcp-timers.js'
import { certificateFor, type ServerCertificate } from '../../../testkit/certificates.js'

const onLinux = process.platform === 'linux' ? {} : { skip: 'Linux alone tells its timers' }
const never = (): AbortSignal => new AbortController().signal

const listen = async (t: Test, server: Server, host = '127.0.0.1'): Promise<number> => {
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  t.teardown(() => new Promise(resolve => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

/** Counts what comes in and keeps nothing open past the test. */
const track = (t: Test, server: Server): Set<Socket> => {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => open.delete(socket))
  })
  t.teardown(() => {
    for (const socket of open) socket.destroy()
  })
  return open
}

const serve = async (t: Test, listener: RequestListener, tls?: ServerCertificate) => {
  const server = tls === undefined ? createHttp(listener) : createHttps(tls, listener)
  let connections = 0
  server.on('connection', () => connections++)
  const port = await listen(t, server)
  const open = track(t, server)
  return { port, open, server, connections: () => connections }
}

const getter = (t: Test): HttpGet => {
  const http = makeHttpGet(systemClock)
  t.teardown(() => http.close())
  return http
}

const ask = (http: HttpGet, url: string, more: Partial<HttpRequest> = {}) =>
  http.get({ url, reuse: false, signal: never(), ...more })

const until = async (what: () => boolean): Promise<void> => {
  for (let i = 0; i < 3_000 && !what(); i++) await new Promise(resolve => setTimeout(resolve, 5))
}

const openSockets = (): number =>
  process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length

t.test('dial: 200 connections leave no socket behind', async t => {
  const server = createTcp()
  const open = track(t, server)
  const port = await listen(t, server)
  const before = openSockets()
  for (let i = 0; i < 200; i += 20)
    await Promise.all(Array.from({ length: 20 }, () => netDial.connect('127.0.0.1', port, never())))
  await until(() => open.size === 0)
  t.equal(open.size, 0, 'the server has none left')
  t.ok(openSockets() <= before, 'neither have we')
})

t.test('dial: says how a connection failed', async t => {
  const server = createTcp()
  track(t, server)
  const port = await listen(t, server)
  await t.resolves(netDial.connect('127.0.0.1', port, never()))
  const closed = createTcp()
  await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
  const gone = (closed.address() as AddressInfo).port
  await new Promise(resolve => closed.close(resolve))
  await t.rejects(netDial.connect('127.0.0.1', gone, never()), { code: 'ECONNREFUSED' })
  const reason = new Error('enough')
  await t.rejects(netDial.connect('127.0.0.1', port, AbortSignal.abort(reason)), reason)
})

t.test('dial: a connection that is not there yet is cut with the reason of its signal', async t => {
  const server = createTcp()
  const open = track(t, server)
  const port = await listen(t, server)
  const controller = new AbortController()
  const reason = new Error('time is over')
  const dialling = netDial.connect('127.0.0.1', port, controller.signal)
  controller.abort(reason)
  await t.rejects(dialling, reason)
  await until(() => open.size === 0)
  t.equal(open.size, 0)
})

t.test('get: kept connections are used again, others are not, none is left', async t => {
  const { port, open, connections } = await serve(t, (_request, response) => response.end('ok'))
  const http = getter(t)
  const url = `http://127.0.0.1:${port}/healthz`
  for (let i = 0; i < 50; i++) {
    t.strictSame(await ask(http, url, { reuse: true }), { status: 200 })
    await new Promise(resolve => setImmediate(resolve))
  }
  await until(() => connections() > 0)
  t.equal(connections(), 1, 'fifty requests, one connection')
  for (let i = 0; i < 10; i++) await ask(http, url)
  t.equal(connections(), 11, 'a fresh one each')
  await until(() => open.size === 1)
  t.equal(open.size, 1, 'only the kept one is left')
  http.close()
  await until(() => open.size === 0)
  t.equal(open.size, 0)
})

t.test('FA19: a kept connection to a kubelet sends no keepalive', onLinux, async t => {
  const { port, connections } = await serve(t, (_request, response) => response.end('ok'))
  const http = getter(t)
  for (let i = 0; i < 3; i++) await ask(http, `http://127.0.0.1:${port}/`, { reuse: true })
  t.equal(connections(), 1)
  for (const ms of keepaliveTimers(port)) t.ok(ms > 60_000, 'it is closed before one is due')
  t.equal(keepaliveTimers(port).length, 1)
})

t.test('get: a kept connection that the server has closed is not held against it', async t => {
  const { port, open, connections } = await serve(t, (_request, response) => response.end('ok'))
  const http = getter(t)
  const url = `http://127.0.0.1:${port}/`
  await ask(http, url, { reuse: true })
  await until(() => open.size === 1)
  // Reset without a word, so that our side learns of it only by writing.
  for (const socket of open) socket.prependListener('data', () => socket.resetAndDestroy())
  t.strictSame(await ask(http, url, { reuse: true }), { status: 200 })
  t.equal(connections(), 2)
})

t.test('get: an answer that nobody asked for is taken for no answer', async t => {
  const head = (status: number): string => `HTTP/1.1 ${status} x\r\nContent-Length: 0\r\n\r\n`
  let connections = 0
  const server = createTcp(socket => {
    const nth = ++connections
    socket.once('data', () => {
      socket.write(head(500 + nth))
      if (nth === 1) setTimeout(() => socket.write(head(200)), 50)
    })
  })
  const open = track(t, server)
  const port = await listen(t, server)
  const http = getter(t)
  const url = `http://127.0.0.1:${port}/`
  t.strictSame(await ask(http, url, { reuse: true }), { status: 501 })
  await until(() => open.size === 0)
  t.strictSame(await ask(http, url, { reuse: true }), { status: 502 })
  t.equal(connections, 2)
})

t.test('get: a status counts, however wrong its body is, and ends its connection', async t => {
  const head = 'HTTP/1.1 204 x\r\nContent-Length: 1\r\n\r\n'
  const server = createTcp(socket => {
    socket.once('data', request => {
      const isSplit = String(request).startsWith('GET /split')
      socket.write(isSplit ? head : `${head}more`)
      if (isSplit) setTimeout(() => socket.write('more'), 50)
    })
  })
  const open = track(t, server)
  const port = await listen(t, server)
  const http = getter(t)
  for (const path of ['whole', 'split']) {
    t.strictSame(await ask(http, `http://127.0.0.1:${port}/${path}`, { reuse: true }), {
      status: 204,
    })
    await until(() => open.size === 0)
    t.equal(open.size, 0, path)
  }
})

t.test('get: a kept connection that is closing is not asked', async t => {
  const server = createTcp(socket => {
    socket.on('data', () => socket.write('HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n'))
  })
  const open = track(t, server)
  const port = await listen(t, server)
  const http = getter(t)
  const url = `http://127.0.0.1:${port}/`
  const ours: Socket[] = []
  const note = (message: unknown): void => void ours.push((message as { socket: Socket }).socket)
  subscribe('net.client.socket', note)
  await ask(http, url, { reuse: true })
  unsubscribe('net.client.socket', note)
  const [kept] = ours
  const asking = new Promise(resolve =>
    kept!.once('data', () => resolve(ask(http, url, { reuse: true }))),
  )
  for (const socket of open) socket.write('what nobody asked for')
  t.strictSame(await asking, { status: 200 })
  t.equal(kept!.destroyed, true)
})

t.test('get: nothing is asked anew once it was closed, and nothing left open', async t => {
  let asked = 0
  const { port, open, connections } = await serve(t, (_request, response) => {
    if (++asked === 1) response.end()
  })
  const http = getter(t)
  const url = `http://127.0.0.1:${port}/`
  await ask(http, url, { reuse: true })
  const asking = ask(http, url, { reuse: true })
  await until(() => asked === 2)
  http.close()
  await t.rejects(asking, /its client was closed/)
  await t.rejects(ask(http, url), /its client was closed/)
  await until(() => open.size === 0)
  t.equal(open.size, 0)
  t.equal(connections(), 1)
})

t.test('get: a header that would break out of its line opens no connection', async t => {
  const { port, connections } = await serve(t, (_request, response) => response.end())
  const http = getter(t)
  const url = `http://127.0.0.1:${port}/`
  const headers = { authorization: 'Bearer x\r\nHost: y' }
  await t.rejects(ask(http, url, { headers }), { code: 'ERR_INVALID_CHAR' })
  t.strictSame(await ask(http, url), { status: 200 })
  t.equal(connections(), 1)
})

t.test('get: any status is an answer, redirects are not followed', async t => {
  let asked = 0
  const { port } = await serve(t, (request, response) => {
    asked++
    const status = Number(request.url?.slice(1))
    response.writeHead(status, { location: '/200' }).end()
  })
  const http = getter(t)
  for (const status of [200, 302, 401, 404, 429, 500, 503])
    t.strictSame(await ask(http, `http://127.0.0.1:${port}/${status}`), { status })
  t.equal(asked, 7)
})

t.test('get: headers are sent, a proxy of the environment is ignored', async t => {
  let proxied = 0
  const proxy = await serve(t, (_request, response) => {
    proxied++
    response.end()
  })
  const { http_proxy: before } = process.env
  process.env['http_proxy'] = `http://127.0.0.1:${proxy.port}`
  t.teardown(() => {
    if (before === undefined) delete process.env['http_proxy']
    else process.env['http_proxy'] = before
  })
  const seen: unknown[] = []
  const { port } = await serve(t, (request, response) => {
    seen.push(request.headers.authorization, request.headers['user-agent'])
    response.end()
  })
  await ask(getter(t), `http://127.0.0.1:${port}/`, { headers: { authorization: 'Bearer x' } })
  t.strictSame(seen, ['Bearer x', undefined], 'and none that says nothing')
  t.equal(proxied, 0)
})

t.test('get: a server that trickles its headers is cut by the deadline', async t => {
  const server = createTcp(socket => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const drip = setInterval(() => socket.write('X-A: b\r\n'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  const open = track(t, server)
  const port = await listen(t, server)
  const http = getter(t)
  const startedAt = performance.now()
  const asking = withTimeout(systemClock, 150, never(), signal =>
    ask(http, `http://127.0.0.1:${port}/`, { signal }),
  )
  await t.rejects(asking, { code: 'TIMEOUT' })
  t.ok(performance.now() - startedAt < 5_000, 'it would trickle for ever')
  await until(() => open.size === 0)
  t.equal(open.size, 0)
})

t.test(
  'get: an endless body costs no more than 64 KiB, a slow one no more than a second',
  async t => {
    let sent = 0
    const chunk = Buffer.alloc(16 * 1024)
    const { port, open } = await serve(t, (request, response) => {
      if (request.url === '/slow') {
        response.write('o')
        return
      }
      const pour = (): void => {
        while (!response.destroyed && sent < 1e9) {
          sent += chunk.length
          if (!response.write(chunk)) break
        }
      }
      response.on('drain', pour)
      pour()
    })
    const woken: (() => void)[] = []
    const clock: Clock = {
      ...systemClock,
      after: (ms, wake) => {
        t.equal(ms, 1_000)
        woken.push(wake)
        return () => undefined
      },
    }
    const http = makeHttpGet(clock)
    t.teardown(() => http.close())
    t.strictSame(await ask(http, `http://127.0.0.1:${port}/`, { reuse: true }), { status: 200 })
    await until(() => open.size === 0)
    t.equal(open.size, 0, 'cut')
    t.ok(sent < 20e6, `${sent} bytes were written, most of them into buffers`)
    await ask(http, `http://127.0.0.1:${port}/slow`, { reuse: true })
    t.equal(open.size, 1)
    woken.at(-1)!()
    await until(() => open.size === 0)
    t.equal(open.size, 0, 'given up')
    await ask(http, `http://127.0.0.1:${port}/slow`, { reuse: true })
    http.close()
    await until(() => open.size === 0)
    t.equal(open.size, 0, 'close ends what is being read')
  },
)

t.test('get: rejects with the reason of its signal and with the error of the system', async t => {
  const { port, server } = await serve(t, () => undefined)
  const http = getter(t)
  const reason = new Error('round is over')
  const controller = new AbortController()
  const asking = ask(http, `http://127.0.0.1:${port}/`, { signal: controller.signal })
  server.once('request', () => controller.abort(reason))
  await t.rejects(asking, reason)
  const aborted = AbortSignal.abort(reason)
  await t.rejects(ask(http, `http://127.0.0.1:${port}/`, { signal: aborted }), reason)
  await t.rejects(ask(http, 'http://127.0.0.1:1/'), { code: 'ECONNREFUSED' })
})

t.test('plugins over TLS', async t => {
  const own = await certificateFor('127.0.0.1')
  const other = await certificateFor('127.0.0.1')
  const stale = await certificateFor('127.0.0.1', -1)
  const elsewhere = await certificateFor('127.0.0.2')
  const dir = t.testdir({
    'own.pem': own.cert,
    'other.pem': other.cert,
    'stale.pem': stale.cert,
    'elsewhere.pem': elsewhere.cert,
    token: 'secret\n',
  })
  const tokens: unknown[] = []
  const unauthorized: RequestListener = (request, response) => {
    tokens.push(request.headers.authorization)
    response.writeHead(401).end('Unauthorized')
  }
  const kubelet = await serve(t, unauthorized, own)
  const expired = await serve(t, unauthorized, stale)
  const wrongName = await serve(t, unauthorized, elsewhere)
  const plain = await serve(t, unauthorized)
  const http = getter(t)
  const seams = {
    dial: netDial,
    http,
    readFile: (path: string) => readFile(path, 'utf8'),
    selfReport: () => 'unknown' as const,
  }
  const pluginOf = (text: string): CheckPlugin =>
    makePlugins([parsePluginSpec('kubeletauth', text)], seams, 100_000_000)[0]!
  const target = { name: parseNodeName('a'), address: '127.0.0.1' }
  const probe = (text: string): Promise<ProbeResult> =>
    pluginOf(text).probe(target, { signal: never(), reuse: false })
  const path = (name: string): string => join(dir, name)

  const cases: [why: string, text: string, want: unknown][] = [
    ['a 401 with a self-signed certificate is alive', `port=${kubelet.port}`, 'success'],
    ['asked not to verify', `port=${kubelet.port},ca=insecure`, 'success'],
    ['its CA verifies it', `port=${kubelet.port},ca=${path('own.pem')}`, 'success'],
    ['another CA does not', `port=${kubelet.port},ca=${path('other.pem')}`, /^TLS: /],
    [
      'another address in the certificate',
      `port=${wrongName.port},ca=${path('elsewhere.pem')}`,
      /^TLS: /,
    ],
    ['no TLS at all', `port=${plain.port}`, /^TLS: /],
    [
      'a token goes to a verified kubelet',
      `port=${kubelet.port},ca=${path('own.pem')},token-file=${path('token')}`,
      'success',
    ],
    [
      'and to nobody else',
      `port=${kubelet.port},ca=${path('other.pem')},token-file=${path('token')}`,
      /^TLS: /,
    ],
    [
      "nor to whom the system's authorities do not know",
      `port=${kubelet.port},token-file=${path('token')}`,
      /^TLS: /,
    ],
  ]
  for (const [why, text, want] of cases) {
    const result = await probe(text)
    if (want === 'success') t.strictSame(result, { kind: 'success' }, why)
    else t.match(result, { kind: 'failure', reason: want }, why)
  }
  t.strictSame(
    tokens.filter(token => token !== undefined),
    ['Bearer secret'],
    'one token left this process',
  )
  const clockIsWrong = await probe(`port=${expired.port},ca=${path('stale.pem')}`)
  t.match(clockIsWrong, { kind: 'unknown', reason: /^TLS: .*by our clock$/ })
  const reused = kubelet.connections()
  const kept = pluginOf(`port=${kubelet.port}`)
  for (let i = 0; i < 5; i++) {
    t.strictSame(await kept.probe(target, { signal: never(), reuse: true }), { kind: 'success' })
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  t.equal(kubelet.connections(), reused + 1, 'one connection for five probes')
  for (let i = 0; i < 12; i++) {
    const { cert } = i === 0 ? own : { cert: `${own.cert}\n# ${i}\n` }
    const url = `https://127.0.0.1:${kubelet.port}/`
    t.strictSame(await ask(http, url, { ca: cert, reuse: true }), { status: 401 })
  }
  await until(() => kubelet.open.size <= 9)
  t.ok(kubelet.open.size <= 9, 'connections of rotated CAs are given up')
})

/** The numbers of the key exchanges that a ClientHello offers (RFC 8446, 4.1.2 and 4.2.7). */
const offeredGroups = (record: Buffer): readonly number[] => {
  let at = 5 + 4 + 2 + 32
  at += 1 + record.readUInt8(at)
  at += 2 + record.readUInt16BE(at)
  at += 1 + record.readUInt8(at)
  for (at += 2; at < record.length; at += 4 + record.readUInt16BE(at + 2)) {
    if (record.readUInt16BE(at) !== 10) continue
    const count = record.readUInt16BE(at + 4) / 2
    return Array.from({ length: count }, (_, i) => record.readUInt16BE(at + 6 + 2 * i))
  }
  return []
}

t.test('get: a TLS connection begins with a short hello', async t => {
  const server = createTcp()
  const hellos: Buffer[] = []
  server.on('connection', socket =>
    socket.once('data', hello => {
      hellos.push(hello)
      socket.destroy()
    }),
  )
  track(t, server)
  const port = await listen(t, server)
  const http = getter(t)
  for (const reuse of [true, false])
    await t.rejects(ask(http, `https://127.0.0.1:${port}/`, { reuse }))
  t.equal(hellos.length, 2)
  for (const hello of hellos) {
    t.strictSame(offeredGroups(hello), [0x1d, 0x17, 0x18], 'X25519, P-256, P-384')
    t.ok(hello.length < 600, `${hello.length} bytes`)
  }
})

t.test('verdicts do not leak between targets, IPv6 goes in brackets', async t => {
  const server = createHttp((_request, response) => response.end('ok'))
  const hasIPv6 = await new Promise<boolean>(resolve => {
    server.once('error', () => resolve(false))
    server.listen(0, '::1', () => resolve(true))
  })
  if (!hasIPv6) {
    t.comment('this machine has no IPv6 loopback')
    return
  }
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const seams = {
    dial: netDial,
    http: getter(t),
    readFile: () => Promise.reject(new Error('no files here')),
    selfReport: () => 'unknown' as const,
  }
  const plugins = makePlugins(
    [
      parsePluginSpec('ping', `port=${port}`),
      parsePluginSpec('kubelet', `port=${port}`),
      parsePluginSpec('http', `url=http://{address}:${port}/{name}`),
    ],
    seams,
    100_000_000,
  )
  const name = parseNodeName('a')
  const targets = ['::1', '127.0.0.1'].map(address => ({ name, address }))
  for (const plugin of plugins) {
    const results = await Promise.all(
      targets.map(target => plugin.probe(target, { signal: never(), reuse: false })),
    )
    t.strictSame(
      results.map(result => result.kind),
      ['success', 'failure'],
      plugin.name,
    )
  }
})

t.test('loop lag: what delayed our timer is seen, before and after it fired', t => {
  let now = 0
  let tick: (() => void) | undefined
  const clock: Clock = {
    now: () => now,
    boot: () => now,
    wall: () => 0,
    after: (_ms, wake) => {
      tick = wake
      return () => (tick = undefined)
    },
  }
  const lag = makeLoopLag(clock)
  t.equal(tick, undefined, 'nothing is watched while nobody looks')
  const first = lag.look()
  now = 90
  t.equal(first.mostMs, 0, 'on time')
  now = 900
  t.equal(first.mostMs, 800, 'the timer has not fired yet')
  tick?.()
  t.equal(first.mostMs, 800)
  const second = lag.look()
  now += 150
  tick?.()
  t.equal(first.mostMs, 800)
  t.equal(first.lostMs, 850, 'both together')
  t.equal(second.mostMs, 50, 'older delays do not count')
  const third = lag.look()
  now += 110
  tick?.()
  t.equal(third.mostMs, 0, 'small delays are noise')
  t.equal(third.lostMs, 0)
  for (const look of [first, first, second]) look.end()
  t.not(tick, undefined, 'somebody still looks')
  third.end()
  t.equal(tick, undefined)
  now += 10_000
  t.equal(lag.look().mostMs, 0, 'what was while nobody looked does not count')
  t.end()
})

t.test('loop lag: a real hold-up is seen', async t => {
  const look = makeLoopLag(systemClock).look()
  t.teardown(() => look.end())
  const startedAt = systemClock.now()
  while (systemClock.now() - startedAt < 400);
  t.ok(look.mostMs >= 250)
  await new Promise(resolve => setTimeout(resolve, 10))
  t.ok(look.mostMs >= 250)
})
