// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { makeResultStore, type ResultStore } from '../../agent/store.js'
import { TurnLoop } from '../../agent/turn-loop.js'
import type { Changes } from '../../vote/judge.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { scenario } from '../../testkit/zone/scenario.js'

type Act = 'look' | 'vote' | 'refreshed' | 'review'

/** A loop, and what it had done so far. */
const makeLoop = (onVote: () => void = () => undefined) => {
  const clock = new FakeClock()
  const store = makeResultStore(clock.now())
  const acts: Act[] = []
  const note = (act: Act) => () => void acts.push(act)
  const loop = new TurnLoop({ clock, store, suspension: { look: note('look') } })
  const vote = () => {
    acts.push('vote')
    onVote()
  }
  const zone = { isSteady: false, isIdle: false }
  const parts = [
    {
      vote,
      refreshed: note('refreshed'),
      get isSteady() {
        return zone.isSteady
      },
    },
    {
      review: note('review'),
      get isIdle() {
        return zone.isIdle
      },
    },
  ] as const
  loop.start(...parts)
  return { clock, store, acts, loop, zone }
}

/** A vote that moved somebody's state. */
const moved = (store: ResultStore): void => {
  const rest = { nextAt: Infinity, burst: false, steady: false }
  const changes: Changes = { local: [], verdict: [], state: true, ...rest }
  store.vote.emit({ state: store.zone.current!, changes, vouchMoved: false })
}

t.test('a turn comes once for all that changed, and after it', async t => {
  const { clock, store, acts } = makeLoop()
  store.evidence.emit('fresher')
  store.evidence.emit('changed')
  store.evidence.emit('fresher')
  t.strictSame(acts, [], 'nothing runs inside what changes')
  await clock.advance(0)
  t.strictSame(acts, ['look', 'vote'])
  await clock.advance(1_000)
  t.equal(acts.length, 2)
  store.evidence.emit('fresher')
  await clock.advance(0)
  t.strictSame(acts.splice(0), ['look', 'vote', 'look', 'refreshed'])
  const own = store.ownNode.current
  store.ownNode.set({ ...own, kubelet: 'well' })
  await clock.advance(0)
  t.strictSame(acts.splice(0), ['look', 'vote'], 'the kubelet matters to the vote')
  store.ownNode.set({ ...own, cloudLink: { ...own.cloudLink, state: 'up' } })
  await clock.advance(0)
  t.strictSame(acts, ['look', 'vote', 'review'], 'the link to who may write as well')
})

t.test('what a vote moved is written in the same turn', async t => {
  const { clock, store, acts, loop } = makeLoop(() => moved(store))
  store.evidence.emit('changed')
  await clock.advance(1_000)
  t.strictSame(acts.splice(0), ['look', 'vote', 'review'])
  loop.round()
  t.strictSame(acts.splice(0), ['look', 'vote', 'review'], 'once as well')
  loop.voteNow()
  t.strictSame(acts.splice(0), ['look', 'vote'], 'but never inside a write')
  await clock.advance(1_000)
  t.strictSame(acts, ['look', 'review'])
})

t.test(
  'where all is well only each third round votes, and reviews unless there is something to do',
  async t => {
    const { clock, acts, loop, zone } = makeLoop()
    const rounds = (count: number): Act[] => {
      for (let i = 0; i < count; i++) loop.round()
      return acts.splice(0)
    }
    const whole: readonly Act[] = ['look', 'vote', 'review']
    const looks: readonly Act[] = ['look', 'look']
    t.strictSame(rounds(2), [...whole, ...whole])
    Object.assign(zone, { isSteady: true, isIdle: false })
    const reviews = looks.flatMap((look): readonly Act[] => [look, 'review'])
    t.strictSame(rounds(3), [...reviews, ...whole], 'something is to be done')
    Object.assign(zone, { isSteady: false, isIdle: true })
    t.strictSame(rounds(2), [...whole, ...whole], 'somebody is not well')
    Object.assign(zone, { isSteady: true, isIdle: true })
    t.strictSame(rounds(3), [...looks, ...whole], 'a suspension is looked for in each')
    t.strictSame(rounds(1), ['look'])
    zone.isSteady = false
    t.strictSame(rounds(1), whole)
    zone.isSteady = true
    t.strictSame(rounds(3), [...looks, ...whole])
    loop.ask('fresher')
    t.strictSame(rounds(1), whole, 'something came that was not looked at')
    await clock.advance(0)
  },
)

t.test('what a turn asks for is for the next one', async t => {
  let votes = 0
  const { clock, acts, loop } = makeLoop(() => {
    if (++votes === 1) loop.ask('writes')
  })
  loop.ask('changed')
  await clock.advance(0)
  t.strictSame(acts, ['look', 'vote', 'look', 'review'])
})

t.test('no turn begins before the start, or after the end', async t => {
  const { clock, store, acts, loop } = makeLoop()
  store.evidence.emit('changed')
  loop.stop()
  store.evidence.emit('changed')
  await clock.advance(1_000)
  t.strictSame(acts, [])
  t.equal(clock.waiting, 0)
  const suspension = { look: () => undefined }
  t.throws(() => new TurnLoop({ clock, store, suspension }).round(), /was not started/)
})

t.test('a peer has its answer before its message is counted', async t => {
  await scenario(t, { what: 'N=5', size: 5, seed: 5 }, async world => {
    await world.settled()
    let received = 0
    let inside = 0
    let moved = 0
    let isInside = false
    for (const { agent } of world.machines) {
      const { inbox } = agent!
      const receive = inbox.receive.bind(inbox)
      Object.assign(inbox, {
        receive: (...message: Parameters<typeof receive>) => {
          received++
          isInside = true
          try {
            return receive(...message)
          } finally {
            isInside = false
          }
        },
      })
      agent!.views.subscribe(() => {
        moved++
        if (isInside) inside++
      })
    }
    world.crash(4)
    await world.run(20_000)
    t.ok(world.allSee(4))
    t.ok(received > 100, `messages came: ${received}`)
    t.ok(moved > 4, `views moved: ${moved}`)
    t.equal(inside, 0, 'none of them while a message was received')
  })
})
