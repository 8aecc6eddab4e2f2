// SPDX-License-Identifier: Apache-2.0
// Spoiled frames, and spoiled websockets, on real sockets: `EDGE_HEALTH_FUZZ=1000000` with tap's `--timeout=0` tries more.
import type { Duplex } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { HUB_LIMITS } from '../../../bridge/hub/hub-options.js'
import { systemClock } from '../../../core/clock.js'
import { numberOf } from '../../../testkit/properties.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { spoiledFrame } from '../spoiled-frames.js'
import { LEASE, openStage, until } from './stage.js'

const SPOILERS = 4
/** They may send as fast as the machine can read, and nobody is cut off because it is slow. */
const UNLIMITED = {
  ...HUB_LIMITS.session,
  ...{ keepaliveMs: 3_600_000, pingMs: 3_600_000, writeMs: 3_600_000 },
  intake: { perSecond: 1_000_000, burst: 1_000_000 },
}
/** They may dial as often as they are cut off. */
const UNPACED = { ...HUB_LIMITS.listen, handshakes: undefined }

t.test('no frame ends the hub, or the connection of somebody else', async t => {
  const runs = numberOf('EDGE_HEALTH_FUZZ') ?? 4_000
  if (numberOf('EDGE_HEALTH_FUZZ') !== undefined) t.setTimeout(0)
  const random = seededRandom(numberOf('FC_SEED') ?? 1)
  const stage = await openStage(t, {
    clock: systemClock,
    limits: { session: UNLIMITED, listen: UNPACED, frameBytes: 1 << 16, partBytes: 1 << 18 },
  })
  const { hub, raw, dial, reports, log, ended } = stage
  const good = await dial('good')
  const before = process.memoryUsage().heapUsed
  let heard = 0
  let connections = 0
  const below = (limit: number): number => random.below(limit)
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)))

  const bugs: unknown[] = []
  /** What was told and what was logged is the test's own memory. */
  const look = (): void => {
    heard += reports.length
    bugs.push(...log.lines.filter(({ message }) => message.startsWith('bug')))
    if (ended('good').length > 0) bugs.push('the good edge lost its connection')
    for (const list of [reports, log.lines]) list.length = 0
  }
  /** What no edge does, and what ends a connection; most frames are spoiled in their text alone. */
  const odd: readonly ((socket: WebSocket, frame: string) => void)[] = [
    (socket, frame) => socket.send(frame, { binary: true }),
    (socket, frame) => socket.send(frame.slice(0, below(frame.length)), { fin: false }),
    socket => void (socket as unknown as { _socket: Duplex })._socket.write(bytes(1 + below(20))),
    socket => socket.send('x'.repeat(1 << 17)),
    socket => socket.ping(bytes(below(125))),
    socket => socket.pong(bytes(below(125))),
    socket => socket.close(1000 + below(4)),
  ]
  const spoil = (socket: WebSocket): void => {
    const frame = spoiledFrame(random)
    const act = odd[below(40)]
    if (act === undefined) socket.send(frame)
    else act(socket, frame)
  }

  const play = async (node: string): Promise<void> => {
    for (let sent = 0; sent < runs / SPOILERS;) {
      const socket = await raw(node)
      connections++
      while (socket.readyState === WebSocket.OPEN && sent < runs / SPOILERS) {
        spoil(socket)
        if (++sent % 20 === 0) {
          await wait(0)
          look()
        }
      }
      socket.terminate()
    }
  }
  await Promise.all(Array.from({ length: SPOILERS }, (_, index) => play(`bad-${index}`)))
  look()
  t.strictSame(bugs, [])
  good.say(LEASE, 'still here')
  await until(() => reports.some(one => one.kind === 'received' && one.link.node === 'good'))
  t.ok(connections > SPOILERS && heard > 0, `${connections} connections, ${heard} things told`)
  await until(() => hub.status.connected === 1)
  t.ok(process.memoryUsage().heapUsed < before + 256 * 1024 * 1024, 'nothing of them is kept')
})
