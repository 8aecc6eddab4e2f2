// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { MajorityCall } from '../../../../agent/stages/exchange/majority-call.js'
import type { ZoneState } from '../../../../agent/results.js'
import { makeResultStore } from '../../../../agent/store.js'
import { id64 } from '../../../../core/ids.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import {
  range,
  ScriptedEvidence,
  unmarked,
  voteOptions,
} from '../../../../testkit/zone/evidence.js'
import { judge } from '../../../../vote/judge.js'
import { makeJudgement } from '../../../../vote/judgement.js'
import { VERDICT } from '../../../../vote/quorum.js'
import { topWriter } from '../../../../vote/writer.js'
import { WriterRanking } from '../../../../vote/writer-ranking.js'

const SIZE = 5
const DEAD = 4
const ids = range(SIZE).map(index => id64(`node-${index}`))
const target = { index: DEAD, id: ids[DEAD]! }

/** An agent of a settled zone in which nobody has spoken since node 4 was condemned; `asked` has each request. */
const agent = async (self: number) => {
  const clock = new FakeClock()
  const evidence = new ScriptedEvidence(SIZE, self)
  const judgement = makeJudgement(SIZE)
  for (let now = 1_000; now <= 10_000; now += 1_000) {
    evidence.hear(range(SIZE), now)
    judge(judgement, evidence, now, { options: voteOptions(), context: unmarked() })
  }
  await clock.advance(10_000 - clock.now())
  const ranking = new WriterRanking(ids, self)
  const store = makeResultStore(0)
  const members = ids.map((id, index) => ({ id, name: `node-${index}` }))
  const indexOf = (name: string): number => members.findIndex(member => member.name === name)
  const roster = { members, indexOf }
  const state = { judgement, table: evidence, roster, ranking } as unknown as ZoneState
  store.zone.set(state)
  const asked: string[] = []
  const call = new MajorityCall(
    { ...voteOptions(), pushBatchMs: 50 },
    {
      ...{ clock, store },
      askAround: () => void asked.push('several'),
      askWidely: () => void asked.push('many'),
    },
  )
  judgement.pending[DEAD] = VERDICT.unhealthy
  judgement.pendingAt[DEAD] = clock.now()
  const review = (): void => call.review(state)
  return { clock, store, evidence, judgement, ranking, call, review, asked }
}

const first = await agent(0).then(({ judgement, evidence, ranking }) =>
  topWriter(judgement, evidence, target, ranking)!,
)

t.test('the writer asks until it knows of a majority', async t => {
  const { clock, judgement, review, asked } = await agent(first)
  review()
  await clock.advance(1_000)
  t.strictSame(asked, ['several', 'several', 'many', 'many'])
  judgement.backedAt[DEAD] = clock.now()
  await clock.advance(10_000)
  t.equal(asked.length, 4)
})

t.test('but not for ever', async t => {
  const { clock, review, asked } = await agent(first)
  review()
  await clock.advance(60_000)
  t.equal(asked.length, 10)
  review()
  await clock.advance(60_000)
  t.equal(asked.length, 10, 'nor because of votes that begin nothing')
})

t.test('the others ask twice', async t => {
  const { clock, review, asked } = await agent((first + 1) % DEAD)
  review()
  await clock.advance(60_000)
  t.strictSame(asked, ['several', 'several'])
})

t.test('nodes that die one after the other keep the writer from nothing', async t => {
  const { clock, judgement, review, asked } = await agent(first)
  const others = range(DEAD).filter(index => index !== first)
  for (let i = 0; i < 20; i++) {
    const next = others[i % others.length]!
    judgement.pending[next] = VERDICT.unhealthy
    judgement.pendingAt[next] = clock.now()
    review()
    await clock.advance(500)
  }
  t.ok(asked.filter(what => what === 'many').length >= 8, `${asked.length} times`)
})

t.test('condemnations that come and go do not keep a zone asking', async t => {
  const { clock, judgement, review, asked } = await agent(first)
  for (let i = 0; i < 600; i++) {
    judgement.pendingAt[DEAD] = clock.now()
    review()
    await clock.advance(100)
  }
  t.ok(asked.length <= 20, `${asked.length} times in 60 s`)
})

t.test('one that comes and goes does not keep others from being asked about', async t => {
  const { clock, judgement, review, asked } = await agent(first)
  const other = range(DEAD).find(index => index !== first)!
  for (let i = 0; i < 600; i++) {
    judgement.pendingAt[DEAD] = clock.now()
    review()
    await clock.advance(100)
  }
  asked.length = 0
  judgement.pending[other] = VERDICT.unhealthy
  judgement.pendingAt[other] = clock.now()
  review()
  await clock.advance(100)
  t.strictSame(asked, ['several'])
})

t.test('nobody asks once the stage has stopped, or the records are gone', async t => {
  const { clock, store, judgement, call, review, asked } = await agent(first)
  review()
  call.stop()
  await clock.advance(60_000)
  judgement.pendingAt.fill(clock.now())
  review()
  store.zone.set(undefined)
  await clock.advance(60_000)
  t.strictSame(asked, [])
})
