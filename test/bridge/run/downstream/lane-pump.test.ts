// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeLink } from '../../../../bridge/hub/node-link.js'
import { DownstreamLane } from '../../../../bridge/model/lane/downstream-lane.js'
import type { ObjectMessage } from '../../../../bridge/run/downstream/expected-objects.js'
import { LanePump } from '../../../../bridge/run/downstream/lane-pump.js'
import { parseNodeName } from '../../../../core/ids.js'
import { FakeClock, settle } from '../../../../testkit/fake-clock.js'

const SIZE = 900_000

const openPump = () => {
  const clock = new FakeClock()
  let ids = 0
  const lane = new DownstreamLane<ObjectMessage>({ newId: () => `m${++ids}`, spread: ms => ms })
  const counts = { sent: 0, resent: 0, acknowledged: 0, refused: 0 }
  const pump = new LanePump(lane, {
    ...{ clock, record: { sending: () => Promise.resolve() } },
    count: what => {
      counts[what]++
    },
  })
  for (let i = 0; i < 20; i++) {
    const of = { type: 'configmap', namespace: 'shop', name: `m${i}` } as const
    const held = { ...of, version: '1', print: '' }
    const value = { kind: 'update', held, text: '{}' } as const
    lane.offer({ key: of.name, uid: of.name, bytes: SIZE, value })
  }
  /** What the connection still has to write. */
  const buffer: { readonly id: string; readonly onLeft: () => void }[] = []
  const connect = (): NodeLink => {
    const link: NodeLink = {
      ...{ node: parseNodeName('e1'), remote: '10.0.0.1', since: 0 },
      ...{ isBehind: false, isHeld: false },
      hold: () => undefined,
      release: () => undefined,
      send: ({ id }, onLeft = () => undefined) => buffer.push({ id, onLeft }) > 0,
    }
    pump.open(link)
    lane.open()
    return link
  }
  return { buffer, clock, connect, counts, lane, pump }
}

t.test('20 objects of 900 kB over a link that takes 30 s for each: sent once, one after another', async t => {
  const { buffer, clock, connect, counts, lane, pump } = openPump()
  connect()
  await pump.send()
  for (let i = 0; i < 20; i++) {
    await clock.advance(30_000)
    t.equal(buffer.length, 1, 'not more is in the buffer')
    const { id, onLeft } = buffer.shift()!
    onLeft()
    await clock.advance(1_000)
    t.ok(lane.acknowledge(id))
    await pump.send()
  }
  t.match(counts, { sent: 20, resent: 0 })
  t.strictSame(lane.deferrals(), [])
}) // prettier-ignore

t.test('what has left and is not acknowledged is sent again', async t => {
  const { buffer, clock, connect, counts, pump } = openPump()
  connect()
  await pump.send()
  buffer.shift()!.onLeft()
  await clock.advance(5_000)
  t.match(counts, { sent: 1, resent: 1 })
})

t.test('what an earlier connection lost does not count as sent on this one', async t => {
  const { buffer, clock, connect, counts, lane, pump } = openPump()
  connect()
  await pump.send()
  pump.close()
  lane.close()
  connect()
  await pump.send()
  t.equal(buffer.length, 2)
  buffer.shift()!.onLeft()
  await clock.advance(60_000)
  await settle()
  t.match(counts, { sent: 2, resent: 0 })
})
