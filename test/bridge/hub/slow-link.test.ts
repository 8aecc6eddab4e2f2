// SPDX-License-Identifier: Apache-2.0
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import t from 'tap'
import type { Message } from '../../../bridge/model/message/message.js'
import { takenBytes } from '../../../net/taken-bytes.js'
import { openStage, until } from './stage.js'

const message = (bytes: number): Message =>
  ({
    ...{ id: 'm1', parentId: '', timestamp: 0, sync: false },
    ...{ source: 'edgecontroller', group: 'resource', operation: 'update', resource: 'a/b/c' },
    content: 'x'.repeat(bytes),
  }) as unknown as Message

t.test('a message that takes longer than a minute arrives, as long as some of it is taken', async t => {
  const accepted: Socket[] = []
  const note = (one: unknown): void => void accepted.push((one as { socket: Socket }).socket)
  subscribe('net.server.socket', note)
  t.teardown(() => unsubscribe('net.server.socket', note))
  const { raw, clock, linkOf, ended } = await openStage(t)
  const edge = await raw('e1')
  let got = 0
  edge.on('message', (text: Buffer) => {
    got = text.length
  })
  edge.pause()
  const network = accepted[0]!
  const link = linkOf('e1')
  // More than the kernel's buffers take.
  const whole = 40 << 20
  link.send(message(whole))
  const taken = (): number => takenBytes(network)!
  for (let minute = 0; minute < 3; minute++) {
    const before = taken()
    edge.resume()
    await until(() => taken() > before || ended('e1').length > 0)
    edge.pause()
    await clock.advance(28_000)
    t.strictSame([ended('e1'), got], [[], 0])
    await clock.advance(28_000)
  }
  edge.resume()
  await until(() => got > whole)
  t.strictSame(ended('e1'), [])
}) // prettier-ignore
