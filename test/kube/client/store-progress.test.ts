// SPDX-License-Identifier: Apache-2.0
import type { Readable } from 'node:stream'
import t from 'tap'
import { KubeStatusError } from '../../../core/errors.js'
import { silentLog } from '../../../core/log.js'
import type { TypedBody } from '../../../kube/client/codec.js'
import { jsonCodec } from '../../../kube/client/json-codec.js'
import { listWatch } from '../../../kube/client/list-watch.js'
import { StoreProgress } from '../../../kube/client/store-progress.js'
import { FakeClock, settleOnce } from '../../../testkit/fake-clock.js'
import { PlayedApiserver } from '../../../testkit/kube/played-apiserver.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const makeFollower = () => ({
  ...{ lists: 0, asked: 0, isWatching: false },
  presentVersion: async (): Promise<string> => '',
  /** The newest version that it has received of its own resource. */
  own: 0,
  get newest(): string | undefined {
    return this.own === 0 ? undefined : String(this.own)
  },
  listAgain() {
    this.lists++
  },
  /** What it is told from now on when it asks. */
  hears(version: string | Error) {
    this.presentVersion = async () => {
      this.asked++
      if (typeof version !== 'string') throw version
      return version
    }
    return this
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
  const { progress, one, two, lists } = make()
  await progress.check(one.hears('1'))
  t.equal(one.asked, 0, 'nobody doubts')
  progress.wasAway()
  t.match(progress.trouble, /was away/)
  await Promise.all([one, two].map(each => progress.check(each.hears('100'))))
  t.equal(one.asked + two.asked, 1)
  t.equal(progress.trouble, undefined)
  t.strictSame(lists(), [0, 0])
})

t.test('an answer from before an outage does not end the doubt after it', async t => {
  const { progress, one, two, lists } = make()
  const answers: ((version: string) => void)[] = []
  one.presentVersion = () => new Promise(resolve => answers.push(resolve))
  progress.wasAway()
  const checked = progress.check(one)
  progress.wasAway()
  answers[0]!('100')
  await settleOnce()
  t.match(progress.trouble, /was away/)
  t.strictSame([answers.length, lists()], [2, [0, 0]], 'it is asked again')
  progress.reached(two, '120')
  two.presentVersion = async () => {
    // It is away once more while another is asked.
    if (answers.length === 2) progress.wasAway()
    return '60'
  }
  answers[1]!('60')
  await settleOnce()
  answers[2]!('')
  await checked
  t.match(progress.trouble, /was away/)
  await progress.check(two)
  t.strictSame(lists(), [1, 1])
})

t.test('a store that is less far is listed by all, and until then nothing is known', async t => {
  const { progress, one, two, lists } = make()
  progress.reached(one, '120')
  progress.wasAway()
  await progress.check(one.hears('119'))
  t.strictSame(lists(), [1, 1])
  t.match(progress.trouble, /was restored/)
  progress.listed(one, '119', false)
  t.match(progress.trouble, /was restored/)
  progress.refused(two)
  t.equal(progress.trouble, undefined, 'nobody waits for what may not be listed')
  progress.wasAway()
  await progress.check(two.hears('119'))
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
  const { progress, one, two, lists } = make()
  progress.wasAway()
  await t.rejects(progress.check(one.hears(new Error('away'))), { message: 'away' })
  t.match(progress.trouble, /was away/)
  await progress.check(one.hears(''))
  t.match(progress.trouble, /was away/, 'another watch may know')
  await progress.check(two.hears(''))
  t.equal(progress.trouble, undefined, 'nobody knows')
  t.strictSame(lists(), [0, 0])
  const fresh = new StoreProgress()
  fresh.wasAway()
  t.equal(fresh.trouble, undefined, 'who knows nothing yet cannot be wrong')
  progress.reached(one, 'not a number')
  progress.wasAway()
  await progress.check(one.hears('100'))
  t.strictSame(lists(), [0, 0])
})

t.test('a resource in an etcd of its own is compared with itself', async t => {
  const { progress, one, two, lists } = make()
  progress.reached(one, '900')
  progress.wasAway()
  await Promise.all([progress.check(two.hears('101')), progress.check(one.hears('900'))])
  t.strictSame(lists(), [0, 0], 'the other etcd is as far as before')
  t.equal(progress.trouble, undefined)
  two.own = 101
  progress.wasAway()
  await progress.check(two.hears('99'))
  t.strictSame(lists(), [1, 1], 'its own went back')
  const rows: [why: string, farthest: string | Error][] = [
    ['both went back', '899'],
    ['the other one cannot be known', ''],
    ['the other one is away', new Error('away')],
  ]
  for (const [why, farthest] of rows) {
    const again = make()
    again.progress.reached(again.one.hears(farthest), '900')
    again.progress.wasAway()
    await again.progress.check(again.two.hears('101'))
    t.strictSame(again.lists(), [1, 1], why)
  }
  const left = make()
  left.progress.reached(left.one, '900')
  left.progress.leave(left.one)
  left.progress.wasAway()
  await left.progress.check(left.two.hears('101'))
  t.strictSame(left.lists(), [0, 1], 'nobody is left to compare with')
})

t.test('what arrives while the store is asked makes its answer no older', async t => {
  const { progress, one, two, lists } = make()
  progress.wasAway()
  one.own = 100
  one.presentVersion = async () => {
    progress.reached(one, '130')
    one.own = 130
    return '120'
  }
  await progress.check(one)
  t.strictSame(lists(), [0, 0])
  t.equal(progress.trouble, undefined)
  progress.wasAway()
  one.presentVersion = async () => {
    progress.reached(one, '150')
    return '140'
  }
  await progress.check(two.hears('101'))
  t.strictSame(
    lists(),
    [0, 0],
    'nor that of the farthest, where another resource has its own store',
  )
})

t.test('news that arrive while the store is asked do not hide that it went back', async t => {
  const { progress, one, two, lists } = make()
  progress.reached(one, '120')
  progress.wasAway()
  one.presentVersion = async () => {
    progress.reached(two, '130')
    return '90'
  }
  await progress.check(one)
  t.strictSame(lists(), [1, 1])
})

t.test('an older store that another one found while it was asked for is listed once', async t => {
  const { progress, one, two, lists } = make()
  progress.wasAway()
  one.presentVersion = async () => {
    progress.listed(two, '60', true)
    return '60'
  }
  await progress.check(one)
  t.strictSame(lists(), [1, 0])
})

t.test('who joins a question that has no answer asks itself', async t => {
  const { progress, one, two, lists } = make()
  const third = makeFollower().hears('50')
  progress.follow(third)
  progress.wasAway()
  const checks = [one.hears(''), two.hears(''), third].map(each => progress.check(each))
  await Promise.all(checks)
  t.strictSame(
    [one, two, third].map(({ asked }) => asked),
    [2, 1, 1],
    'and the farthest one once more, before all is listed',
  )
  t.strictSame([...lists(), third.lists], [1, 1, 1])
})

t.test('who asks twice in vain is one that cannot tell', async t => {
  const { progress, one, two } = make()
  progress.wasAway()
  for (let time = 0; time < 3; time++) await progress.check(one.hears(''))
  t.match(progress.trouble, /was away/, 'another watch may know')
  progress.leave(two)
  await progress.check(one)
  t.equal(progress.trouble, undefined, 'nobody knows')
})

t.test('where one resource alone is away those in an open watch tell', async t => {
  const { progress, one, two, lists } = make()
  two.isWatching = true
  two.hears('100')
  progress.wasAway()
  t.match(progress.trouble, /was away/, 'that it is open says nothing')
  await settleOnce()
  t.equal(progress.trouble, undefined)
  two.hears(new Error('away'))
  progress.wasAway()
  await settleOnce()
  t.match(progress.trouble, /was away/, 'open, but nobody is there')
  t.equal(one.asked, 0)
  two.hears('99')
  await t.rejects(progress.check(one.hears(new Error('no list'))), { message: 'no list' })
  await settleOnce()
  t.match(progress.trouble, /was restored/)
  t.strictSame(lists(), [1, 1])
})

const nothing = (): undefined => undefined
const SPEC = {
  ...{ what: 'nodes', path: '/api/v1/nodes', query: {}, codec: jsonCodec, parse: String },
  sink: { replace: nothing, upsert: nothing, remove: nothing },
}

type Refusal = () => Promise<never> | TypedBody
const notThere = new KubeStatusError('GET', { status: 503, reason: 'No', message: '' })
/** What a server says that is about to start again. */
const later = new KubeStatusError('GET', {
  ...{ status: 503, reason: 'ServiceUnavailable', message: '' },
  retryAfterMs: 120_000,
})
const rows: [why: string, refuse: Refusal][] = [
  ['is unavailable', () => Promise.reject(notThere)],
  ['is no list', () => ({ type: 'text/html', bytes: Buffer.from('<html>') })],
]
for (const [why, refuse] of rows)
  t.test(`a resource that alone ${why} leaves no doubt about the others`, async t => {
    const clock = new FakeClock(0, 0, { gridMs: 50, settle: settleOnce })
    const server = new PlayedApiserver(clock)
    const { client } = server
    const whole = client.body.bind(client)
    let asked = 0
    client.body = async (call, ...all) => {
      asked++
      return call.path.startsWith('/broken') ? refuse() : whole(call, ...all)
    }
    const watchings = ['/nodes', '/broken'].map((path, i) =>
      listWatch(
        { ...SPEC, path },
        { client, clock, random: seededRandom(i + 1), log: silentLog },
        { bookmarks: false, watchMs: 7_200_000 },
      ),
    )
    for (let second = 0; second < 600; second++) {
      await clock.advance(1_000)
      if (client.progress.trouble !== undefined) t.fail(`after ${second} s`)
    }
    t.ok(asked < 100, `it asks seldom: ${asked}`)
    server.crash()
    await clock.advance(60_000)
    t.match(client.progress.trouble, /was away/)
    server.return(false)
    await clock.advance(60_000)
    t.equal(client.progress.trouble, undefined)
    t.strictSame(
      watchings.map(({ status }) => status.lists),
      [1, 0],
    )
    await Promise.all(watchings.map(watching => watching.stop()))
  })

t.test('a server that is away when a watch has ended in good order is doubted, too', async t => {
  const clock = new FakeClock(0, 0, { gridMs: 50, settle: settleOnce })
  const server = new PlayedApiserver(clock)
  server.return(true)
  const { client } = server
  const open = client.open.bind(client)
  let isAway = false
  let last: Readable | undefined
  client.open = async (...all) => {
    if (isAway) throw later
    const answer = await open(...all)
    last = answer.body
    return answer
  }
  const watching = listWatch(SPEC, { client, clock, random: seededRandom(1), log: silentLog })
  await clock.advance(20_000)
  isAway = true
  last!.push(null)
  await clock.advance(1_000)
  t.match(client.progress.trouble, /was away/)
  isAway = false
  server.restore()
  await clock.advance(121_000)
  t.equal(watching.status.lists, 2, 'with the first request that it answers')
  t.equal(client.progress.trouble, undefined)
  await watching.stop()
})

t.test('a server whose list is of no use is there, and its list is not waited for', async t => {
  const clock = new FakeClock(0, 0, { gridMs: 50, settle: settleOnce })
  const server = new PlayedApiserver(clock)
  const { client } = server
  const watching = listWatch(SPEC, { client, clock, random: seededRandom(1), log: silentLog })
  await clock.advance(10_000)
  // It no longer knows the version from which the next watch is asked for.
  server.return(true)
  client.body = async () => ({ type: 'text/html', bytes: Buffer.from('<html>') })
  await clock.advance(95_000)
  t.match(watching.status.trouble, /not JSON/)
  t.equal(client.progress.trouble, undefined)
  const other = makeFollower()
  client.progress.follow(other)
  client.progress.listed(other, '0', true)
  t.match(client.progress.trouble, /was restored/)
  await clock.advance(30_000)
  t.equal(client.progress.trouble, undefined)
  await watching.stop()
})

t.test('all watches of a client list a restored store within seconds of its return', async t => {
  const clock = new FakeClock(0, 0, { gridMs: 50, settle: settleOnce })
  const server = new PlayedApiserver(clock)
  const { client } = server
  const watchings = [1, 2, 3, 4].map(seed =>
    listWatch(
      SPEC,
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
