// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import type { AgentAnswer } from '../../../wrapper/health/agent-client.js'
import { noHealth, type HealthFeed } from '../../../wrapper/health/feed.js'
import { makeHealthFeed } from '../../../wrapper/health/health-feed.js'
import { Interest } from '../../../agent/stages/check/interest.js'
import { LOCAL_LIMITS } from '../../../agent/http/limits.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

/** An answer that the test goes on with. */
class OpenAnswer {
  #wake: () => void = () => undefined
  readonly #chunks: Buffer[] = []
  #error: Error | undefined
  #isOver = false

  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.cut(signal.reason as Error))
  }

  write(text: string): void {
    this.#chunks.push(Buffer.from(text))
    this.#wake()
  }

  event(event: string, value: unknown): void {
    this.write(`event: ${event}\nid: 1\ndata: ${JSON.stringify(value)}\n\n`)
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  cut(error: Error): void {
    this.#error ??= error
    this.#wake()
  }

  async *chunks(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) yield chunk
      else if (this.#isOver) return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }
}

interface Asked {
  readonly url: URL
  readonly answer: OpenAnswer
  readonly signal: AbortSignal
}

/** What the agent does with its next question. */
type Answering = 'stream' | 'refuse' | 'hang' | { readonly status?: number; readonly body: unknown }

interface Bed {
  readonly clock: FakeClock
  readonly feed: HealthFeed
  readonly asked: Asked[]
  readonly reported: (readonly string[])[]
  readonly log: ReturnType<typeof recordingLog>
  /** How every question is answered from now on: streams and plain ones. */
  answering: { stream: Answering; plain: Answering }
  interest: readonly string[]
  health(...names: string[]): readonly string[]
  streams(): readonly Asked[]
}

const makeBed = (t: Test, stream: Answering, plain: Answering = { body: {} }): Bed => {
  const clock = new FakeClock()
  const log = recordingLog()
  const asked: Asked[] = []
  const reported: (readonly string[])[] = []
  const ask = async (text: string, signal: AbortSignal): Promise<AgentAnswer> => {
    const url = new URL(text)
    const answer = new OpenAnswer(signal)
    asked.push({ url, answer, signal })
    const wantsStream = url.searchParams.has('stream')
    const how = wantsStream ? bed.answering.stream : bed.answering.plain
    if (how === 'refuse') throw new Error('connect ECONNREFUSED')
    if (how === 'hang')
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      )
    if (how === 'stream') return { status: 200, isStream: true, chunks: answer.chunks() }
    answer.write(typeof how.body === 'string' ? how.body : JSON.stringify(how.body))
    answer.end()
    return { status: how.status ?? 200, isStream: false, chunks: answer.chunks() }
  }
  const feed = makeHealthFeed(
    { address: 'http://127.0.0.1:51005/localinfo', intervalMs: 10_000, limitMs: 300_000 },
    {
      ...{ clock, log, ask, random: seededRandom(1) },
      addresses: { addressesOf: () => [], namesOf: () => [] },
      interest: () => bed.interest,
      onChange: names => reported.push(names),
    },
  )
  const bed: Bed = {
    ...{ clock, feed, asked, reported, log, answering: { stream, plain }, interest: [] },
    health: (...names) => names.map(name => feed.of(name)),
    streams: () => asked.filter(({ url }) => url.searchParams.has('stream')),
  }
  t.teardown(() => feed.stop())
  feed.start()
  return bed
}

const both = { a: { Normal: true }, b: { Normal: true } }

t.test('a stream sends everything first, then changes at once', async t => {
  const bed = makeBed(t, 'stream')
  await settle()
  t.match(bed.feed.status, { state: 'waiting', source: 'none', ageMs: undefined })
  t.equal(bed.feed.isFresh, false)
  const { answer } = bed.asked[0]!
  answer.event('snapshot', both)
  await settle()
  t.strictSame(bed.health('a', 'b', 'c'), ['normal', 'normal', 'unknown'])
  t.match(bed.feed.status, { state: 'fresh', source: 'push', nodes: 2, dead: [], connects: 1 })
  bed.reported.length = 0
  answer.event('change', { b: { Normal: false } })
  await settle()
  t.strictSame(bed.reported, [['b']], 'told without any time passing')
  t.strictSame(bed.health('a', 'b'), ['normal', 'dead'])
  answer.event('change', { b: null })
  await settle()
  t.strictSame(bed.health('b'), ['unknown'], 'it left')
  t.equal(bed.log.lines.filter(({ level }) => level === 'warn').length, 0)
})

t.test('after a stream breaks the last report counts, and it is opened again soon', async t => {
  const bed = makeBed(t, 'stream')
  await settle()
  bed.asked[0]!.answer.event('snapshot', { ...both, b: { Normal: false } })
  await settle()
  bed.reported.length = 0
  bed.asked[0]!.answer.end()
  bed.answering.stream = 'refuse'
  await settle()
  t.match(bed.feed.status, { state: 'last-known', trouble: 'the agent ended the stream' })
  t.strictSame(bed.health('b'), ['dead'])
  t.equal(bed.feed.isFresh, true)
  await bed.clock.advance(60_000)
  const tries = bed.streams().length
  t.ok(tries > 8 && tries < 30, `tried again ${tries} times in a minute, not in a rush`)
  t.equal(bed.log.lines.filter(({ level }) => level === 'warn').length, 1, 'one complaint')
  t.strictSame(bed.reported, [])
  bed.answering.stream = 'stream'
  await bed.clock.advance(10_000)
  bed.streams().at(-1)!.answer.event('snapshot', both)
  await settle()
  t.strictSame(bed.reported, [['b']], 'only what is different is told')
  t.match(bed.feed.status, { state: 'fresh', trouble: undefined, connects: 2 })
})

t.test('after the limit no report counts, and listeners are told', async t => {
  const bed = makeBed(t, 'stream')
  await settle()
  bed.asked[0]!.answer.event('snapshot', { ...both, b: { Normal: false } })
  await settle()
  bed.asked[0]!.answer.end()
  bed.answering.stream = 'refuse'
  bed.reported.length = 0
  await bed.clock.advance(299_000)
  t.equal(bed.feed.isFresh, true)
  t.strictSame(bed.reported, [])
  await bed.clock.advance(2_000)
  t.equal(bed.feed.isFresh, false)
  t.match(bed.feed.status, { state: 'expired' })
  t.strictSame(bed.reported, [['b']])
  bed.answering.stream = 'stream'
  await bed.clock.advance(10_000)
  bed.reported.length = 0
  bed
    .streams()
    .at(-1)!
    .answer.event('snapshot', { ...both, b: { Normal: false } })
  await settle()
  t.equal(bed.feed.isFresh, true)
  t.strictSame(bed.reported, [['b']], 'believed again: told again, although nothing else changed')
})

t.test('an agent that hangs with its stream open is detected by a request', async t => {
  const bed = makeBed(t, 'stream', 'hang')
  await settle()
  bed.asked[0]!.answer.event('snapshot', both)
  await bed.clock.advance(22_000)
  t.match(bed.feed.status, { state: 'last-known', trouble: /no answer within 5000 ms/ })
  t.equal(bed.asked[0]!.signal.aborted, true, 'its stream is closed')
})

t.test('a silent stream is closed, even if requests are answered', async t => {
  const bed = makeBed(t, 'stream', { body: both })
  await settle()
  const first = bed.asked[0]!
  first.answer.event('snapshot', both)
  for (let i = 0; i < 4; i++) {
    await bed.clock.advance(15_000)
    first.answer.write(': still here\n\n')
    await settle()
  }
  t.equal(bed.streams().length, 1, 'comments keep it')
  await bed.clock.advance(39_000)
  t.equal(first.signal.aborted, false)
  await bed.clock.advance(2_000)
  t.equal(first.signal.aborted, true)
  t.equal(bed.streams().length, 2)
})

/** A feed that knows `b` as dead from a stream that has ended; each later stream is what the test makes of it. */
const afterReport = async (t: Test, ...given: [Answering, Answering?]): Promise<Bed> => {
  const bed = makeBed(t, ...given)
  await settle()
  bed.asked[0]!.answer.event('snapshot', { ...both, b: { Normal: false } })
  bed.asked[0]!.answer.end()
  await settle()
  return bed
}

/** Let time pass, and write to each stream as soon as it is open. */
const writingToEach = async (bed: Bed, ms: number, write: Row[2]) => {
  const written = new Set<Asked>()
  const until = bed.clock.now() + ms
  while (bed.clock.now() < until) {
    for (const stream of bed.streams().slice(1)) {
      if (written.has(stream)) continue
      written.add(stream)
      write(stream.answer)
    }
    await bed.clock.advance(250)
  }
}

type Row = readonly [string, Answering, (answer: OpenAnswer) => unknown]

for (const [what, plain, write] of [
  [
    'a report that cannot be read, in two pieces,',
    'refuse',
    answer => {
      answer.write('event: snapshot\nid: 2\n')
      answer.write('data: {"b":{"Normal":"yes"}}\n\n')
    },
  ],
  ['a comment before the agent hangs', 'hang', answer => answer.write(': still here\n\n')],
  ['half a report', 'refuse', answer => answer.write('event: snapshot\ndata: {"b":')],
  ['a change without a report before it', 'refuse', answer => answer.event('change', {})],
] as const satisfies readonly Row[])
  t.test(`${what} does not keep the last report fresh, nor make it fresh again`, async t => {
    const bed = await afterReport(t, 'stream', plain)
    await writingToEach(bed, 299_000, write)
    t.match(bed.feed.status, { state: 'last-known', dead: ['b'] })
    await writingToEach(bed, 301_000, write)
    t.equal(bed.feed.isFresh, false, `${bed.feed.status.state}, ${bed.feed.status.ageMs} ms old`)
    t.ok(bed.streams().length < 250, `${bed.streams().length} streams in ten minutes: no rush`)
  })

t.test('a stream that has not reported yet is fresh once the request beside it was', async t => {
  const bed = await afterReport(t, 'stream', 'refuse')
  bed.answering.stream = 'refuse'
  await bed.clock.advance(400_000)
  t.equal(bed.feed.isFresh, false)
  bed.answering = { stream: 'stream', plain: { body: both } }
  await bed.clock.advance(10_000)
  t.equal(bed.feed.isFresh, false)
  await bed.clock.advance(17_000)
  t.match(bed.feed.status, { state: 'fresh', dead: [] })
})

t.test('requests beside the stream restore what it lost, but never overtake it', async t => {
  const bed = makeBed(t, 'stream', { body: { ...both, b: { Normal: false } } })
  await settle()
  const { answer } = bed.asked[0]!
  answer.event('snapshot', both)
  await bed.clock.advance(17_000)
  t.strictSame(bed.health('b'), ['dead'], 'the whole document is believed')
  bed.answering.plain = 'stream'
  await bed.clock.advance(15_000)
  const look = bed.asked.at(-1)!
  t.equal(look.url.searchParams.has('stream'), false)
  answer.event('change', { b: { Normal: true } })
  await settle()
  look.answer.write(JSON.stringify({ ...both, b: { Normal: false } }))
  look.answer.end()
  await settle()
  t.strictSame(bed.health('b'), ['normal'], 'an answer that was on its way when news came is not')
})

t.test('an agent that cannot stream is polled, and one that learns it is streamed', async t => {
  const bed = makeBed(t, { body: { a: { normal: true }, b: {} } })
  await settle()
  t.strictSame(bed.health('a', 'b'), ['normal', 'dead'])
  t.match(bed.feed.status, { state: 'fresh', source: 'poll' })
  await bed.clock.advance(60_000)
  t.ok(bed.asked.length >= 6 && bed.asked.length <= 8, `asked ${bed.asked.length} times in 60 s`)
  bed.answering.stream = { status: 500, body: 'no' }
  await bed.clock.advance(20_000)
  t.match(bed.feed.status, { state: 'last-known', trouble: 'the agent answers 500' })
  bed.answering.stream = { body: '{"a":{"normal":1}}' }
  await bed.clock.advance(20_000)
  t.match(bed.feed.status, { state: 'last-known', trouble: /a: normal must be true or false/ })
  t.strictSame(bed.health('a', 'b'), ['normal', 'dead'], 'nothing of it is believed')
  bed.answering.stream = 'stream'
  await bed.clock.advance(20_000)
  bed.streams().at(-1)!.answer.event('snapshot', both)
  await settle()
  t.match(bed.feed.status, { state: 'fresh', source: 'push' })
  t.strictSame(bed.health('b'), ['normal'])
})

t.test('every request carries our interest, at most 32 names', async t => {
  const bed = makeBed(t, 'stream')
  bed.interest = ['a', 'b']
  await bed.clock.advance(0)
  bed.asked[0]!.answer.event('snapshot', both)
  bed.interest = Array.from({ length: 40 }, (_, i) => `n${i}`)
  await bed.clock.advance(17_000)
  const look = bed.asked.at(-1)!.url.searchParams
  t.equal(look.get('interest')?.split(',').length, 32)
  t.equal(look.get('stream'), null)
})

t.test('a request with long names is no longer than what an agent accepts', async t => {
  const bed = makeBed(t, 'stream')
  bed.interest = Array.from({ length: 32 }, (_, i) => `n${i}.`.padEnd(253, 'x'))
  await bed.clock.advance(0)
  bed.asked[0]!.answer.event('snapshot', both)
  await bed.clock.advance(17_000)
  const { url } = bed.asked.at(-1)!
  t.ok(url.href.length < LOCAL_LIMITS.headerBytes - 1_024, 'there is room for headers')
  t.ok(url.searchParams.get('interest')!.split(',').length > 20)
})

t.test('long names that have no room in one request are in the next one', async t => {
  const bed = makeBed(t, 'stream')
  bed.interest = Array.from({ length: 32 }, (_, i) => `n${i}.`.padEnd(253, 'x'))
  await bed.clock.advance(0)
  bed.asked[0]!.answer.event('snapshot', both)
  const kept = new Interest(bed.clock)
  let read = 0
  for (let s = 0; s < 300; s++) {
    await bed.clock.advance(1_000)
    bed.asked[0]!.answer.write(': still there\n\n')
    for (const { url } of bed.asked.slice(read))
      kept.ask(url.searchParams.get('interest')?.split(',') ?? [], true)
    read = bed.asked.length
    kept.expire()
    if (s > 40) t.strictSame(kept.names, [...bed.interest].sort(), `the agent knows all, ${s} s`)
  }
  t.ok(read > 15, `${read} requests`)
})

t.test('names of a request that failed are not taken for known', async t => {
  const bed = makeBed(t, 'refuse')
  bed.interest = Array.from({ length: 32 }, (_, i) => `n${i}.`.padEnd(253, 'x'))
  await bed.clock.advance(60_000)
  const named = bed.asked.slice(1).map(({ url }) => url.searchParams.get('interest'))
  t.ok(named.length > 3, `${named.length} requests`)
  t.equal(new Set(named).size, 1, 'the same again, until an agent answers')
})

t.test('a stream with more nodes than a zone has is broken off', async t => {
  const bed = makeBed(t, 'stream')
  await settle()
  const { answer, signal } = bed.asked[0]!
  const named = (prefix: string): object =>
    Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`${prefix}${i}`, {}]))
  answer.event('snapshot', named('a'))
  await settle()
  answer.event('change', named('b'))
  await settle()
  t.ok(signal.aborted)
  t.match(bed.feed.status, { nodes: 15_000, trouble: /must hold at most 20000 nodes/ })
})

t.test('an oversized document is refused', async t => {
  const bed = makeBed(t, { body: ' '.repeat((2 << 20) + 1) })
  await settle()
  t.match(bed.feed.status, { state: 'waiting', trouble: /larger than/ })
})

t.test('stopped while it waits, streams or requests, it ends for good', async t => {
  for (const how of ['stream', 'hang', 'refuse'] as const) {
    const bed = makeBed(t, how)
    await bed.clock.advance(1_000)
    const { length } = bed.asked
    await bed.feed.stop()
    await bed.feed.stop()
    await bed.clock.advance(60_000)
    t.equal(bed.asked.length, length, how)
    t.equal(bed.clock.waiting, 0, `${how}: no timer is left`)
  }
})

t.test('with health off every node is unknown', async t => {
  noHealth.start()
  await noHealth.stop()
  t.match(noHealth, { isFresh: false, status: { state: 'off' } })
  t.equal(noHealth.of('a'), 'unknown')
})
