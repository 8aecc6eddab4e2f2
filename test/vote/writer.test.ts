// SPDX-License-Identifier: Apache-2.0
import fc from '../../testkit/properties.js'
import t from 'tap'
import { id64 } from '../../core/ids.js'
import { FLAG } from '../../vote/evidence.js'
import { judge } from '../../vote/judge.js'
import { makeJudgement, type Judgement } from '../../vote/judgement.js'
import {
  firstWriter,
  mayWrite,
  topWriter,
  writeAt,
  writerRank,
  writerTurn,
  zoneSpeaker,
} from '../../vote/writer.js'
import { isBefore, WriterRanking } from '../../vote/writer-ranking.js'
import { range, ScriptedEvidence, unmarked, voteOptions } from '../../testkit/zone/evidence.js'

/** A zone that has settled at 10 s. */
const zone = (size: number) => {
  const e = new ScriptedEvidence(size)
  const j = makeJudgement(size)
  const o = voteOptions()
  for (let now = 1000; now <= 10_000; now += 1000) {
    e.hear(range(size), now)
    judge(j, e, now, { options: o, context: unmarked() })
  }
  return { e, j, o }
}

t.test('one speaks for the zone, and all agree on who', t => {
  const { e, j, o } = zone(5)
  const ranking = new WriterRanking(
    range(5).map(index => id64(`node-${index}`)),
    e.self,
  )
  const speaker = (judged: Judgement) =>
    zoneSpeaker(judged, e, 7n, { now: 10_000, options: o, ranking })
  const first = speaker(j)!
  const changed = (change: (judged: Judgement) => void) => {
    const judged = structuredClone(j)
    change(judged)
    return speaker(judged)
  }
  t.equal(
    changed(judged => (judged.localUp[first] = 0)),
    first,
    'out of reach from here alone',
  )
  t.equal(
    changed(judged => (judged.verdict[first] = 2)),
    first,
    'its kubelet is dead',
  )
  t.not(
    changed(judged => (judged.standing[first] = 4)),
    first,
    'its record does not count',
  )
  for (let last = 0; last < 5; last++) {
    const at = { now: 10_000, options: o, ranking, last }
    t.equal(zoneSpeaker(j, e, 7n, at), last, 'who spoke last speaks again')
    e.flags[last] = FLAG.kubeletWell | FLAG.cloudCut
    t.equal(zoneSpeaker(j, e, 7n, at), speaker(j), 'but not without a link')
    e.flags[last] = FLAG.kubeletWell
  }
  e.flags[first] = FLAG.kubeletWell | FLAG.cloudCut
  const second = speaker(j)!
  t.not(second, first, 'it cannot reach the apiserver')
  e.flags[first] = FLAG.kubeletWell
  const quiet = [first, second].filter(member => member !== e.self)
  for (const member of quiet) e.producedAt[member]! -= 9_000
  t.notOk(quiet.includes(speaker(j)!), 'its record is old')
  t.equal(
    changed(judged => judged.standing.fill(4)),
    undefined,
    'nobody',
  )
  t.end()
})

t.test('writers', t => {
  const z = zone(5)
  const ids = range(5).map(index => id64(`node-${index}`))
  const ranking = new WriterRanking(ids, z.e.self)
  const one = new WriterRanking([1n], 0)
  const target = { index: 4, id: ids[4]! }
  const rows: [why: string, change: (j: Judgement) => void][] = [
    ['its record is not fresh', j => (j.standing[2] = 4)],
    ['it suspects itself', j => (j.standing[2] = 1)],
    ['it is out of reach from here', j => (j.localUp[2] = 0)],
    ['it is condemned', j => (j.verdict[2] = 2)],
  ]
  t.ok(mayWrite(z.j, z.e, 2, 4))
  t.notOk(mayWrite(z.j, z.e, 4, 4), 'nobody writes about itself')
  for (const [why, change] of rows) {
    const j = structuredClone(z.j)
    change(j)
    t.notOk(mayWrite(j, z.e, 2, 4), why)
  }
  z.e.flags[2] = FLAG.kubeletWell | FLAG.cloudCut
  t.notOk(mayWrite(z.j, z.e, 2, 4), 'its cloud link is cut')
  z.e.flags[2] = FLAG.kubeletWell
  const alone = zone(1)
  t.equal(writerRank(alone.j, alone.e, { index: 0, id: 1n }, one), undefined, 'FA2: nor alone')
  t.equal(
    writerRank(alone.j, alone.e, { index: -1, id: 2n }, one),
    undefined,
    'FA2: who is alone writes about nobody else either',
  )
  t.equal(writerRank(z.j, z.e, { index: 0, id: ids[0]! }, ranking), undefined)
  t.equal(topWriter(alone.j, alone.e, { index: 0, id: 1n }, one), undefined)
  z.j.voice = 'minority'
  t.equal(writerRank(z.j, z.e, target, ranking), undefined, 'no voice, no pen')
  z.j.voice = 'full'
  t.type(
    writerRank(z.j, z.e, { index: -1, id: 77n }, ranking),
    'number',
    'who has left is cleaned too',
  )
  t.equal(writeAt(1000, { rank: 2, heard: 0 }, z.o), 5000)
  t.equal(writeAt(1000, { rank: 2, heard: 1 }, z.o), 61_000, 'who speaks has a minute')
  t.equal(writeAt(1000, { rank: 2, heard: 2 }, z.o), 121_000, 'and the next one another')
  t.end()
})

t.test('FA7: ranks step up on silence', t => {
  const z = zone(5)
  const ids = range(5).map(index => id64(`node-${index}`))
  const ranking = new WriterRanking(ids, z.e.self)
  const at = 10_000
  const turnAt = (now: number) => {
    for (let salt = 0; ; salt++) {
      const target = { index: -1, id: id64(`t${salt}`) }
      const turn = writerTurn(z.j, z.e, target, { ranking, now, options: z.o })
      if (turn?.rank === 2) return turn
    }
  }
  z.e.hear(range(5), at)
  t.strictSame(turnAt(at + 1_000), { rank: 2, heard: 2 }, 'both that come before us speak')
  z.e.hear([0, 1, 2, 3, 4], at + 30_000)
  t.equal(turnAt(at + 50_000).heard, 2, 'when all are quiet, nobody is silent')
  const quiet = [1, 2, 3, 4].filter(member => {
    z.e.hear([0, 1, 2, 3, 4], at + 30_000)
    z.e.producedAt[member] = at + 26_000
    return turnAt(at + 30_500).heard < 2
  })
  t.equal(quiet.length, 2, 'who speaks so much later than the others is silent')
  z.j.voice = 'minority'
  const target = { index: -1, id: 1n }
  t.equal(writerTurn(z.j, z.e, target, { ranking, now: at, options: z.o }), undefined)
  t.end()
})

t.test('the first writer of many targets is who has nobody that speaks before it', async t => {
  const facts = fc.record({
    salt: fc.nat(1_000),
    silent: fc.array(fc.nat(7), { maxLength: 6 }),
    unreached: fc.array(fc.nat(7), { maxLength: 3 }),
    voice: fc.constantFrom('full' as const, 'full' as const, 'minority' as const),
  })
  const firsts = { true: 0, false: 0 }
  fc.assert(
    fc.property(facts, ({ salt, silent, unreached, voice }) => {
      const { e, j, o } = zone(8)
      for (const member of silent) e.producedAt[member]! -= 9_000
      for (const member of unreached) j.localUp[member] = 0
      j.voice = voice
      const ids = range(8).map(index => id64(`${salt}/${index}`))
      const at = { ranking: new WriterRanking(ids, e.self), now: 10_400, options: o }
      const isFirst = firstWriter(j, e, at)
      return range(16).every(index => {
        const target = { index: index < 8 ? index : -1, id: ids[index] ?? id64(`${salt}+${index}`) }
        const is = isFirst(target)
        firsts[`${is}`]++
        return is === (writerTurn(j, e, target, at)?.heard === 0)
      })
    }),
    { numRuns: 200 },
  )
  t.ok(firsts.true > 50 && firsts.false > 50, 'both come about')
})

t.test('writers: each fit member has a rank of its own, and targets spread over writers', t => {
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 12 }), fc.nat(100), (size, salt) => {
      const ids = range(size).map(index => id64(`${salt}/${index}`))
      const ranks = range(size - 1).map(self => {
        const e = new ScriptedEvidence(size, self)
        const j = makeJudgement(size)
        for (const now of [0, 1000, 6000]) {
          e.hear(range(size), now)
          judge(j, e, now, { options: voteOptions(), context: unmarked() })
        }
        const target = { index: size - 1, id: ids[size - 1]! }
        return writerRank(j, e, target, new WriterRanking(ids, self))
      })
      const e = new ScriptedEvidence(size)
      const j = makeJudgement(size)
      const target = { index: size - 1, id: ids[size - 1]! }
      const top = topWriter(j, e, target, new WriterRanking(ids, 0))
      return (
        ranks.indexOf(0) === top &&
        [...ranks].sort((a, b) => a! - b!).every((rank, place) => rank === place)
      )
    }),
    { numRuns: 50 },
  )
  const z = zone(10)
  const ids = range(10).map(index => id64(`n${index}`))
  const ranking = new WriterRanking(ids, z.e.self)
  const firsts = range(200).filter(
    salt => writerRank(z.j, z.e, { index: -1, id: id64(`t${salt}`) }, ranking) === 0,
  ).length
  t.ok(firsts > 5 && firsts < 50, `the own node leads for ${firsts} of 200 targets`)
  t.end()
})

/** All members in a target's order. */
const orderOf = (ranking: WriterRanking, target: bigint): readonly number[] => {
  const order: number[] = []
  for (;;) {
    const next = ranking.firstOf(target, member => !order.includes(member))
    if (next === undefined) return order
    order.push(next)
  }
}

t.test(
  'a ranking says who comes before the own node, who is first, and keeps what it computed',
  t => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 70 }), fc.nat(1_000), (size, salt) => {
        const ids = range(size).map(index => id64(`${salt}/${index}`))
        const self = salt % size
        const ranking = new WriterRanking(ids, self)
        const target = id64(`target ${salt}`)
        const fresh = ranking.comparisonFor(target)
        const all = orderOf(ranking, target)
        const order = ranking.of(target)
        const known = ranking.comparisonFor(target)
        t.equal(ranking.of(target), order)
        t.strictSame(
          [...all].sort((a, b) => a - b),
          range(size),
        )
        t.strictSame(order.first, all.slice(0, 4))
        for (const [place, member] of all.entries()) {
          const is = place < all.indexOf(self)
          t.equal(isBefore(order, member), is)
          t.equal(known(member), is)
          t.equal(fresh(member), is)
        }
      }),
      { numRuns: 40 },
    )
    t.end()
  },
)

t.test('the first writer is found where none of the very first may write', async t => {
  const { e, j } = zone(30)
  const ids = range(30).map(index => id64(`node-${index}`))
  const ranking = new WriterRanking(ids, e.self)
  const target = { index: 7, id: ids[7]! }
  const all = orderOf(ranking, target.id).filter(member => member !== 7)
  for (const out of range(25)) {
    t.equal(topWriter(j, e, target, ranking), all[out])
    j.localUp[all[out]!] = 0
  }
  j.localUp.fill(0)
  t.equal(topWriter(j, e, target, ranking), undefined)
})

t.test(
  'the order of writers is the same in every version: agents of two may share a zone',
  async t => {
    const ids = range(10).map(index => id64(`node-${index}`))
    t.strictSame(orderOf(new WriterRanking(ids, 0), ids[3]!), [7, 1, 3, 2, 4, 6, 8, 9, 0, 5])
  },
)
