// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { answer, refusal } from '../../../testkit/http/scripted-server.js'
import {
  bookmark,
  ended,
  event,
  eventually,
  gone,
  list,
  open,
  setUp,
} from '../../../testkit/kube/scripted-watch.js'

t.test(
  'without bookmarks a watch goes on for its time, and may be silent for all of it',
  async t => {
    const { server, clock, watching, state, sink } = await setUp(
      t,
      [list('10', ['a']), open(), open(event('MODIFIED', 'a', '11')), open(), open(), open()],
      { watch: { bookmarks: false, watchMs: 3_600_000 } },
    )
    const asked = async (n: number): Promise<[seconds: number, hasBookmarks: boolean]> => {
      const { query } = await server.request(n)
      await state('watching')
      return [Number(query.get('timeoutSeconds')), query.has('allowWatchBookmarks')]
    }
    const [seconds, hasBookmarks] = await asked(1)
    t.ok(seconds >= 2_400 && seconds <= 4_800, `an hour, a third more or less: ${seconds} s`)
    t.notOk(hasBookmarks)
    await clock.advance(seconds * 1000 + 59_000)
    t.equal(server.asked.length, 2, 'its server has a minute more to end it')
    await clock.advance(3_000)
    const [proof, wantsProof] = await asked(2)
    t.ok(wantsProof, 'after trouble the next one asks whether the server knows its version')
    t.ok(proof <= 120, 'and not for long')
    await sink.until(2)
    await clock.advance(50_000)
    server.asked[2]!.line(bookmark('12'))
    await eventually(() => watching.status.lastHeardAt === clock.now())
    await clock.advance(proof * 1000 - 50_000)
    server.asked[2]!.end()
    const [whole, wantsNoMore] = await asked(3)
    t.equal(wantsNoMore, false, 'once it has heard something, no more')
    await clock.advance(whole * 1000)
    server.asked[3]!.end()
    t.equal((await asked(4))[1], false, 'nor after a watch that ended on time')
    await clock.advance(6_000)
    server.asked[4]!.end()
    t.equal((await asked(5))[1], true, 'but after one that was ended before its time')
    t.equal(watching.status.lists, 1)
  },
)

t.test('a watch that follows a list without a version is short: it may bring nothing, ever', async t => {
  const { server, clock, state } = await setUp(
    t,
    [answer({ kind: 'NodeList', metadata: {}, items: [] }), open(), list('10', ['a']), open()],
    { watch: { bookmarks: false, watchMs: 7_200_000 } },
  )
  const seconds = async (n: number): Promise<number> => {
    const { query } = await server.request(n)
    await state('watching')
    return Number(query.get('timeoutSeconds'))
  }
  const first = await seconds(1)
  t.ok(first >= 60 && first <= 120, `${first} s`)
  await clock.advance(first * 1_000)
  server.asked[1]!.end()
  t.ok((await seconds(3)) >= 4_800)
}) // prettier-ignore

t.test('lists from the memory of the server are never older than what is known', async t => {
  const { server, waitedFor, sink } = await setUp(
    t,
    [
      list('10', ['a']),
      ended(event('MODIFIED', 'a', '17'), gone),
      refusal(504, 'Timeout'),
      list('5', []),
      list('5', ['b']),
      open(),
    ],
    { watch: { fromCache: true, pageSize: 200 } },
  )
  await waitedFor(5)
  const [first, , second, present, third, watch] = server.asked.map(({ query }) =>
    Object.fromEntries(query),
  )
  t.strictSame(first, { resourceVersion: '0' }, 'any state will do at first, in one page')
  t.strictSame(second, { resourceVersion: '17', resourceVersionMatch: 'NotOlderThan' })
  t.strictSame(present, { fieldSelector: 'metadata.name=0' }, 'how far is its store?')
  t.strictSame(third, { limit: '200' }, 'a server that has none so new gives what it has')
  t.equal(watch!['resourceVersion'], '5', 'its store may have been restored')
  t.strictSame(sink.changes, ['=a', '+a', '=b'])
})

t.test('watches that were well come back spread over some time', async t => {
  const waits: number[] = []
  for (let seed = 0; seed < 12; seed++) {
    const { server, clock, waitedFor, state } = await setUp(t, [list('1', []), open(), open()], {
      watch: { spreadMs: 30_000 },
      seed,
    })
    await server.request(1)
    await state('watching')
    await clock.advance(5_001)
    server.asked[1]!.reset()
    await state('backing-off')
    waits.push(await waitedFor(2))
  }
  t.ok(Math.max(...waits) > 15_000 && Math.min(...waits) < 15_000, waits.join())
  t.ok(Math.max(...waits) <= 31_000)
})
