// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { EventRecorder, type EventRecorderSeams } from '../../controller/event-recorder.js'
import type { EventText } from '../../controller/event-series.js'
import { KubeStatusError, KubeUnreachableError, WithheldError } from '../../core/errors.js'
import type { WriteGuard } from '../../kube/client/write.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'

interface Sent {
  readonly verb: 'create' | 'patch'
  readonly name: string
  readonly namespace: string
  readonly note: string | undefined
  readonly count: number
}

interface Body {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly note?: string
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
}

const words = (note: string, reason = 'NameTaken'): EventText => ({
  ...{ type: 'Warning', reason, action: 'Apply', note },
})
const about = (name: string) => ({
  ...{
    apiVersion: 'superedge.io/v1',
    kind: 'ServiceGrid',
    namespace: 'shop',
    name,
    uid: `uid-${name}`,
  },
})
const status = (code: number, retryAfterMs?: number): Error =>
  new KubeStatusError('events', { status: code, reason: '', message: '', retryAfterMs })

/** A recorder, and what the server gets; `answer` is how it answers each. */
const bed = (guard?: WriteGuard) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const sent: Sent[] = []
  const one = { answer: (_sent: Sent): Promise<void> => Promise.resolve() }
  const take = async (
    verb: Sent['verb'],
    where: Body['metadata'],
    { body, signal }: { body: Body; signal: AbortSignal },
  ): Promise<void> => {
    const reason = guard?.()
    if (reason !== undefined) throw new WithheldError(verb, reason)
    const { namespace, name } = where
    const count = body.series?.count ?? 1
    const write = { verb, name, namespace, note: body.note, count }
    sent.push(write)
    const cut = new Promise<void>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    await Promise.race([one.answer(write), cut])
  }
  const client: EventRecorderSeams['client'] = {
    create: async (type, _where, { body }, signal) => {
      const event = body as unknown as Body
      await take('create', event.metadata, { body: event, signal })
      return type.parse(undefined)
    },
    patch: async (type, of, { patch }, signal) => {
      const { body } = patch as unknown as { body: Body }
      await take('patch', { namespace: '', ...of } as Body['metadata'], { body, signal })
      return type.parse(undefined)
    },
  }
  const seams = { client, clock, random: seededRandom(1), log }
  const options = { reportingController: 'grids', reportingInstance: 'me', guard }
  return { clock, log, sent, one, recorder: new EventRecorder(seams, options) }
}

const short = ({ verb, note = '', count }: Sent): string => `${verb} ${note} ${count}`

t.test('the same about one object is one Event with a count', async t => {
  const { clock, sent, recorder } = bed()
  recorder.record(about('web'), words('taken'))
  recorder.record(about('web'), words('taken'))
  await clock.advance(0)
  t.strictSame(sent.map(short), ['create taken 1'])
  for (let i = 0; i < 5; i++) recorder.record(about('web'), words('taken'))
  await clock.advance(59_000)
  t.equal(sent.length, 1, 'counts are written once a minute')
  await clock.advance(2_000)
  t.strictSame(sent.map(short), ['create taken 1', 'patch  7'])
  t.equal(sent[0]!.name, sent[1]!.name)
  t.match(sent[0], { namespace: 'shop', name: /^web\.[0-9a-f]{16}$/ })
  recorder.record(about('web'), words('taken', 'Other'))
  recorder.record(about('api'), words('taken'))
  await clock.advance(0)
  t.strictSame(sent.slice(2).map(short), ['create taken 1', 'create taken 1'])
  await clock.advance(1_800_000)
  recorder.record(about('web'), words('taken'))
  await clock.advance(0)
  t.equal(short(sent.at(-1)!), 'create taken 1', 'after half an hour it is another one')
  t.strictSame(recorder.status, { pending: 0, sent: 5, dropped: 0 })
})

t.test('one object cannot fill the queue, and dropped Events are counted', async t => {
  const { clock, sent, recorder } = bed()
  for (let i = 0; i < 30; i++) recorder.record(about('web'), words(`n${i}`))
  recorder.record(about('api'), words('other'))
  await clock.advance(0)
  t.equal(sent.length, 11)
  await clock.advance(60_000)
  recorder.record(about('web'), words('later'))
  await clock.advance(0)
  t.equal(sent.at(-1)!.note, 'later (20 other Events left out)')
  t.equal(recorder.status.dropped, 20)
})

t.test('a note is cut at 1024 bytes, whatever was left out before', async t => {
  const { clock, sent, recorder } = bed()
  recorder.record(about('web'), words('ä'.repeat(5_000)))
  for (let i = 0; i < 12; i++) recorder.record(about('web'), words(`n${i}`))
  await clock.advance(60_000)
  recorder.record(about('web'), words('ö'.repeat(5_000)))
  await clock.advance(0)
  for (const { note } of [sent[0]!, sent.at(-1)!]) {
    t.ok(Buffer.byteLength(note!) <= 1_024 && Buffer.byteLength(note!) > 1_000)
    t.notMatch(note, '\ufffd')
  }
})

t.test(
  'a server in trouble is left alone, and gets what waits later; recording never waits',
  async t => {
    const { clock, log, sent, one, recorder } = bed()
    one.answer = () => Promise.reject(new KubeUnreachableError('events', 'gone'))
    recorder.record(about('web'), words('a'))
    recorder.record(about('web'), words('b'))
    await clock.advance(600_000)
    t.ok(sent.length >= 10 && sent.length <= 17, `${sent.length} tries in ten minutes`)
    t.equal(log.lines.filter(({ level }) => level === 'warn').length, 1, 'told once')
    one.answer = () => Promise.reject(status(429, 120_000))
    sent.length = 0
    while (sent.length === 0) await clock.advance(1_000)
    await clock.advance(118_000)
    t.equal(sent.length, 1, 'it asked for two minutes')
    one.answer = () => Promise.resolve()
    sent.length = 0
    await clock.advance(3_000)
    t.strictSame(new Set(sent.map(short)), new Set(['create a 1', 'create b 1']))
    t.equal(recorder.status.pending, 0)
  },
)

t.test('memory is bounded, whatever is recorded while nobody answers', async t => {
  const { clock, sent, one, recorder } = bed()
  one.answer = () => Promise.reject(status(503))
  for (let i = 0; i < 20_000; i++) recorder.record(about(`o${i}`), words('taken'))
  t.ok(recorder.status.pending <= 500)
  t.equal(recorder.status.dropped, 19_500 - 1, 'one is on its way')
  one.answer = () => Promise.resolve()
  await clock.advance(120_000)
  t.equal(recorder.status.pending, 0)
  t.ok(sent.length <= 503)
})

t.test(
  'what the server refuses is dropped, what it has already is done, what it forgot is made anew',
  async t => {
    const { clock, sent, one, recorder } = bed()
    one.answer = () => Promise.reject(status(403))
    recorder.record(about('web'), words('a'))
    await clock.advance(300_000)
    t.strictSame([sent.length, recorder.status.dropped, recorder.status.pending], [1, 1, 0])
    one.answer = () => Promise.reject(status(409))
    recorder.record(about('web'), words('b'))
    await clock.advance(300_000)
    t.strictSame([sent.length, recorder.status.dropped, recorder.status.pending], [2, 1, 0])
    one.answer = ({ verb }) => (verb === 'patch' ? Promise.reject(status(404)) : Promise.resolve())
    recorder.record(about('web'), words('b'))
    await clock.advance(0)
    t.strictSame(sent.slice(2).map(short), ['patch  2', 'create b 2'])
    t.equal(recorder.status.pending, 0)
  },
)

t.test('a process that does not lead sends no Events', async t => {
  const { clock, sent, recorder } = bed(() => 'this process does not lead')
  recorder.record(about('web'), words('a'))
  await clock.advance(1_000)
  t.strictSame([sent.length, recorder.status], [0, { pending: 0, sent: 0, dropped: 1 }])
})

t.test('a stop sends queued Events and counts, and gives up when aborted', async t => {
  const { clock, sent, recorder } = bed()
  const never = new AbortController().signal
  recorder.record(about('web'), words('a'))
  await clock.advance(10)
  recorder.record(about('web'), words('a'))
  recorder.record(about('web'), words('b'))
  await recorder.stop(never)
  t.strictSame(sent.map(short), ['create a 1', 'create b 1', 'patch  2'])
  recorder.record(about('web'), words('c'))
  await clock.advance(100_000)
  t.equal(sent.length, 3, 'nothing after it')

  const stuck = bed()
  stuck.one.answer = () => new Promise(() => undefined)
  stuck.recorder.record(about('web'), words('a'))
  const late = new AbortController()
  const stopping = stuck.recorder.stop(late.signal)
  late.abort()
  await stopping
})
