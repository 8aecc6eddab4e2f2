// SPDX-License-Identifier: Apache-2.0
import fc from '../../testkit/properties.js'
import t from 'tap'
import { brakeLimit, isCondemned } from '../../vote/verdicts.js'
import { FLAG } from '../../vote/evidence.js'
import { judge, type Changes } from '../../vote/judge.js'
import { makeJudgement, type Judgement } from '../../vote/judgement.js'
import { decide, quorumOf, VERDICT } from '../../vote/quorum.js'
import type { VoteOptions } from '../../vote/options.js'
import { makeVouching, reviewVouching } from '../../vote/vouch.js'
import {
  mesh,
  range,
  ring,
  ScriptedEvidence,
  unmarked,
  voteOptions,
} from '../../testkit/zone/evidence.js'

const context = unmarked()
const o = voteOptions()
/** Per property. Ten times as many were run by hand. */
const RUNS = 500

/** One thing that happens: time passes, then members speak about a target in records of some age. */
interface Happening {
  readonly afterMs: number
  readonly speakers: number
  readonly target: number
  readonly isDown: boolean
  readonly ageMs: number
  readonly flags: number
}

const happening: fc.Arbitrary<Happening> = fc.record({
  afterMs: fc.constantFrom(0, 1, 250, 1_000, 3_000, 5_000, 8_000, 20_000, 61_000),
  speakers: fc.nat(0xffff),
  target: fc.nat(11),
  isDown: fc.boolean(),
  ageMs: fc.constantFrom(0, 0, 250, 4_000, 30_000, 59_999, 60_000, 90_000),
  flags: fc.constantFrom(16, 16, 16, 16, 16, 2, 0, 16 | 1, 16 | 4, 16 | 8, 16 | 32),
})
const story = fc.array(happening, { maxLength: 40 })
const zone = fc.record({
  size: fc.integer({ min: 3, max: 12 }),
  isRing: fc.boolean(),
})

const observersFor = ({ size, isRing }: { size: number; isRing: boolean }): number[][] =>
  isRing && size > 6 ? ring(size, 4) : mesh(size)

/** Let it happen, judging at each step. `group` are those whose new records can arrive; others stay silent. */
const play = (
  e: ScriptedEvidence,
  j: Judgement,
  list: readonly Happening[],
  options: {
    readonly group: readonly number[]
    readonly flags?: boolean
    readonly options?: VoteOptions
    readonly each?: (now: number) => void
  },
): number => {
  let now = 100_000
  for (const h of list) {
    now += h.afterMs
    const speakers = options.group.filter(member => (h.speakers >> member) & 1)
    const at = now - h.ageMs
    const fresh = speakers.filter(member => e.producedAt[member]! <= at)
    e.say(fresh, [h.target % e.size], h.isDown, at)
    if (options.flags !== false) for (const member of fresh) e.flags[member] = h.flags
    e.hear([e.self], now)
    judge(j, e, now, { options: options.options ?? o, context })
    options.each?.(now)
  }
  return now
}

const unhealthyIn = (j: Judgement): number[] =>
  range(j.size).filter(i => j.verdict[i] === VERDICT.unhealthy)

t.test('of any votes at most one side decides', t => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(1000), fc.nat(1000), (n, up, down) => {
      fc.pre(up + down <= n)
      const want =
        2 * up > n ? VERDICT.healthy : 2 * down > n ? VERDICT.unhealthy : VERDICT.undecided
      return decide(n, up, down) === want && 2 * quorumOf(n) > n
    }),
  )
  t.end()
})

t.test('a minority never reaches a verdict, whatever it receives', t => {
  fc.assert(
    fc.property(zone, story, fc.integer({ min: 1, max: 6 }), (z, list, wanted) => {
      const count = Math.min(wanted, quorumOf(z.size) - 1)
      // The others never spoke at all, or long ago.
      const e = new ScriptedEvidence(z.size, 0, { now: 30_000, observers: observersFor(z) })
      const j = makeJudgement(z.size)
      play(e, j, list, {
        group: range(count),
        each: () => {
          if (j.verdict.some(code => code !== VERDICT.undecided)) throw new Error('decided')
        },
      })
    }),
    { numRuns: RUNS },
  )
  t.end()
})

t.test('in a whole zone a younger record moves nothing, until time alone may', t => {
  let seen = 0
  fc.assert(
    fc.property(zone, story, fc.nat(0xffff), fc.nat(59_999), (z, list, speakers, laterMs) => {
      const everybody = range(z.size)
      const e = new ScriptedEvidence(z.size, 0, { now: 100_000, observers: observersFor(z) })
      const j = makeJudgement(z.size)
      const vouching = makeVouching(z.size)
      const isMovedBy = (now: number): boolean => {
        const { local, verdict, state, burst, steady } = judge(j, e, now, { options: o, context })
        const { begun, ended } = reviewVouching(vouching, j, e, { now, options: o })
        return (
          [local, verdict, begun, ended].some(list => list.length > 0) || state || burst || !steady
        )
      }
      const hear = (now: number, { steady, nextAt }: Changes): void => {
        if (!steady) return
        seen++
        const later = Math.min(now + laterMs, nextAt - 1)
        e.hear(
          everybody.filter(member => (speakers >> member) & 1),
          later,
        )
        if (isMovedBy(later)) throw new Error('it moved')
      }
      const end = play(e, j, list, { group: everybody }) + 10_000
      for (const member of everybody) e.flags[member] = FLAG.kubeletWell
      e.say(everybody, everybody, false, end)
      for (const now of [0, 5_000, 10_000, 20_000, 40_000].map(ms => end + ms))
        hear(now, judge(j, e, now, { options: o, context }))
    }),
    { numRuns: RUNS },
  )
  t.ok(seen > RUNS, `${seen} whole zones were seen`)
  t.end()
})

t.test('a zone that splits: the side without a majority condemns nobody any more', t => {
  fc.assert(
    fc.property(zone, story, story, fc.nat(12), (z, before, after, cut) => {
      const e = new ScriptedEvidence(z.size, 0, { now: 100_000, observers: observersFor(z) })
      const j = makeJudgement(z.size)
      const splitAt = play(e, j, before, { group: range(z.size) })
      // What was on its way when the zone split was asked for by the undivided zone.
      const known = new Set(range(z.size).filter(index => isCondemned(j, index)))
      const group = range(Math.min(cut + 1, quorumOf(z.size) - 1))
      const shifted = after.map(h => ({ ...h, ageMs: 0 }))
      let now = splitAt
      for (const h of shifted) {
        now += h.afterMs
        e.say(
          group.filter(member => (h.speakers >> member) & 1),
          [h.target % z.size],
          h.isDown,
          now,
        )
        e.hear([0], now)
        judge(j, e, now, { options: o, context })
        for (const index of unhealthyIn(j))
          if (!known.has(index)) throw new Error(`condemned ${index}`)
      }
    }),
    { numRuns: RUNS },
  )
  t.end()
})

t.test('no two separated groups both decide about the same node', t => {
  fc.assert(
    fc.property(zone, fc.nat(0xfff), fc.integer({ min: 0, max: 40 }), (z, sides, seconds) => {
      const side = (member: number): number => (sides >> member) & 1
      const judges = range(z.size).map(self => {
        const e = new ScriptedEvidence(z.size, self, { observers: observersFor(z) })
        return { e, j: makeJudgement(z.size), self }
      })
      for (let second = 1; second <= seconds + 20; second++) {
        const now = second * 1000
        const isSplit = second > 10
        for (const { e, j, self } of judges) {
          const near = range(z.size).filter(m => !isSplit || side(m) === side(self))
          const far = range(z.size).filter(m => !near.includes(m))
          e.hear(near, now)
          if (isSplit) e.say(near, far, true, now)
          judge(j, e, now, { options: { ...o, brakeShare: 1 }, context })
        }
      }
      const condemning = [0, 1].filter(s =>
        judges.some(judge_ => side(judge_.self) === s && unhealthyIn(judge_.j).length > 0),
      )
      const ones = range(z.size).filter(side).length
      for (const s of condemning) {
        const count = s === 1 ? ones : z.size - ones
        if (2 * count <= z.size) return false
      }
      return condemning.length < 2
    }),
    { numRuns: 60 },
  )
  t.end()
})

t.test('the brake never lets more than its limit stand newly condemned', t => {
  fc.assert(
    fc.property(zone, story, (z, list) => {
      const e = new ScriptedEvidence(z.size, 0, { now: 100_000, observers: observersFor(z) })
      const j = makeJudgement(z.size)
      let before: number[] = []
      const tight = voteOptions({ brakeShare: 0 })
      play(e, j, list, {
        group: range(z.size),
        flags: false,
        options: tight,
        each: () => {
          const after = unhealthyIn(j)
          const isNew = after.some(index => !before.includes(index))
          if (isNew && after.length > brakeLimit(z.size, tight)) throw new Error('too many')
          before = after
        },
      })
    }),
    { numRuns: RUNS },
  )
  t.end()
})

t.test('judging twice changes nothing, and nothing changes before nextAt', t => {
  const copy = (j: Judgement): Judgement => structuredClone(j)
  fc.assert(
    fc.property(zone, story, fc.double({ min: 0, max: 1, noNaN: true }), (z, list, share) => {
      const e = new ScriptedEvidence(z.size, 0, { now: 100_000, observers: observersFor(z) })
      const j = makeJudgement(z.size)
      play(e, j, list, {
        group: range(z.size),
        each: now => {
          const again = judge(copy(j), e, now, { options: o, context })
          if (again.local.length + again.verdict.length > 0 || again.state)
            throw new Error('not settled')
          const soon = Math.min(again.nextAt, now + 100_000)
          const between = now + (soon - now) * share
          if (between >= again.nextAt) return
          const later = copy(j)
          const idle = judge(later, e, between, { options: o, context })
          if (idle.local.length + idle.verdict.length > 0 || idle.state)
            throw new Error(`changed at ${between}, ${again.nextAt} was promised`)
          if (idle.nextAt !== again.nextAt || idle.burst !== again.burst)
            throw new Error('the promise moved')
        },
      })
    }),
    { numRuns: RUNS },
  )
  t.end()
})

/** Slow and obviously right: the votes about one node, straight from protocol §4.4. */
const twinTally = (
  e: ScriptedEvidence,
  target: number,
  at: {
    now: number
    contestAt: number
    condemnedAt: number
    correlatedFailureAt: number
    suspect: boolean
  },
): { up: number; down: number } => {
  const believed = range(e.size).filter(member => {
    const made = e.producedAt[member]!
    if (made + 60_000 <= at.now) return false
    if (at.now >= at.correlatedFailureAt + 8_000 && made < at.correlatedFailureAt) return false
    if (member === e.self ? at.suspect : e.flags[member]! & FLAG.selfSuspect) return false
    return (e.flags[member]! & (FLAG.warming | FLAG.leaving)) === 0
  })
  const voters = believed.filter(member => e.observersOf(target).includes(member))
  const down = voters.filter(voter => e.saysDown(voter, target)).length
  const up = voters.filter(
    voter =>
      !e.saysDown(voter, target) &&
      e.producedAt[voter]! >= at.condemnedAt &&
      (at.now < at.contestAt + 8_000 || e.producedAt[voter]! >= at.contestAt),
  ).length
  return { up, down }
}

t.test('tally and condemnation agree with a slow twin', t => {
  fc.assert(
    fc.property(zone, story, (z, list) => {
      const e = new ScriptedEvidence(z.size, 0, { now: 100_000, observers: observersFor(z) })
      const j = makeJudgement(z.size)
      // The twin's memory: since when each target is asked to be condemned, and since when that is backed.
      const asked = new Map<number, { at: number; backedAt: number }>()
      const condemned = new Map<number, number>()
      let isBraked = false
      play(e, j, list, {
        group: range(z.size),
        flags: false,
        each: now => {
          const known = (t: number): number =>
            range(z.size).filter(m => e.saysDown(m, t) && e.producedAt[m]! + 60_000 > now).length
          if (j.voice !== 'full') {
            asked.clear()
            condemned.clear()
            isBraked = false
            return
          }
          const believed = range(z.size).filter(m => j.standing[m]! <= 3)
          for (const target of range(z.size)) {
            if (known(target) >= 2 !== j.contestAt[target]! < Infinity) throw new Error('contest')
            const frame = {
              now,
              contestAt: j.contestAt[target]!,
              condemnedAt: condemned.get(target) ?? -Infinity,
              correlatedFailureAt: j.correlatedFailureAt,
              suspect: j.selfSuspect,
            }
            const { up, down } = twinTally(e, target, frame)
            if (up !== j.up[target] || down !== j.down[target]) throw new Error('tally')
            const all = e.observersOf(target).length === z.size - 1
            const isAsked = all ? down > z.size / 2 : down > up && down >= 2
            if (!isAsked || condemned.has(target)) asked.delete(target)
            else if (!asked.has(target)) asked.set(target, { at: now, backedAt: Infinity })
            const memory = asked.get(target)
            const since = memory?.at ?? Infinity
            const backers = believed.filter(m => e.producedAt[m]! > since).length
            if (memory?.backedAt === Infinity && backers > z.size / 2) memory.backedAt = now
          }
          for (const target of condemned.keys())
            if (j.verdict[target] !== VERDICT.unhealthy) condemned.delete(target)
          const wasBraked = isBraked
          isBraked = condemned.size + asked.size > Math.max(1, Math.floor(0.4 * z.size))
          // Who was held by the brake is held once more when it lets go.
          if (wasBraked && !isBraked)
            for (const target of asked.keys()) asked.set(target, { at: now, backedAt: Infinity })
          if (!isBraked)
            for (const [target, memory] of asked)
              if (now >= memory.backedAt + 5_000) condemned.set(target, now)
          for (const target of condemned.keys()) asked.delete(target)
          const names = [...condemned.keys()].sort((a, b) => a - b)
          if (String(names) !== String(unhealthyIn(j)))
            throw new Error(`condemned ${names.join()} against ${unhealthyIn(j).join()}`)
        },
      })
    }),
    { numRuns: RUNS },
  )
  t.end()
})

t.test('nobody vouches on what is stale, bad, unknown, linked, condemned or a minority', t => {
  fc.assert(
    fc.property(zone, story, (z, list) => {
      const e = new ScriptedEvidence(z.size, 0, { now: 100_000, observers: observersFor(z) })
      e.flags.fill(FLAG.kubeletWell | FLAG.cloudCut, 1)
      const j = makeJudgement(z.size)
      const v = makeVouching(z.size)
      play(e, j, list, {
        group: range(z.size),
        each: now => {
          const { nextAt } = reviewVouching(v, j, e, { now, options: o })
          for (const index of range(z.size)) {
            if (v.since[index] === Infinity) continue
            const flags = e.flags[index]!
            const well = (flags & (FLAG.kubeletWell | FLAG.kubeletBad)) === FLAG.kubeletWell
            const all = e.observersOf(index).length === z.size - 1
            const up = j.up[index]!
            const majority = all ? up + 1 > z.size / 2 : up > j.down[index]! && up >= 2
            const fresh = now < e.producedAt[index]! + 30_000
            if (!well || !(flags & FLAG.cloudCut) || !majority || !fresh || j.voice !== 'full')
              throw new Error(`vouched for ${index}`)
            if (j.verdict[index] !== VERDICT.healthy) throw new Error('not healthy')
            if (nextAt > e.producedAt[index]! + 30_000) throw new Error('overslept')
          }
        },
      })
    }),
    { numRuns: RUNS },
  )
  t.end()
})
