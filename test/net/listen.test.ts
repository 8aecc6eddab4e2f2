// SPDX-License-Identifier: Apache-2.0
import type { RequestListener } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import type { Listening } from '../../net/listen.js'
import { certificateFor } from '../../testkit/certificates.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { ask, sendRaw } from '../../testkit/http/raw-http.js'
import { recordingLog } from '../../testkit/recording-log.js'

const host = '127.0.0.1'
const done: RequestListener = (_request, response) => void response.end('done')

/** Connect and send; errors are the other end's business. */
const open = (port: number, text: string, localAddress = host): Promise<Socket> =>
  new Promise(resolve => {
    const socket = connect({ host, port, localAddress }, () => resolve(socket))
    socket.on('error', () => undefined)
    socket.write(text)
  })

const ends = (socket: Socket): Promise<void> => {
  socket.resume()
  return new Promise(resolve => {
    if (socket.destroyed) resolve()
    else socket.once('close', () => resolve())
  })
}

const head = (path: string, more = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`

t.test('a taken port is a clear error', async t => {
  const holder = createServer().listen(0, host)
  await new Promise(resolve => holder.once('listening', resolve))
  t.teardown(() => holder.close())
  const { port } = holder.address() as { port: number }
  await t.rejects(openListener({ port, handle: done }), {
    code: 'LISTEN',
    message: `cannot listen on 127.0.0.1:${port}: the port is taken; is the same program running on this node already, or does a connection go out from that port?`,
  })
  // Link-local without its interface: waiting would not mend that.
  await t.rejects(openListener({ address: 'fe80::1', handle: done }), {
    code: 'LISTEN',
    message: /cannot listen on \[fe80::1\]:0: .*EINVAL/,
  })
})

t.test('an address that does not exist yet is waited for, and logged once', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const stop = new AbortController()
  const { signal } = stop
  const opening = openListener({ address: '203.0.113.1', handle: done }, { clock, log, signal })
  const waits: number[] = []
  for (let i = 0; i < 5; i++) {
    while (clock.waiting === 0) await settle()
    waits.push(clock.now())
    await clock.advance(250 * 2 ** i)
  }
  t.strictSame(
    waits.map((at, i) => at - (waits[i - 1] ?? at)),
    [0, 250, 500, 1_000, 2_000],
    'ever more slowly',
  )
  t.match(log.lines, [
    {
      level: 'warn',
      message: 'address does not exist yet, waiting',
      fields: { address: '203.0.113.1:0' },
    },
  ])
  t.equal(log.lines.length, 1)
  stop.abort()
  await t.rejects(opening, { code: 'LISTEN', message: /the address did not appear/ })
})

t.test('closing lets an answer end, cuts what does not, and may be asked twice', async t => {
  const clock = new FakeClock()
  let release: (() => void) | undefined
  let asked = 0
  let warnings = 0
  const handle: RequestListener = (request, response) => {
    asked++
    if (request.url === '/slow') release = () => void response.end('done')
  }
  const first = await openListener(
    {
      handle,
      onClose: () => {
        warnings++
      },
    },
    { clock },
  )
  const answer = ask(first.port, '/slow')
  while (release === undefined) await settle()
  const closing = first.close()
  t.equal(first.close(), closing)
  t.equal(warnings, 1)
  release()
  t.equal((await answer).text, 'done', 'an answer that is on its way arrives')
  await closing
  t.equal(clock.waiting, 0)
  const second = await openListener({ handle }, { clock })
  const hung = sendRaw(second.port, 'GET /never HTTP/1.1\r\nHost: a\r\n\r\n')
  while (asked < 2) await settle()
  const ending = second.close()
  await clock.advance(2_000)
  await ending
  t.equal(await hung, '', 'cut after 2 s')
  await t.rejects(ask(second.port, '/'), { code: 'ECONNREFUSED' })
})

t.test('closing ends upgraded connections at once', async t => {
  const clock = new FakeClock()
  const asked: string[] = []
  const upgrade: Listening['upgrade'] = (request, socket) => {
    asked.push(request.url!)
    socket.on('error', () => undefined)
  }
  const handle: RequestListener = request => void asked.push(request.url!)
  const listener = await openListener({ handle, upgrade }, { clock })
  const more = 'Connection: Upgrade\r\nUpgrade: x\r\n'
  const upgraded = await open(listener.port, head('/exec', more))
  const waiting = await open(listener.port, head('/slow'))
  while (asked.length < 2) await settle()
  await clock.advance(60_000)
  t.equal(upgraded.destroyed, false, 'nobody waits for another request of it')
  const closed = listener.close()
  await ends(upgraded)
  t.equal(waiting.destroyed, false, 'an answer may still come')
  await clock.advance(2_000)
  await closed
  await ends(waiting)
})

t.test(
  'S7, FA5: who connects and does not ask is cut, and so is a body that does not come',
  async t => {
    const clock = new FakeClock()
    const asked: string[] = []
    const handle: RequestListener = (request, response) => {
      asked.push(request.url!)
      request.resume().on('error', () => undefined)
      if (request.url === '/early') response.write('begun')
      request.on('end', () => response.end('done'))
    }
    const listener = await openListener({ handle }, { clock })
    t.teardown(() => listener.close())
    const { port } = listener
    const silent = sendRaw(port, '')
    const partial = sendRaw(port, 'POST /v1/gossip HTTP/1.1\r\nHost: a\r\nContent-')
    while (clock.waiting < 2) await settle()
    await clock.advance(1_999)
    await clock.advance(1)
    t.match(await silent, /^HTTP\/1\.1 408 /)
    t.match(await partial, /^HTTP\/1\.1 408 /)
    t.equal(clock.waiting, 0)
    const length = 'Content-Length: 9\r\n'
    const bodies = [
      sendRaw(port, `${head('/slow', length)}part`),
      sendRaw(port, `${head('/early', length)}part`),
      sendRaw(port, `${head('/chunked', 'Transfer-Encoding: chunked\r\n')}1\r\na\r\n`),
    ]
    while (asked.length < 3) await settle()
    await clock.advance(9_999)
    t.equal((await ask(port, '/whole', { method: 'POST', body: 'whole' })).text, 'done')
    await clock.advance(1)
    t.match(await bodies[0], /^HTTP\/1\.1 408 /)
    t.match(await bodies[1], /^HTTP\/1\.1 200 [^]*begun\r\n$/, 'an answer that began is cut off')
    t.match(await bodies[2], /^HTTP\/1\.1 408 /)
    t.equal(clock.waiting, 0, 'whoever was in time is not watched any more')
  },
)

t.test('FW5: an upload may take long while it goes on, not when it stops', async t => {
  const clock = new FakeClock()
  const got: string[] = []
  let unreadAt = 0
  const handle: RequestListener = (request, response) => {
    request.on('error', () => undefined)
    if (request.url === '/unread') unreadAt = clock.now()
    else request.on('data', (part: Buffer) => got.push(part.toString()))
    request.on('end', () => response.end('done'))
  }
  const limits = { bodyRule: 'progress', bodyMs: 30_000 } as const
  const listener = await openListener({ handle, limits }, { clock })
  t.teardown(() => listener.close())
  const socket = await open(listener.port, `${head('/upload', 'Content-Length: 9\r\n')}a`)
  for (let parts = 1; parts <= 3; parts++) {
    while (got.join('').length < parts) await settle()
    socket.write('a')
    while (got.join('').length < parts + 1) await settle()
    await clock.advance(30_000)
    t.equal(socket.destroyed, false)
  }
  const over = ends(socket)
  await clock.advance(30_000)
  await over
  t.equal(got.join(''), 'aaaa')
  const unread = await open(listener.port, `${head('/unread', 'Content-Length: 9\r\n')}a`)
  while (unreadAt === 0) await settle()
  await clock.advance(90_000)
  t.equal(unread.destroyed, false, 'that we do not read is not its fault')
  unread.destroy()
})

t.test('data that an evicted client has not read is freed', async t => {
  const handle: RequestListener = (_request, response) => void response.end(Buffer.alloc(1 << 20))
  const listener = await openListener({ handle, limits: { perStranger: 1 } })
  t.teardown(() => listener.close())
  const first = await open(listener.port, head('/'))
  await new Promise(resolve => first.once('readable', resolve))
  const second = await open(listener.port, '')
  // It is admitted once it is served.
  second.write(head('/'))
  await new Promise(resolve => second.once('readable', resolve))
  let got = 0
  first.on('data', ({ length }: Buffer) => (got += length))
  await ends(first)
  t.ok(got < 1 << 20, 'the kernel has kept no more of it than had arrived')
  second.destroy()
})

t.test('FA5: connections are bounded, and that some are ended is logged once a minute', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const limits = { perStranger: 2 }
  let connectionsEvicted = 0
  const onEvicted = (): void => {
    connectionsEvicted++
  }
  const listener = await openListener({ handle: done, limits }, { clock, log, onEvicted })
  t.teardown(() => listener.close())
  const first = await open(listener.port, '')
  const second = await open(listener.port, '')
  while (clock.waiting < 2) await settle()
  const third = await open(listener.port, '')
  await ends(first)
  const fourth = await open(listener.port, '')
  await ends(second)
  t.notOk(third.destroyed || fourth.destroyed)
  t.match(log.lines, [
    {
      level: 'warn',
      message: 'too many connections: some are closed to make room',
      fields: { from: host, open: 2, evictedSoFar: 1 },
    },
  ])
  t.equal(log.lines.length, 1)
  t.equal(connectionsEvicted, 2, 'each is counted')
  third.destroy()
  fourth.destroy()
})

t.test('FA5: a stranger has one answer per connection, a member may stay', async t => {
  const isMember = (key: string): boolean => key === '127.0.0.2'
  const listener = await openListener({
    handle: done,
    limits: { keepAliveForStrangers: false },
    sources: { keyOf: ({ address }) => address, isMember },
  })
  t.teardown(() => listener.close())
  const asked = async (from: string): Promise<string> => {
    const socket = await open(listener.port, head('/', 'Content-Length: 0\r\n'), from)
    let text = ''
    socket.on('data', part => (text += part.toString()))
    while (!text.includes('done')) await settle()
    socket.destroy()
    return text
  }
  t.match(await asked('127.0.0.3'), /Connection: close/)
  t.match(await asked('127.0.0.2'), /Connection: keep-alive/)
})

t.test('a page whose name was rebound to this machine is answered nothing', async t => {
  const asked: string[] = []
  const listener = await openListener({
    handle: (request, response) => {
      asked.push(request.headers.host!)
      response.end()
    },
    upgrade: request => void asked.push(request.headers.host!),
    forbidden: (_request, response) => void response.writeHead(403).end('forbidden'),
  })
  t.teardown(() => listener.close())
  const answerTo = (name: string, more = 'Connection: close\r\n'): Promise<string> =>
    sendRaw(listener.port, `GET / HTTP/1.1\r\nHost: ${name}\r\n${more}\r\n`)
  for (const name of ['127.0.0.1:51006', 'localhost', '[::1]:51006'])
    t.match(await answerTo(name), /^HTTP\/1\.1 200/, name)
  t.equal(asked.length, 3)
  for (const name of ['evil.example', '127.0.0.1.evil.example', '10.0.0.1'])
    t.match(await answerTo(name), /^HTTP\/1\.1 403[^]*forbidden/, name)
  t.equal(await answerTo('evil.example', 'Connection: Upgrade\r\nUpgrade: x\r\n'), '')
  t.equal(asked.length, 3, 'nobody behind the listener hears of them')
})

t.test('FW7: who asks for a protocol that is not spoken is answered as if he had not', async t => {
  const seen: string[] = []
  const clock = new FakeClock()
  const listener = await openListener(
    {
      handle: (request, response) => {
        seen.push(`${request.method} ${request.url} ${request.headers.upgrade ?? 'plain'}`)
        request.resume().once('end', () => response.end('done'))
      },
      upgrade: (request, socket) => {
        seen.push(`upgrade ${request.url}`)
        socket.destroy()
      },
      asksForUpgrade: ({ headers }) => headers.upgrade === 'websocket',
      limits: { perStranger: 1 },
    },
    { clock },
  )
  t.teardown(() => listener.close())
  const answerTo = (protocol: string): Promise<string> =>
    sendRaw(
      listener.port,
      `${head('/x', `Connection: Upgrade, close\r\nUpgrade: ${protocol}\r\nContent-Length: 4\r\n`)}body`,
    )
  t.match(await answerTo('h2c'), /^HTTP\/1\.1 200 [^]*done/)
  t.equal(await answerTo('websocket'), '')
  t.strictSame(seen, ['POST /x plain', 'upgrade /x'])
  while (clock.waiting > 0) await settle()
  t.equal(clock.waiting, 0)
})

t.test('headers have a limit', async t => {
  const listener = await openListener({ handle: done, limits: { headerBytes: 72 << 10 } })
  t.teardown(() => listener.close())
  const answerTo = (bytes: number): Promise<string> =>
    sendRaw(listener.port, head('/', `X: ${'y'.repeat(bytes)}\r\nConnection: close\r\n`))
  t.match(await answerTo(64 << 10), /^HTTP\/1\.1 200 /)
  t.match(await answerTo(80 << 10), /^HTTP\/1\.1 431 /)
})

t.test('TLS: the same limits; who never speaks TLS is cut without a word', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const own = await certificateFor(host)
  const tls = { ca: own.cert, cert: own.cert, key: own.key }
  const listener = await openListener(
    { handle: done, upgrade: () => undefined, asksForUpgrade: () => false, tls },
    { clock, log },
  )
  t.teardown(() => listener.close())
  const { port } = listener
  const silent = sendRaw(port, '')
  while (clock.waiting < 1) await settle()
  await clock.advance(2_000)
  t.equal(await silent, '')
  t.match(await sendRaw(port, head('/')), '', 'plain HTTP is not answered')
  while (log.lines.length === 0) await settle()
  t.match(log.lines, [{ level: 'debug', message: 'client refused' }])
  const answerTo = (more: string): Promise<string> =>
    new Promise(resolve => {
      const socket = connectTls({ host, port, ca: own.cert, cert: own.cert, key: own.key }, () =>
        socket.write(head('/', `Content-Length: 0\r\n${more}`)),
      )
      let got = ''
      socket.on('data', (part: Buffer) => (got += part.toString()))
      socket.on('close', () => resolve(got))
    })
  t.match(await answerTo('Connection: close\r\n'), /^HTTP\/1\.1 200 /)
  t.match(await answerTo('Connection: Upgrade, close\r\nUpgrade: h2c\r\n'), /^HTTP\/1\.1 200 /)
  while (clock.waiting > 0) await settle()
  t.equal(clock.waiting, 0, 'its request was seen as that of its connection')
  listener.renew(tls)
  const open = await openListener({ handle: done, tls: { cert: own.cert, key: own.key } })
  const anybody = await new Promise(resolve => {
    const socket = connectTls({ host, port: open.port, ca: own.cert }, () =>
      socket.write(head('/', 'Content-Length: 0\r\nConnection: close\r\n')),
    )
    socket.once('data', (part: Buffer) => resolve(part.toString()))
    socket.on('error', resolve)
  })
  t.match(anybody, /^HTTP\/1\.1 200 /, 'without an authority nobody is asked for a certificate')
  await open.close()
  const plain = await openListener({ handle: done })
  plain.renew(tls)
  t.equal((await ask(plain.port, '/')).text, 'done', 'plain HTTP has no certificates')
  await plain.close()
})

t.test('upgraded connections that are not counted make room for nobody', async t => {
  const clock = new FakeClock()
  const limits = { total: 2, strangers: 2, perStranger: 2, perMember: 2 }
  const upgrade: Listening['upgrade'] = (_request, socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
  }
  const server = await openListener(
    { handle: done, upgrade, areUpgradesCounted: false, limits },
    { clock },
  )
  t.teardown(() => server.close())
  const ask = head('/', 'Connection: Upgrade\r\nUpgrade: any\r\n')
  const upgraded: Socket[] = []
  for (let i = 0; i < 4; i++) {
    const socket = await open(server.port, ask)
    upgraded.push(socket)
    await new Promise(resolve => socket.once('data', resolve))
  }
  const idle = await Promise.all([1, 2, 3].map(() => open(server.port, '')))
  await Promise.race(idle.map(ends))
  t.ok(
    upgraded.every(socket => !socket.destroyed),
    'another idle one went instead',
  )
  await clock.advance(2_000)
  await Promise.all(idle.map(ends))
  t.ok(
    upgraded.every(socket => !socket.destroyed),
    'nor are they ended for want of a request',
  )
})

t.test('a listener that takes clients without a certificate knows which one counts', async t => {
  const own = await certificateFor(host)
  const foreign = await certificateFor(host)
  const tls = { ca: own.cert, cert: own.cert, key: own.key, areClientsUnknown: true }
  const server = await openListener({
    tls,
    handle: (request, response) =>
      void response.end(String((request.socket as { authorized?: boolean }).authorized)),
  })
  t.teardown(() => server.close())
  const answerTo = (shown: { readonly cert?: string; readonly key?: string }): Promise<string> =>
    new Promise(resolve => {
      const socket = connectTls({ host, port: server.port, ca: own.cert, ...shown }, () =>
        socket.write(head('/', 'Content-Length: 0\r\nConnection: close\r\n')),
      )
      let got = ''
      socket.on('data', (part: Buffer) => (got += part.toString()))
      socket.on('close', () => resolve(got))
    })
  t.match(await answerTo({ cert: own.cert, key: own.key }), /true/)
  t.match(await answerTo({}), /false/)
  t.match(await answerTo({ cert: foreign.cert, key: foreign.key }), /false/)
})
