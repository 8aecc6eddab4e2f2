// SPDX-License-Identifier: Apache-2.0
// What is told once by one agent of a zone, as one agent sees it.
import t from 'tap'
import type { CloudLinkState } from '../../../../agent/results.js'
import { Announcement } from '../../../../agent/stages/write/announcement.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const options = {
  nodeName: 'n0',
  exchangePeriodMs: 5_000,
  cloudCheckPeriodMs: 10_000,
  cloudCheckTimeoutMs: 3_000,
  cloudCheckFailures: 2,
}
/** Three exchanges; two checks of the link besides; and how long a cut that begins then can go unnoticed. */
const HEARD_MS = 15_000
const LINKS_MS = 35_000
const SAID_MS = LINKS_MS + 3 * 14_000

const link = (state: CloudLinkState['state'], since: number): CloudLinkState => ({
  ...{ state, since, trouble: undefined },
})

/** An agent whose link works, and whose clock shows 100 s. */
const agent = () => {
  const clock = new FakeClock(100_000)
  const world = {
    clock,
    /** When it said what. */
    said: [] as (readonly [at: number, isSo: boolean])[],
    link: link('up', 0),
    readyAt: -Infinity,
    ids: [] as bigint[],
    /** What the apiserver answers. */
    isTaken: true,
    isSo: false,
    speaker: undefined as string | undefined,
    review: () => announcement.review({ isSo: world.isSo, speaker: world.speaker, say }),
    set: async (isSo: boolean, speaker: string | undefined, ms: number): Promise<void> => {
      Object.assign(world, { isSo, speaker })
      world.review()
      await clock.advance(ms)
    },
  }
  const say = (id: bigint): Promise<boolean> => {
    world.said.push([clock.now() - 100_000, world.isSo])
    world.ids.push(id)
    return Promise.resolve(world.isTaken)
  }
  const announcement = new Announcement(options, {
    clock,
    random: seededRandom(1),
    cloudLink: () => world.link,
    readyAt: () => world.readyAt,
    judge: () => world.review(),
  })
  return { ...world, world, announcement }
}

t.test('the speaker says it once, when it has been the speaker for three exchanges', async t => {
  const { world, announcement, set, clock } = agent()
  await set(false, 'n0', 60_000)
  t.ok(announcement.isSettled(false))
  t.strictSame(world.said, [])
  await set(true, 'n0', HEARD_MS - 1)
  t.strictSame(world.said, [])
  t.notOk(announcement.isSettled(true))
  await clock.advance(1)
  await set(true, 'n0', 600_000)
  t.strictSame(world.said, [[75_000, true]])
  t.ok(announcement.isSettled(true))
  t.equal(announcement.lastSpeaker, 'n0')
  await set(false, 'n0', 600_000)
  t.equal(world.said.length, 2)
  t.equal(new Set(world.ids).size, 2)
  t.equal(announcement.lastSpeaker, undefined, 'the next time it may be anybody')
})

t.test('who is the speaker for a moment says nothing', async t => {
  const { world, set } = agent()
  for (let round = 0; round < 20; round++) {
    await set(true, 'n0', HEARD_MS - 1)
    await set(true, 'n1', 1)
  }
  t.strictSame(world.said, [])
})

t.test('what ends before it was said is not said, nor its end', async t => {
  const { world, set, clock } = agent()
  await set(true, 'n0', HEARD_MS - 1)
  await set(false, 'n0', 600_000)
  t.strictSame(world.said, [])
  t.equal(clock.waiting, 0)
})

t.test('after a cut all others are given the time to see whose links work', async t => {
  const { world, set, clock } = agent()
  world.link = link('cut', 0)
  await set(true, 'n0', 600_000)
  t.strictSame(world.said, [], 'our link does not work')
  t.equal(clock.waiting, 0)
  world.link = link('up', clock.now())
  await set(true, 'n0', LINKS_MS - 1)
  t.strictSame(world.said, [])
  await clock.advance(1)
  t.strictSame(world.said, [[600_000 + LINKS_MS, true]])
})

t.test('an apiserver that asked us to wait is not asked before', async t => {
  const { world, set } = agent()
  world.readyAt = 100_000 + 50_000
  await set(true, 'n0', 600_000)
  t.strictSame(world.said, [[50_000, true]])
})

t.test(
  'what did not get through is said again, and by the next one when our link is cut',
  async t => {
    const { world, set } = agent()
    world.isTaken = false
    await set(true, 'n0', 2 * (HEARD_MS + LINKS_MS))
    t.strictSame(
      world.said.map(([at]) => at),
      [HEARD_MS, 2 * HEARD_MS + LINKS_MS],
    )
    t.equal(new Set(world.ids).size, 1, 'as the same Event: the answer may have been lost')
    await set(true, 'n1', 10_000)
    world.isTaken = true
    await set(true, 'n0', HEARD_MS)
    t.equal(world.said.length, 3)
  },
)

t.test(
  'who is not the speaker says it when the speaker falls out before a cut was noticed',
  async t => {
    for (const [afterMs, times] of [
      [SAID_MS - 1, 1],
      [SAID_MS, 0],
    ] as const) {
      const { world, set, announcement } = agent()
      await set(true, 'n1', afterMs)
      t.equal(announcement.lastSpeaker, times === 0 ? 'n1' : undefined)
      await set(true, 'n0', HEARD_MS)
      t.equal(world.said.length, times, `after ${afterMs} ms`)
      await set(true, undefined, 600_000)
      t.equal(world.said.length, times, 'nobody is known who could')
    }
  },
)

t.test(
  'an agent that is not heard by a majority forgets for how long it knew the speaker',
  async t => {
    const { world, set, clock, announcement } = agent()
    await set(true, 'n0', HEARD_MS - 1)
    announcement.forget()
    t.equal(clock.waiting, 0)
    await clock.advance(60_000)
    t.strictSame(world.said, [])
    await set(true, 'n0', HEARD_MS - 1)
    t.strictSame(world.said, [])
    await clock.advance(1)
    t.equal(world.said.length, 1)
  },
)

t.test('where nothing is said of the end it is noted in silence', async t => {
  const { announcement, world, set } = agent()
  await set(true, 'n0', HEARD_MS)
  announcement.review({ isSo: false, speaker: 'n0', say: undefined })
  t.equal(announcement.lastSpeaker, undefined)
  await set(true, 'n0', HEARD_MS)
  t.strictSame(
    world.said.map(([, isSo]) => isSo),
    [true, true],
    'the next time it is said again',
  )
})
