// SPDX-License-Identifier: Apache-2.0
// What an edge may make the hub keep, and for how long, by beginning messages that it does not end.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import type { WebSocket } from 'ws'
import type { NodeName } from '../../../core/ids.js'
import { HUB_LIMITS } from '../../../bridge/hub/hub-options.js'
import { makeNodePair } from '../../../testkit/edge/certificates.js'
import { openStage, until } from './stage.js'

/** Send the beginning of a message, and wait until the hub has it or has ended the connection. */
const begin = async (socket: WebSocket, bytes: number): Promise<void> => {
  const over = new Promise(resolve => {
    socket.once('pong', resolve)
    socket.once('close', resolve)
  })
  socket.send('x'.repeat(bytes), { fin: false })
  socket.ping()
  await over
}

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `h${i}`)

t.test('incomplete messages of many nodes are within the limit of all together', async t => {
  const { raw, ended, hub } = await openStage(t, { limits: { partBytes: 256 << 10 } })
  const hogs = names(10)
  for (const hog of hogs) await begin(await raw(hog), 60_000)
  await until(() => hub.status.connected <= 4)
  const reasons = hogs.flatMap(ended)
  t.strictSame([...new Set(reasons)], ['too much in one frame'])
  t.equal(hub.status.connected, 4, 'as many as there is room for are kept')
})

t.test('a message of a million tiny pieces counts as what it takes in memory', async t => {
  const { raw, ended } = await openStage(t, { limits: { partBytes: 128 << 10 } })
  const socket = await raw('h0')
  let sent = 0
  while (socket.readyState === socket.OPEN && sent < 2_000) {
    // One at a time: those sent together would arrive as one piece.
    await new Promise(resolve => socket.send('x', { fin: false }, resolve))
    sent++
    await begin(socket, 1)
  }
  t.strictSame(ended('h0'), ['too much in one frame'])
})

t.test('a message has a limited number of fragments', async t => {
  const { raw, ended } = await openStage(t)
  const socket = await raw('h0')
  for (let i = 0; i < 6_000; i++) socket.send('x', { fin: false })
  await begin(socket, 1)
  await until(() => ended('h0').length > 0)
  t.strictSame(ended('h0'), ['connection broke'])
})

t.test('nobody keeps a message incomplete for ever by having reading paused', async t => {
  const { raw, ended, clock, hub } = await openStage(t, {
    limits: { session: { ...HUB_LIMITS.session, pingMs: 1e9 } },
  })
  const socket = await raw('h0')
  await begin(socket, 20_000)
  let pongs = 0
  socket.on('pong', () => pongs++)
  const isPaused = (): boolean => hub.linkOf('h0' as NodeName)?.isHeld !== false
  for (let round = 0; round < 40 && ended('h0').length === 0; round++) {
    // More than its rate allows: reading pauses, and the time for keepalives begins anew after that.
    while (!isPaused()) {
      const wanted = pongs + 20
      for (let i = 0; i < 20; i++) socket.ping()
      await until(() => isPaused() || pongs >= wanted)
    }
    await clock.advance(20_000)
  }
  t.strictSame(ended('h0'), ['a message takes too long'])
})

t.test('an edge that completes its messages is disconnected for none of this', async t => {
  const { raw, received, ended, clock } = await openStage(t, { limits: { partBytes: 64 << 10 } })
  const socket = await raw('e1')
  const head =
    '{"header":{"msg_id":"1","timestamp":1},"route":{"source":"edged","operation":"query","resource":"a/b/c"},"content":"'
  for (let i = 1; i <= 20; i++) {
    socket.send(head, { fin: false })
    socket.send(`${'x'.repeat(40_000)}"}`)
    await until(() => received('e1').length === i)
  }
  await clock.advance(20_000)
  t.strictSame(ended('e1'), [])
})

t.test('who does not get as far as a websocket has ten seconds, whatever it drips', async t => {
  const { url, ca, clock, hub } = await openStage(t)
  const port = Number(new URL(url).port)
  const pair = await makeNodePair(ca, 'e1')
  const closed: string[] = []
  const open = (name: string, socket: Socket): void => {
    socket.on('error', () => undefined)
    socket.resume()
    socket.on('close', () => closed.push(name))
    t.teardown(() => socket.destroy())
  }
  const silent = connect({ host: '127.0.0.1', port })
  open('no handshake', silent)
  const tls = connectTls({ host: '127.0.0.1', port, ca: ca.cert, ...pair })
  open('half a header', tls)
  await Promise.all([once(silent, 'connect'), once(tls, 'secureConnect')])
  tls.write('GET /p/e1/events HTTP/1.1\r\nHost: x\r\n')
  const begin = clock.now()
  while (closed.length < 2) {
    tls.write('X: y\r\n')
    await clock.advance(1_000)
    await new Promise(resolve => setTimeout(resolve, 1))
    if (clock.now() - begin < 10_000) t.strictSame(closed, [])
  }
  t.equal(hub.status.connected, 0)
})
