// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { silentLog } from '../../../core/log.js'
import { jsonCodec } from '../../../kube/client/json-codec.js'
import { listWatch } from '../../../kube/client/list-watch.js'
import { FakeClock, settleOnce } from '../../../testkit/fake-clock.js'
import { PlayedApiserver } from '../../../testkit/kube/played-apiserver.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const WATCHES = 1_000
/** Watches of one client, such as an agent's. */
const EACH = 5

/** Requests of each second from the moment at which the apiserver listens again. */
const comeBack = async (downMs: number, startingMs: number, { forgets = true } = {}) => {
  const clock = new FakeClock(0, 0, { gridMs: 50, settle: settleOnce })
  const server = new PlayedApiserver(clock)
  const nothing = (): undefined => undefined
  const spec = {
    ...{ what: 'nodes', path: '/api/v1/nodes', query: {}, codec: jsonCodec, parse: String },
    sink: { replace: nothing, upsert: nothing, remove: nothing },
  }
  const clients = Array.from({ length: WATCHES / EACH }, () => server.client)
  const watchings = Array.from({ length: WATCHES }, (_, i) =>
    listWatch(
      spec,
      { client: clients[i % clients.length]!, clock, random: seededRandom(i + 1), log: silentLog },
      { spreadMs: 10_000, fromCache: true, bookmarks: false, watchMs: 3_600_000 },
    ),
  )
  await clock.advance(10_000)
  server.crash()
  await clock.advance(downMs)
  server.begin()
  await clock.advance(startingMs)
  server.return(forgets)
  const before = server.requests.length
  const from = clock.now()
  await clock.advance(40_000)
  const perSecond = Array.from({ length: 40 }, () => 0)
  const after = server.requests.slice(before)
  for (const { at } of after) perSecond[Math.floor(Math.max(0, at - from - 1) / 1_000)]!++
  const refused = server.requests.filter(({ what }) => what === 'refused').length
  const lists = after.filter(({ what }) => what === 'list').length
  const isBack = watchings.every(({ status }) => status.state === 'watching')
  await Promise.all(watchings.map(watching => watching.stop()))
  return { perSecond, refused, lists, isBack }
}

const rows: [downS: number, startingS: number][] = [
  [3, 0],
  [6, 0],
  [6, 3],
  [20, 3],
  [120, 3],
]
for (const [downS, startingS] of rows)
  t.test(`down for ${downS} s, and refusing for ${startingS} s more`, async t => {
    const { perSecond, refused, lists, isBack } = await comeBack(downS * 1_000, startingS * 1_000)
    t.ok(isBack)
    t.equal(lists, WATCHES, 'one for each watch whose version it no longer knows')
    const peak = Math.max(...perSecond)
    t.ok(peak <= 0.2 * 3 * WATCHES, `a fifth of three requests each in a second: ${peak}`)
    t.ok(refused <= 0.5 * WATCHES, `half of them are refused once: ${refused}`)
  })

t.test('who knows all that was written lists nothing', async t => {
  const { lists, isBack } = await comeBack(6_000, 3_000, { forgets: false })
  t.ok(isBack)
  t.equal(lists, 0)
})
