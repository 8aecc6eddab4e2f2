// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { EventStream } from '../../../agent/http/event-stream.js'
import { makeStatusFeed } from '../../../agent/http/status-feed.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'

/** A client of a stream; one that does not read has all that was written still to come. */
const streamClient = (writableLength: number, reads = true) => ({
  writableLength,
  destroyed: false,
  got: [] as string[],
  writeHead: () => undefined,
  on: () => undefined,
  write(bytes: Buffer) {
    this.got.push(bytes.toString())
    if (!reads) this.writableLength += bytes.length
  },
  end: () => undefined,
  destroy() {
    this.destroyed = true
    this.writableLength = 0
  },
})

t.test('a stream whose client does not read is closed, the others go on', t => {
  const log = recordingLog()
  const clock = new FakeClock()
  const stream = new EventStream(clock, log, { maxUnread: 100 })
  const client = streamClient
  const slow = client(90)
  const quick = client(0)
  const first = { event: 'snapshot', id: 1, data: '{}' }
  t.ok(stream.open(slow as never, () => first))
  t.ok(stream.open(quick as never, () => first))
  stream.send({ event: 'change', id: 2, data: '{"a":1}' })
  t.ok(slow.destroyed)
  t.equal(quick.got.length, 2)
  t.equal(stream.clients, 1)
  for (let i = 1; i < 32; i++) t.ok(stream.open(client(0) as never, () => first))
  t.notOk(
    stream.open(client(0) as never, () => first),
    'not more than 32',
  )
  stream.close()
  t.equal(clock.waiting, 0)
  t.end()
})

t.test(
  'streams that nobody reads take so much memory together, however many changes there are',
  t => {
    for (const isSnapshot of [false, true]) {
      const log = recordingLog()
      const stream = new EventStream(new FakeClock(), log, { maxUnread: 100_000, isSnapshot })
      const slow = Array.from({ length: 30 }, () => streamClient(0, false))
      const quick = streamClient(0)
      const event = (id: number) => ({ event: 'change', id, data: 'x'.repeat(2_000) })
      for (const client of [...slow, quick]) t.ok(stream.open(client as never, () => event(0)))
      let most = 0
      for (let id = 1; id <= 1_000; id++) {
        stream.send(event(id))
        most = Math.max(
          most,
          slow.reduce((sum, { writableLength }) => sum + writableLength, 0),
        )
      }
      t.ok(most <= 100_000, `${most} bytes`)
      t.equal(quick.got.length, 1_001, 'who reads misses nothing')
      t.equal(quick.destroyed, false)
      if (isSnapshot) {
        t.ok(slow.every(({ got, destroyed }) => got.length === 1 && !destroyed))
        slow[0]!.writableLength = 0
        stream.send(event(1_001))
        t.match(slow[0]!.got, { length: 2 }, 'a whole view waits until the one before is read')
        const large = { event: 'change', id: 1_002, data: 'x'.repeat(60_000) }
        for (const client of slow) client.writableLength = 0
        stream.send(large)
        t.ok(
          slow.every(({ destroyed }) => !destroyed),
          'all share the bytes of one view',
        )
      } else t.ok(slow.every(({ destroyed }) => destroyed))
      stream.close()
    }
    t.end()
  },
)

t.test('a stranger has eight streams, all strangers 24, the node’s own programs the rest', t => {
  const stream = new EventStream(new FakeClock(), recordingLog())
  let made = 0
  const open = (source?: string) =>
    stream.open(streamClient(0) as never, () => ({ event: 'a', id: (made += 1), data: '' }), source)
  const opened = (source: string) => Array.from({ length: 10 }, () => open(source)).filter(Boolean)
  for (const source of ['user 1', 'user 2', 'user 3']) t.equal(opened(source).length, 8, source)
  t.notOk(open('user 4'))
  for (let i = 0; i < 8; i++) t.ok(open())
  t.notOk(open())
  t.equal(made, 32, 'nothing is made for whoever is refused')
  stream.close()
  t.end()
})

t.test('streams opened together share one view, unless something changed', t => {
  const clock = new FakeClock()
  let made = 0
  const feed = makeStatusFeed(() => (made += 1), clock, recordingLog())
  const first = (): string | undefined => {
    const client = streamClient(0)
    feed.open(client as never)
    return /data: (.*)/.exec(client.got[0]!)?.[1]
  }
  t.strictSame([first(), first()], ['1', '1'])
  feed.changed()
  t.equal(first(), '2', 'what changed is seen at once')
  feed.close()
  const alone = makeStatusFeed(() => (made += 1), clock, recordingLog())
  let leave = (): void => undefined
  const gone = { ...streamClient(0), on: (_: string, close: () => void) => (leave = close) }
  alone.open(gone as never)
  leave()
  alone.changed()
  alone.open(streamClient(0) as never)
  t.equal(made, 4, 'also by whoever comes when nobody watched')
  alone.close()
  t.end()
})
