// SPDX-License-Identifier: Apache-2.0
import { EventEmitter } from 'node:events'
import { connect } from 'node:net'
import { Duplex } from 'node:stream'
import t from 'tap'
import { endAtStandstill, STANDSTILL_MS } from '../../../wrapper/serve/standstill.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { node, startReads } from '../wrapper-world.js'

/** A response of which so much is to be sent, to a client that takes what a test says. */
const sending = () => {
  const clock = new FakeClock()
  const socket = Object.assign(new Duplex(), { bytesWritten: 1_000, _handle: { writeQueueSize: 900 } })
  const response = Object.assign(new EventEmitter(), { writableLength: 5_000 })
  endAtStandstill(response as unknown as Parameters<typeof endAtStandstill>[0], socket, clock)
  return { clock, socket, response, _handle: socket._handle }
} // prettier-ignore

t.test('a client that takes nothing for a minute is disconnected', async t => {
  const { clock, socket } = sending()
  await clock.advance(STANDSTILL_MS - 1)
  t.notOk(socket.destroyed)
  await clock.advance(2)
  t.ok(socket.destroyed)
  t.equal(clock.waiting, 0)
})

t.test('one that takes a little each minute is not', async t => {
  const { clock, socket } = sending()
  for (let minutes = 0; minutes < 10; minutes++) {
    socket._handle.writeQueueSize--
    await clock.advance(STANDSTILL_MS)
  }
  t.notOk(socket.destroyed, 'a single write may be long on its way')
  await clock.advance(2 * STANDSTILL_MS)
  t.ok(socket.destroyed)
})

t.test('nor is one that waits for us, nor one that has everything', async t => {
  const { clock, socket, response } = sending()
  response.writableLength = 0
  await clock.advance(5 * STANDSTILL_MS)
  t.notOk(socket.destroyed)
  response.emit('close')
  t.equal(clock.waiting, 0)

  const gone = sending()
  gone.socket.destroy()
  await gone.clock.advance(2 * STANDSTILL_MS)
  t.equal(gone.clock.waiting, 0, 'a connection that has ended is not looked at again')
})

t.test('the lists of clients that do not read end, those on their way behind them too', async t => {
  const world = await startReads(t)
  const spec = { providerID: 'x'.repeat(500_000) }
  world.fill({ nodes: Array.from({ length: 40 }, (_, n) => ({ ...node(`n${n}`), spec })) })
  const whole = (await world.ask('/api/v1/nodes')).bytes.length
  t.ok(whole > 20_000_000, 'whoever reads gets all')
  const before = world.clock.waiting
  const socket = connect(world.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET /api/v1/nodes HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3))
  while (world.reads.counts.lists < 4) await new Promise(resolve => setImmediate(resolve))
  // What the kernel takes into its buffers counts as taken.
  while (world.clock.waiting > before) await world.clock.advance(STANDSTILL_MS)
  let bytes = 0
  await new Promise<void>(resolve => {
    socket.once('close', () => resolve())
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > 3 * whole) socket.destroy()
    })
  })
  t.ok(bytes < whole, 'it gets what the kernel had taken by then')
})
