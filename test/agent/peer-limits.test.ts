// SPDX-License-Identifier: Apache-2.0
// What outsiders can take of the peers' listener, with its real limits, on real sockets.
import { request, type ClientRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { PEER_LIMITS } from '../../agent/http/limits.js'
import { makePeerApp } from '../../agent/http/peer-routes.js'
import { byAddress } from '../../net/sources.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'

const host = '127.0.0.1'
const MAX_BODY = 1 << 20

interface World {
  readonly clock: FakeClock
  readonly received: number[]
  /** Connections and requests that are open are ended with the test. */
  connect(from: string, text?: string): Promise<Socket>
  /** The answer's status; 0: the connection was ended without one. */
  ask(from: string, path: string, body?: Buffer): Promise<number>
}

const start = async (t: Test): Promise<World> => {
  const clock = new FakeClock()
  const log = recordingLog()
  const received: number[] = []
  const sockets: Socket[] = []
  const isMember = (address: string): boolean => address.startsWith('127.1.')
  const handle = makePeerApp({
    ...{ clock, log },
    inbox: {
      isMember,
      maxBytes: () => MAX_BODY,
      receive: (_route, body) => {
        received.push(body.length)
        return { status: 200, body: 'ok' }
      },
    },
  })
  const listener = await openListener(
    { handle, limits: PEER_LIMITS, sources: byAddress(isMember) },
    { clock, log },
  )
  const { port } = listener
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await listener.close()
  })
  return {
    clock,
    received,
    connect: (from, text = '') =>
      new Promise(resolve => {
        const socket = connect({ host, port, localAddress: from })
        sockets.push(socket)
        socket.on('error', () => undefined)
        socket.resume()
        socket.once('connect', () => socket.write(text, () => resolve(socket)))
      }),
    ask: (from, path, body) =>
      new Promise(resolve => {
        const method = body === undefined ? 'GET' : 'POST'
        const asked: ClientRequest = request(
          { host, port, path, method, localAddress: from, agent: false },
          response => {
            response.resume()
            response.once('end', () => resolve(response.statusCode ?? 0))
          },
        )
        asked.once('error', () => resolve(0))
        asked.end(body)
      }),
  }
}

const MEMBER = '127.1.0.1'
const whole = Buffer.alloc(300, 1)

t.test('FA5: idle connections of one stranger lock nobody out, not even strangers', async t => {
  const world = await start(t)
  for (let i = 0; i < 256; i++) await world.connect('127.0.9.9')
  t.equal(await world.ask(MEMBER, '/v1/gossip', whole), 200)
  t.equal(await world.ask('127.0.8.8', '/healthz'), 200)
  t.equal(await world.ask('127.0.9.9', '/healthz'), 200, 'his own oldest gives way')
})

t.test('FA5: nor do many addresses, idle or in the middle of a body', async t => {
  const world = await start(t)
  const kept = await world.connect(MEMBER, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
  const unfinished = 'POST /v1/gossip HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx'
  for (let i = 1; i <= 250; i++) await world.connect(`127.0.7.${i}`)
  for (let i = 1; i <= 250; i++) await world.connect(`127.0.7.${i}`, unfinished)
  for (let i = 1; i <= 20; i++)
    t.equal(await world.ask(`127.1.1.${i}`, '/v1/gossip', whole), 200, `member ${i}`)
  t.equal(kept.destroyed, false, 'a kept connection of a member stays')
  t.equal(world.received.length, 20)
})

t.test('FA5: who holds connections at a member’s own address does not shut it out', async t => {
  const world = await start(t)
  const unfinished = 'POST /v1/gossip HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx'
  for (let i = 0; i < 40; i++) await world.connect(MEMBER, unfinished)
  t.equal(await world.ask(MEMBER, '/v1/gossip', whole), 200)
})

t.test('who holds large bodies at a member’s own address does not shut it out', async t => {
  const world = await start(t)
  const part = (bytes: number): string =>
    `POST /v1/gossip HTTP/1.1\r\nHost: a\r\nContent-Length: ${MAX_BODY}\r\n\r\n${'x'.repeat(bytes)}`
  const held: Socket[] = []
  for (let i = 0; i < 3; i++) held.push(await world.connect(MEMBER, part(600_000)))
  // Whatever is left is filled in small steps.
  for (let i = 0; i < 8; i++) {
    const filler = await world.connect(MEMBER, part(1))
    held.push(filler)
    for (let step = 0; step < 12 && !filler.destroyed; step++) {
      filler.write('x'.repeat(4_095))
      await settle()
    }
  }
  for (let i = 0; i < 20; i++) t.equal(await world.ask(MEMBER, '/v1/gossip', whole), 200)
  t.equal(world.received.length, 20)
})

t.test('FA5: signs of life have a rate; strangers use up their own', async t => {
  const world = await start(t)
  const statuses: number[] = []
  for (let i = 0; i < 25; i++) statuses.push(await world.ask(`127.0.6.${i + 1}`, '/healthz'))
  t.strictSame([...new Set(statuses)], [200, 429])
  t.equal(statuses.filter(status => status === 200).length, 20)
  t.equal(await world.ask(MEMBER, '/healthz'), 200)
  await world.clock.advance(1_000)
  t.equal(await world.ask('127.0.6.1', '/healthz'), 200)
})

t.test('FA23: a mass event of 320 members meets no limit', async t => {
  const world = await start(t)
  const sockets: Socket[] = []
  for (let i = 0; i < 320; i++)
    for (let n = 0; n < 2; n++)
      sockets.push(await world.connect(`127.1.${2 + (i >> 7)}.${1 + (i & 127)}`))
  await settle()
  t.equal(sockets.filter(socket => socket.destroyed).length, 0)
})

t.test('FA23: announced bytes cost nothing, and those that came are bounded', async t => {
  const world = await start(t)
  const announced = `POST /v1/gossip HTTP/1.1\r\nHost: a\r\nContent-Length: ${MAX_BODY}\r\n\r\n`
  const before = process.memoryUsage().arrayBuffers
  for (let i = 1; i <= 120; i++) await world.connect(`127.0.5.${i}`, announced)
  t.ok(process.memoryUsage().arrayBuffers - before < 30 * MAX_BODY, 'not 120 MiB')
  const most = Buffer.concat([Buffer.from(announced), Buffer.alloc(MAX_BODY - 1)])
  const hold = (i: number): Promise<Socket> =>
    world.connect(`127.0.4.${i}`, most.toString('latin1'))
  const held = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(hold))
  // What is on its way is not held yet, and on a slow machine a body may run out of time before the last one is there.
  const last = (): Promise<number> => world.ask('127.0.4.9', '/v1/gossip', Buffer.alloc(MAX_BODY))
  while ((await last()) !== 503) {
    await settle()
    for (const [i, socket] of held.entries()) if (socket.destroyed) held[i] = await hold(i + 1)
  }
  t.pass('strangers have filled what they may')
  t.ok(held.some(socket => !socket.destroyed))
  t.equal(await world.ask(MEMBER, '/v1/gossip', Buffer.alloc(MAX_BODY)), 200)
  t.equal(world.received.at(-1), MAX_BODY)
})
