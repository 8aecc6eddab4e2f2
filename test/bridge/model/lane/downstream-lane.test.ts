// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { DownstreamLane, type Sending } from '../../../../bridge/model/lane/downstream-lane.js'
import {
  DOWNSTREAM_LIMITS,
  type DownstreamLimits,
} from '../../../../bridge/model/lane/downstream-limits.js'

const makeLane = (limits: Partial<DownstreamLimits> = {}) => {
  let count = 0
  const seams = { newId: () => `m${++count}`, spread: (ms: number) => ms + 1 }
  const lane = new DownstreamLane<string>(seams, { ...DOWNSTREAM_LIMITS, ...limits })
  lane.open()
  return lane
}
const notice = (key: string, value: string, uid = key, bytes = 10) => ({ key, uid, value, bytes })
/** `m1 a` for a message that leaves, `m1 a again` for one that leaves again. */
const texts = (sent: readonly Sending<string>[]): readonly string[] =>
  sent.map(({ id, notice, isResend }) => `${id} ${notice.value}${isResend ? ' again' : ''}`)

t.test('a few at a time, in the order in which they came', t => {
  const lane = makeLane({ window: 2 })
  for (const name of ['a', 'b', 'c']) lane.offer(notice(name, name))
  t.strictSame(texts(lane.take(0)), ['m1 a', 'm2 b'])
  t.strictSame(texts(lane.take(0)), [], 'the window is full')
  t.equal(lane.inFlight, 2)
  t.match(lane.acknowledge('m1'), { value: 'a' })
  t.strictSame(texts(lane.take(1)), ['m3 c'])
  t.equal(lane.acknowledge('m1'), undefined, 'once')
  t.equal(lane.acknowledge('other'), undefined, 'the OK to a reply is nothing of this lane')
  t.strictSame([lane.messages, lane.bytes], [2, 20])
  t.end()
})

t.test('16 by default', t => {
  const lane = makeLane()
  for (let index = 0; index < 100; index++) lane.offer(notice(String(index), 'x'))
  t.equal(lane.take(0).length, 16)
  t.end()
})

t.test('at most 256 KiB of messages are unacknowledged, or one that is larger', t => {
  const lane = makeLane()
  for (const name of ['a', 'b', 'c']) lane.offer(notice(name, name, name, 128 << 10))
  lane.offer(notice('large', 'large', 'large', 900_000))
  lane.offer(notice('d', 'd'))
  t.strictSame(texts(lane.take(0)), ['m1 a', 'm2 b'])
  lane.acknowledge('m1')
  t.strictSame(texts(lane.take(0)), ['m3 c'])
  lane.acknowledge('m2')
  t.strictSame(texts(lane.take(0)), [], 'the larger one waits until it is alone, in its turn')
  lane.acknowledge('m3')
  t.strictSame(texts(lane.take(0)), ['m4 large'])
  lane.acknowledge('m4')
  t.strictSame(texts(lane.take(0)), ['m5 d'])
  t.end()
})

t.test('an acknowledgement is missed only after the message has left the buffer', t => {
  const lane = makeLane()
  lane.offer(notice('a', 'a1'))
  t.strictSame(texts(lane.take(0)), ['m1 a1'])
  lane.buffered('m1')
  t.equal(lane.nextAt, Infinity)
  t.strictSame(texts(lane.take(60_000)), [], 'a slow link is no reason to send it again')
  lane.left('m1', 60_000)
  t.equal(lane.nextAt, 65_000)
  t.strictSame(texts(lane.take(65_000)), ['m1 a1 again'])
  lane.acknowledge('m1')
  lane.left('m1', 70_000)
  t.equal(lane.nextAt, Infinity, 'who is acknowledged is waited for no longer')
  t.end()
})

t.test('one notice per object is in flight, and a newer one replaces a queued one', t => {
  const lane = makeLane()
  lane.offer(notice('a', 'a1'))
  t.strictSame(texts(lane.take(0)), ['m1 a1'])
  lane.offer(notice('a', 'a2'))
  lane.offer(notice('a', 'a3', 'a', 30))
  t.strictSame([lane.messages, lane.bytes], [2, 40])
  t.strictSame(texts(lane.take(0)), [])
  lane.acknowledge('m1')
  t.strictSame(texts(lane.take(0)), ['m2 a3'], 'a2 was never sent')
  lane.acknowledge('m2')
  t.strictSame([lane.messages, lane.bytes, lane.nextAt], [0, 0, Infinity])
  t.end()
})

t.test('another object of the same name is queued behind the first', t => {
  const lane = makeLane()
  lane.offer(notice('pod set-0', 'update u1', 'u1'))
  lane.offer(notice('pod set-0', 'delete u1', 'u1'))
  lane.offer(notice('pod set-0', 'update u2', 'u2'))
  lane.offer(notice('pod set-0', 'update u2 again', 'u2'))
  const order: string[] = []
  for (let sent = lane.take(0); sent.length > 0; sent = lane.take(0)) {
    t.equal(sent.length, 1)
    order.push(sent[0]!.notice.value)
    lane.acknowledge(sent[0]!.id)
  }
  t.strictSame(order, ['delete u1', 'update u2 again'])
  t.end()
})

t.test('an unacknowledged message is resent three times, then deferred, and others are sent', t => {
  const lane = makeLane({ window: 1 })
  lane.offer(notice('a', 'a1'))
  lane.offer(notice('b', 'b1'))
  t.strictSame(texts(lane.take(0)), ['m1 a1'])
  t.equal(lane.nextAt, 5000)
  t.strictSame(texts(lane.take(4999)), [])
  t.strictSame(texts(lane.take(5000)), ['m1 a1 again'])
  t.strictSame(texts(lane.take(10_000)), ['m1 a1 again'])
  t.strictSame(texts(lane.take(15_000)), ['m1 a1 again'])
  t.strictSame(lane.deferrals(), [])
  t.strictSame(texts(lane.take(20_000)), ['m2 b1'])
  t.strictSame(lane.deferrals(), [
    { key: 'a', uid: 'a', reason: 'no ack', until: 50_001, times: 1 },
  ])
  t.equal(lane.messages, 2, 'it is not lost')
  lane.acknowledge('m2')
  t.equal(lane.nextAt, 50_001)
  t.strictSame(texts(lane.take(50_000)), [])
  t.strictSame(texts(lane.take(50_001)), ['m1 a1'])
  for (const at of [1, 2, 3, 4]) lane.take(50_001 + 5000 * at)
  t.match(lane.deferrals(), [{ times: 2 }])
  t.match(lane.acknowledge('m1'), { value: 'a1' }, 'a late acknowledgement counts')
  t.strictSame([lane.deferrals(), lane.messages, lane.nextAt], [[], 0, Infinity])
  t.end()
})

t.test('a newer notice replaces a deferred one', t => {
  const lane = makeLane()
  lane.offer(notice('a', 'a1'))
  lane.take(0)
  lane.offer(notice('a', 'a2', 'a', 50))
  lane.refuse('m1', 'error: no room', 7)
  t.strictSame(lane.deferrals(), [
    { key: 'a', uid: 'a', reason: 'error: no room', until: 30_008, times: 1 },
  ])
  t.strictSame([lane.messages, lane.bytes], [1, 50], 'the older one is dropped')
  lane.offer(notice('a', 'a3'))
  t.strictSame([lane.messages, lane.bytes], [1, 10])
  t.strictSame(texts(lane.take(100)), [], 'a change is no reason to try sooner')
  t.equal(
    lane.acknowledge('m1'),
    undefined,
    'nor does an acknowledgement of the older one count for this',
  )
  t.strictSame(texts(lane.take(30_008)), ['m2 a3'])
  lane.acknowledge('m2')
  lane.refuse('m2', 'x', 0)
  t.equal(lane.messages, 0)
  t.end()
})

t.test('an object that is refused again and again waits longer each time, until its content changes', t => {
  const lane = makeLane()
  lane.offer(notice('a', 'a1'))
  const waits: number[] = []
  for (let now = 0; waits.length < 9;) {
    for (const { id } of lane.take(now)) lane.refuse(id, 'x', now)
    waits.push(lane.nextAt - now - 1)
    now = lane.nextAt
  }
  t.strictSame(waits.map(ms => ms / 1_000), [30, 60, 120, 240, 480, 960, 1_800, 1_800, 1_800])
  const [{ until } = { until: 0 }] = lane.deferrals()
  lane.offer(notice('a', 'a2'))
  t.equal(lane.nextAt, until - 1_800_000 + 30_000)
  lane.offer(notice('a', 'a3'))
  t.equal(lane.nextAt, until - 1_800_000 + 30_000, 'no sooner')
  const now = lane.nextAt
  const [again] = lane.take(now)
  t.match(again, { notice: { value: 'a3' } })
  lane.refuse(again!.id, 'x', now)
  t.match(lane.deferrals(), [{ times: 1, until: now + 30_001 }])
  t.end()
}) // prettier-ignore

t.test('an object queued behind a deferred one of the same name waits as well', t => {
  const lane = makeLane()
  lane.offer(notice('a', 'delete u1', 'u1'))
  lane.take(0)
  lane.offer(notice('a', 'update u2', 'u2'))
  lane.refuse('m1', 'x', 0)
  t.equal(lane.messages, 2)
  t.strictSame(texts(lane.take(30_001)), ['m1 delete u1'])
  t.end()
})

t.test('an object stays ahead of the next object of the same name', t => {
  const lane = makeLane()
  lane.offer(notice('a', 'update u1', 'u1'))
  lane.offer(notice('a', 'update u2', 'u2'))
  lane.offer(notice('a', 'delete u1', 'u1'))
  t.strictSame(texts(lane.take(0)), ['m1 delete u1'])
  lane.acknowledge('m1')
  t.strictSame(texts(lane.take(0)), ['m2 update u2'])
  lane.offer(notice('a', 'update u2 again', 'u2'))
  lane.open()
  t.equal(lane.messages, 1, 'on the next connection the older one is out of date')
  lane.offer(notice('a', 'delete u2', 'u2'))
  t.strictSame(texts(lane.take(0)), ['m3 delete u2'])
  t.end()
})

t.test('after a disconnect, what was in flight is sent first on the next connection', t => {
  const lane = makeLane({ window: 1 })
  lane.offer(notice('a', 'a1'))
  lane.offer(notice('b', 'b1'))
  lane.take(0)
  lane.close()
  t.strictSame([texts(lane.take(60_000)), lane.nextAt, lane.inFlight], [[], Infinity, 0])
  lane.offer(notice('c', 'c1'))
  lane.open()
  t.strictSame(texts(lane.take(60_000)), ['m1 a1'])
  t.match(lane.acknowledge('m1'), { value: 'a1' })
  t.strictSame(texts(lane.take(60_000)), ['m2 b1'])
  lane.open()
  lane.offer(notice('b', 'b2'))
  t.equal(lane.acknowledge('m2'), undefined, 'b1 is not b2')
  t.strictSame(texts(lane.take(60_000)), ['m3 b2'], 'the next connection gets what is newer')
  lane.open()
  t.match(
    lane.acknowledge('m3'),
    { value: 'b2' },
    'an acknowledgement of what was sent on the last one',
  )
  t.strictSame(texts(lane.take(60_000)), ['m4 c1'])
  lane.refuse('m4', 'x', 60_000)
  lane.open()
  t.strictSame(lane.deferrals(), [], 'what was deferred is tried again at once')
  t.strictSame(texts(lane.take(60_000)), ['m4 c1'])
  t.end()
})

t.test('what was dropped for lack of room is found again by a comparison', t => {
  const lane = makeLane({ maxMessages: 4, maxBytes: 100 })
  for (const name of ['a', 'b', 'c', 'd']) t.equal(lane.offer(notice(name, name)), true)
  t.equal(lane.mustCompare, false)
  t.equal(lane.offer(notice('e', 'e')), false)
  t.equal(lane.offer(notice('a', 'a2')), true, 'what takes the place of another needs no room')
  t.equal(lane.offer(notice('a', 'a3', 'a', 71)), false, 'but its bytes do')
  t.equal(lane.offer(notice('a', 'a4', 'a', 5)), true)
  t.equal(lane.mustCompare, false, 'not before there is room')
  const [one, two] = lane.take(0)
  lane.acknowledge(one!.id)
  t.equal(lane.mustCompare, false)
  lane.acknowledge(two!.id)
  t.equal(lane.mustCompare, true)
  lane.compared()
  t.equal(lane.mustCompare, false)
  const wide = makeLane({ maxBytes: 100 })
  t.equal(
    wide.offer(notice('a', 'a', 'a', 1000)),
    true,
    'one that is larger than all room goes alone',
  )
  t.equal(wide.offer(notice('b', 'b')), false)
  t.equal(wide.mustCompare, false)
  wide.acknowledge(wide.take(0)[0]!.id)
  t.equal(wide.mustCompare, true)
  t.end()
})
