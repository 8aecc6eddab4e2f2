// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { silentLog } from '../../../core/log.js'
import { jsonCodec } from '../../../kube/client/json-codec.js'
import { listWatch } from '../../../kube/client/list-watch.js'
import { StoreProgress } from '../../../kube/client/store-progress.js'
import { FakeClock, settleOnce } from '../../../testkit/fake-clock.js'
import { PlayedApiserver } from '../../../testkit/kube/played-apiserver.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const makeFollower = () => ({
  lists: 0,
  listAgain() {
    this.lists++
  },
})

const make = () => {
  const progress = new StoreProgress()
  const [one, two] = [makeFollower(), makeFollower()]
  for (const follower of [one, two]) {
    progress.follow(follower)
    progress.listed(follower, '100', false)
  }
  const lists = (): number[] => [one.lists, two.lists]
  return { progress, one, two, lists }
}

t.test('after an outage the store is asked once how far it is', async t => {
  const { progress, lists } = make()
  let asked = 0
  const ask = (version: string) => async (): Promise<string> => {
    asked++
    return version
  }
  await progress.check(ask('1'))
  t.equal(asked, 0, 'nobody doubts')
  progress.wasAway()
  t.match(progress.trouble, /was away/)
  await Promise.all([progress.check(ask('100')), progress.check(ask('100'))])
  t.equal(asked, 1)
  t.equal(progress.trouble, undefined)
  t.strictSame(lists(), [0, 0])
})

t.test('a store that is less far is listed by all, and until then nothing is known', async t => {
  const { progress, one, two, lists } = make()
  progress.reached('120')
  progress.wasAway()
  await progress.check(async () => '119')
  t.strictSame(lists(), [1, 1])
  t.match(progress.trouble, /was restored/)
  progress.listed(one, '119', false)
  t.match(progress.trouble, /was restored/)
  progress.refused(two)
  t.equal(progress.trouble, undefined, 'nobody waits for what may not be listed')
  progress.wasAway()
  await progress.check(async () => '119')
  t.strictSame(lists(), [1, 1], 'it counts from the restored store on')
})

t.test('whoever finds an older store by itself tells the others', async t => {
  const { progress, one, two, lists } = make()
  progress.listed(one, '60', true)
  t.strictSame(lists(), [0, 1])
  t.match(progress.trouble, /was restored/)
  progress.leave(two)
  t.equal(progress.trouble, undefined)
})

t.test('two watches that break at once leave in doubt who answers next, one does not', async t => {
  const { progress } = make()
  progress.broke(10_000)
  progress.broke(11_000)
  t.equal(progress.trouble, undefined)
  progress.broke(11_999)
  t.match(progress.trouble, /was away/)
})

t.test('what cannot be known ends the doubt; what fails does not', async t => {
  const { progress, lists } = make()
  progress.wasAway()
  await t.rejects(
    progress.check(() => Promise.reject(new Error('away'))),
    { message: 'away' },
  )
  t.match(progress.trouble, /was away/)
  await progress.check(async () => '')
  t.match(progress.trouble, /was away/, 'another watch may know')
  await progress.check(async () => '')
  t.equal(progress.trouble, undefined, 'nobody knows')
  t.strictSame(lists(), [0, 0])
  const fresh = new StoreProgress()
  fresh.wasAway()
  t.equal(fresh.trouble, undefined, 'who knows nothing yet cannot be wrong')
  progress.reached('not a number')
  progress.wasAway()
  await progress.check(async () => '100')
  t.strictSame(lists(), [0, 0])
})

t.test('all watches of a client list a restored store within seconds of its return', async t => {
  const clock = new FakeClock(0, 0, { gridMs: 50, settle: settleOnce })
  const server = new PlayedApiserver(clock)
  const nothing = (): undefined => undefined
  const spec = {
    ...{ what: 'nodes', path: '/api/v1/nodes', query: {}, codec: jsonCodec, parse: String },
    sink: { replace: nothing, upsert: nothing, remove: nothing },
  }
  const { client } = server
  const watchings = [1, 2, 3, 4].map(seed =>
    listWatch(
      spec,
      { client, clock, random: seededRandom(seed), log: silentLog },
      { bookmarks: false, watchMs: 7_200_000, fromCache: true },
    ),
  )
  const lists = (): number[] => watchings.map(({ status }) => status.lists)
  const restart = async (goOn: () => void, awayMs = 5_000): Promise<void> => {
    server.crash()
    await clock.advance(awayMs)
    goOn()
    await clock.advance(15_000)
  }
  await clock.advance(10_000)
  await restart(() => server.return(true))
  t.strictSame(lists(), [2, 2, 2, 2], 'a newer store')
  await restart(() => server.return(false))
  t.strictSame(lists(), [2, 2, 2, 2], 'the same store')
  await restart(() => server.restore())
  t.strictSame(lists(), [3, 3, 3, 3], 'an older store')
  await restart(() => server.return(true))
  await restart(() => server.restore(), 0)
  t.strictSame(lists(), [5, 5, 5, 5], 'an older store at once')
  t.equal(client.progress.trouble, undefined)
  t.ok(watchings.every(({ status }) => status.state === 'watching'))
  await Promise.all(watchings.map(watching => watching.stop()))
})
