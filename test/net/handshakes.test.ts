// SPDX-License-Identifier: Apache-2.0
import { connect, createServer, Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { Handshakes } from '../../net/handshakes.js'
import type { ListenLimits } from '../../net/listen.js'
import { certificateFor } from '../../testkit/certificates.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'

const host = '127.0.0.1'
const handshakes: ListenLimits['handshakes'] = {
  all: { perSecond: 10, burst: 3 },
  perSource: { perSecond: 1, burst: 2 },
}

const stage = async (t: Test, limits: Partial<ListenLimits> = {}) => {
  const tls = await certificateFor(host)
  const clock = new FakeClock()
  const log = recordingLog()
  const listener = await openListener(
    {
      handle: (_request, response) => void response.end('done'),
      tls,
      limits: { handshakes, headerMs: 10_000, ...limits },
    },
    { clock, log },
  )
  const sockets: Socket[] = []
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    const closing = listener.close()
    await clock.advance(2_000)
    await closing
  })
  const kept = <T extends Socket>(socket: T): T => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    return socket
  }
  const { port } = listener
  const shaken: TLSSocket[] = []
  const shake = (localAddress = host): TLSSocket => {
    const socket = kept(
      connectTls({ host, ca: tls.cert, socket: connect({ host, port, localAddress }) }),
    )
    socket.once('secureConnect', () => shaken.push(socket))
    return socket
  }
  /** A connection that says nothing, or noise. */
  const open = (text = ''): Socket => {
    const socket = kept(connect({ host, port }))
    socket.write(text)
    return socket
  }
  return { listener, clock, log, shaken, shake, open }
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await settle()
}

const answerOf = (socket: TLSSocket): Promise<string> =>
  new Promise(resolve => {
    let text = ''
    socket.on('data', chunk => (text += String(chunk)))
    socket.on('close', () => resolve(text))
    socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n')
  })

t.test('of one source so many handshakes begin at once, the others wait their turn', async t => {
  const { listener, clock, log, shaken, shake } = await stage(t)
  for (let i = 0; i < 4; i++) shake()
  await until(() => listener.status.waiting === 2 && shaken.length === 2)
  t.strictSame(listener.status, { evicted: 0, delayed: 2, waiting: 2 })
  shake('127.0.0.2')
  await until(() => shaken.length === 3)
  t.equal(listener.status.waiting, 2, 'another source does not wait for them')
  await clock.advance(2_000)
  await until(() => shaken.length === 5)
  t.match(await answerOf(shaken.at(-1)!), /^HTTP\/1.1 200 [^]*done/)
  const warnings = log.lines.filter(({ level }) => level === 'warn')
  t.match(warnings, [
    {
      message: 'too many new connections at once: some wait for their handshake',
      fields: { address: host, from: host, delayedSoFar: 1 },
    },
  ])
  t.equal(warnings.length, 1)
})

t.test('a client that leaves while it waits uses nothing of the rate', async t => {
  const { listener, clock, shaken, shake, open } = await stage(t)
  const first = [shake(), shake()]
  await until(() => shaken.length === 2)
  const gone = [open('noise'), open(), open('\x16\x03\x01')]
  await until(() => listener.status.waiting === 3)
  const last = shake()
  await until(() => listener.status.waiting === 4)
  for (const socket of gone) socket.resetAndDestroy()
  await until(() => listener.status.waiting === 1)
  await clock.advance(1_000)
  await until(() => shaken.length === 3)
  t.strictSame(new Set(shaken), new Set([...first, last]))
})

t.test('waiting connections are counted, and evicted when there are too many', async t => {
  const { listener, clock, shaken, shake } = await stage(t, { perStranger: 4 })
  const ended: TLSSocket[] = []
  for (let i = 0; i < 8; i++) {
    const socket = shake()
    socket.once('close', () => ended.push(socket))
    await until(() => socket.destroyed || listener.status.delayed === Math.max(0, i - 1))
  }
  await until(() => ended.length === 4)
  t.equal(listener.status.evicted, 4)
  t.ok(listener.status.waiting <= 4)
  await clock.advance(5_000)
  await until(() => shaken.length >= 4)
  t.equal(listener.status.waiting, 0)
})

t.test('without a limit nobody waits', async t => {
  const { listener, shaken, shake } = await stage(t, { handshakes: undefined })
  for (let i = 0; i < 8; i++) shake()
  await until(() => shaken.length === 8)
  t.strictSame(listener.status, { evicted: 0, delayed: 0, waiting: 0 })
})

t.test('sources without a name share one rate', t => {
  const sources = { keyOf: () => undefined, isMember: () => false }
  const limits = { all: { perSecond: 10, burst: 8 }, perSource: { perSecond: 1, burst: 2 } }
  const seams = { clock: new FakeClock(), log: recordingLog() }
  const handshakes = new Handshakes({ address: host, limits, sources }, seams)
  let begun = 0
  const server = createServer(() => {
    begun++
  })
  handshakes.hold(server)
  for (let i = 0; i < 3; i++) server.emit('connection', new Socket())
  t.equal(begun, 2)
  t.equal(handshakes.waiting, 1)
  t.end()
})
