// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { FLAG, HELD } from '../../vote/evidence.js'
import { remapJudgement } from '../../vote/judgement.js'
import type { VoteOptions } from '../../vote/options.js'
import { decide, decideAmongFew, quorumOf, VERDICTS, type Verdict } from '../../vote/quorum.js'
import { STANDING } from '../../vote/tally.js'
import { NO_WITNESS, type WitnessAnswer } from '../../vote/witness.js'
import { range, ring, ScriptedEvidence } from '../../testkit/zone/evidence.js'
import { Bench, settled } from './judge-bench.js'

t.test('quorum', t => {
  const cases: [why: string, voters: number, up: number, down: number, want: Verdict][] = [
    ['nobody decides in a zone of nobody', 0, 0, 0, 'undecided'],
    ['one is its own majority', 1, 1, 0, 'healthy'],
    ['one vote of two is no majority', 2, 0, 1, 'undecided'],
    ['two of three agree', 3, 2, 1, 'healthy'],
    ['silence is not consent', 5, 2, 0, 'undecided'],
    ['a tie decides nothing', 4, 2, 2, 'undecided'],
    ['three of four', 4, 0, 3, 'unhealthy'],
  ]
  for (const [why, voters, up, down, want] of cases)
    t.equal(VERDICTS[decide(voters, up, down)], want, why)
  t.equal(quorumOf(10), 6)
  t.equal(VERDICTS[decideAmongFew(1, 2)], 'unhealthy', 'the larger side of a few')
  t.equal(VERDICTS[decideAmongFew(2, 1)], 'healthy')
  t.equal(VERDICTS[decideAmongFew(0, 1)], 'undecided', 'one voice alone decides nothing')
  t.equal(VERDICTS[decideAmongFew(2, 2)], 'undecided')
  t.end()
})

t.test('from start to a condemned node and back', t => {
  const b = new Bench(new ScriptedEvidence(5))
  t.strictSame(b.judge().verdict, [], 'nothing is decided at first sight')
  t.strictSame(b.hidden(), [], 'and nobody is hidden')
  b.pass(1)
  t.strictSame(new Set(b.verdicts()), new Set(['undecided']), 'backed, but not held yet')
  b.pass(5)
  t.strictSame(new Set(b.verdicts()), new Set(['healthy']))
  t.equal(b.j.verdictAt[3], 6000, 'component quorum at 1 s, hold 5 s')
  b.pass(10).kill([4])
  const changes = b.judge()
  t.strictSame(changes.local, [4], 'the local view is immediate')
  t.ok(changes.burst, 'and records hurry')
  t.equal(changes.nextAt, b.now + 8000, 're-affirmation is next')
  t.ok(b.judge().burst)
  b.pass(1)
  t.equal(b.judge().nextAt, b.now + 5000, 'then the hold')
  b.pass(4)
  t.equal(b.verdicts()[4], 'healthy')
  t.equal(b.class(4), 'healthy')
  b.pass(1)
  t.equal(b.verdicts()[4], 'unhealthy')
  t.equal(b.class(4), 'dead')
  t.equal(b.j.verdictAt[4], b.now)
  b.pass(60)
  t.notOk(b.judge().burst, 'a known dead node is not urgent')
  b.alive.push(4)
  b.see([0, 1, 2, 3], [4], false).e.hear([4], b.now)
  t.strictSame(b.judge().local, [4], 'seen up again at once')
  t.ok(b.judge().burst, 'the way back is urgent too')
  b.pass(6)
  t.equal(b.verdicts()[4], 'healthy')
  t.equal(b.class(4), 'healthy')
  t.end()
})

t.test('votes that turn during the hold write nothing', t => {
  const b = settled(5).see([0, 1, 2], [4])
  b.pass(4).see([2], [4], false).pass(20)
  t.equal(b.verdicts()[4], 'healthy')
  t.equal(b.j.pendingAt[4], Infinity)
  t.end()
})

t.test('local view', t => {
  const own = settled(10).see([0], [3])
  own.judge()
  t.strictSame(own.hidden(), [], 'one failed own round is not believed alone')
  own.e.failedRounds[3] = 2
  own.judge()
  t.strictSame(own.hidden(), [3], 'a broken pair link hides the other end, here')
  own.pass(60)
  t.equal(own.verdicts()[3], 'healthy', 'and condemns nobody')
  const other = settled(10, {}, 1).see([0], [3]).pass(5)
  t.strictSame(other.hidden(), [], 'nor is it hidden from anybody else')
  const backed = settled(10).see([0, 1], [3])
  backed.judge()
  t.strictSame(backed.hidden(), [3], 'one own round and one peer are enough in a zone of ten')
  const large = settled(20).see([0, 1], [3])
  large.judge()
  t.strictSame(large.hidden(), [], 'but not in one of twenty: 20 % of the votes')

  const far = new Bench(new ScriptedEvidence(20, 0, { observers: ring(20, 4) })).pass(8)
  far.see([5, 6, 7], [9])
  far.judge()
  t.strictSame(far.hidden(), [9], 'who does not watch a node follows those that do')
  far.see([5, 6, 7], [9], false)
  far.judge()
  far.alive = range(20).filter(member => ![5, 6, 7, 8, 9].includes(member))
  far.pass(61)
  t.ok(far.hidden().includes(9), 'no votes at all and its own record too old: hidden')
  const deaf = new Bench(new ScriptedEvidence(20, 0, { observers: ring(20, 4), now: -Infinity }))
  deaf.e.failedRounds.fill(-1)
  deaf.judge()
  t.strictSame(deaf.hidden(), [], 'an agent that knows nothing hides nobody')

  const unseen = settled(5)
  unseen.alive = [0, 1, 2, 3]
  for (const observer of unseen.alive) unseen.e.hasJustBegun(observer, 4)
  unseen.pass(120)
  t.strictSame(unseen.hidden(), [], 'FA3: who is silent, and cannot be looked at, stays as it was')

  const last = settled(5).kill([1, 2, 3, 4])
  last.e.failedRounds.fill(2, 1)
  last.judge()
  t.strictSame(last.hidden(), [1, 2, 3, 4])
  last.e.hasJustBegun(0, 4)
  last.e.failedRounds[4] = -1
  last.pass(60)
  t.strictSame(last.hidden(), [1, 2, 3, 4], 'FA3: who cannot look shows nobody again')
  last.see([0], [4])
  last.e.failedRounds[4] = 1
  last.judge()
  t.strictSame(last.hidden(), [1, 2, 3, 4], 'FA3: nor does the first failed round after that')
  last.see([0], [4], false)
  last.judge()
  t.strictSame(last.hidden(), [1, 2, 3], 'a round that reached it does')

  const self = settled(5).see([1, 2, 3, 4], [0]).pass(10)
  t.strictSame(self.hidden(), [], 'the own node is never hidden for what others say')
  t.equal(self.verdicts()[0], 'unhealthy', 'though the verdict is everybody’s')
  self.flag(0, FLAG.kubeletBad).judge()
  t.strictSame(self.hidden(), [0], 'only its own report hides it')
  t.end()
})

t.test('whom we hold back for flapping stays as it was, unless most others say up', t => {
  const held = (size: number, holders: readonly number[], isHidden: boolean): Bench => {
    const b = settled(size)
    const all = range(size - 1)
    if (isHidden) b.see(all, [size - 1]).judge()
    b.see(all, [size - 1], false)
    for (const holder of holders) b.e.hasJustBegun(holder, size - 1)
    if (holders.includes(0)) b.e.failedRounds[size - 1] = HELD
    b.judge()
    return b
  }
  const rows: [what: string, size: number, holders: readonly number[], isHidden: boolean][] = [
    ['shown, and we hold it', 5, [0], false],
    ['shown, and all hold it', 5, [0, 1, 2, 3], false],
    ['hidden, and all hold it', 5, [0, 1, 2, 3], true],
    ['hidden, and two of four hold it', 5, [0, 1], true],
  ]
  for (const [what, size, holders, isHidden] of rows)
    t.strictSame(held(size, holders, isHidden).hidden(), isHidden ? [size - 1] : [], what)
  t.strictSame(held(5, [0], true).hidden(), [], 'hidden, and we alone hold it')
  t.strictSame(held(3, [0], true).hidden(), [], 'the same where one other watches it')
  t.strictSame(held(20, [0, 1, 2], true).hidden(), [], 'three of nineteen are few')
  const b = held(5, [0, 1, 2, 3], false)
  t.strictSame([b.j.up[4], b.j.down[4]], [0, 0], 'nobody votes')
  t.equal(b.pass(30).verdicts()[4], 'healthy', 'what was decided stays')
  t.end()
})

t.test('who is held back counts among the probed that are not down', t => {
  const b = settled(5).see([0], [1])
  for (const target of [2, 3, 4]) {
    b.e.hasJustBegun(0, target)
    b.e.failedRounds[target] = HELD
  }
  b.judge()
  t.strictSame([b.j.ownTargets, b.j.ownDowns], [4, 1])
  t.notOk(b.j.correlatedFailure, 'one of four is down, not one of one')
  t.end()
})

t.test('a bad checker suspects itself and hides nobody', t => {
  for (const size of [3, 4, 10]) {
    const b = settled(size)
    b.see([0], range(size).slice(1))
    b.e.failedRounds.fill(5, 1)
    b.pass(2)
    t.ok(b.j.selfSuspect, `zone of ${size}`)
    t.strictSame(b.hidden(), [])
    t.equal(b.j.voice, 'self-suspect')
    t.strictSame(new Set(b.verdicts()), new Set(['undecided']), 'and it decides nothing')
    t.equal(b.j.standing[0], STANDING.selfSuspect, 'its votes do not count for itself either')
    b.see([0], range(size).slice(1), false).pass(8)
    t.notOk(b.j.selfSuspect, 'until its probes work again')
    t.strictSame(new Set(b.verdicts()), new Set(['healthy']), 'then it learns anew')
  }
  const two = settled(2).see([0], [1]).pass(20)
  t.notOk(two.j.selfSuspect, 'in a zone of two there is nobody to contradict')
  const real = settled(10).kill([5, 6, 7, 8, 9, 4]).pass(5)
  t.notOk(real.j.selfSuspect, 'a real disaster is confirmed by the others')
  const others = settled(10, {}, 1).flag(0, FLAG.kubeletWell | FLAG.selfSuspect)
  others.see([0, 2], [5]).judge()
  t.equal(others.j.down[5], 1, 'its flag silences it for everybody')
  t.end()
})

t.test('who has just begun to watch a node is not taken for an up', t => {
  const b = settled(5)
  b.e.hasJustBegun(1, 4).hasJustBegun(2, 4)
  b.judge()
  t.same([b.j.up[4], b.j.down[4]], [2, 0])
  t.equal(b.verdicts()[4], 'healthy', 'what was decided stands')
  b.see([1], [4]).judge()
  t.same([b.j.up[4], b.j.down[4]], [2, 1], 'a down is a down at once')
  const alone = settled(3)
  alone.e.hasJustBegun(2, 1).hasJustBegun(1, 2)
  alone.see([0], [1, 2]).pass(5)
  t.notOk(alone.j.selfSuspect, 'nor for a contradiction')
  t.end()
})

t.test('who counts', t => {
  const rows: [why: string, flags: number, standing: number][] = [
    ['warming', FLAG.warming, STANDING.warming],
    ['leaving', FLAG.leaving, STANDING.leaving],
    ['self-suspect', FLAG.selfSuspect, STANDING.selfSuspect],
  ]
  for (const [why, flag, standing] of rows) {
    const b = settled(5)
      .flag(1, FLAG.kubeletWell | flag)
      .see([1], [4])
    b.judge()
    t.equal(b.j.standing[1], standing, why)
    t.equal(b.j.down[4], 0)
    t.equal(b.j.up[4], 3)
  }
  const old = settled(5).see([1], [4])
  old.alive = [0, 2, 3, 4]
  old.pass(59)
  t.equal(old.j.down[4], 1, 'a vote counts while it is young')
  old.pass(1)
  t.equal(old.j.down[4], 0, 'and not at the end of its time')
  t.equal(old.j.standing[1], STANDING.gone)
  for (const [why, flag] of [
    ['warming', FLAG.warming],
    ['leaving', FLAG.leaving],
  ] as const) {
    const b = settled(5).flag(0, flag).kill([4]).pass(20)
    t.equal(b.j.voice, why, 'an agent that cannot vote cannot judge')
    t.equal(b.verdicts()[4], 'undecided')
  }
  t.end()
})

t.test('freshness is the age of what is said, not when it arrived', t => {
  const b = settled(5).pass(120)
  b.e.say([1, 2, 3], [4], true, b.now - 60_000)
  b.judge()
  t.equal(b.j.down[4], 0, 'three votes that arrive now and are a minute old')
  t.end()
})

t.test('up votes about a contested node must be said again', t => {
  const b = settled(7)
  b.alive = [0, 1, 2, 3]
  b.see([0, 1], [6])
  b.pass(1)
  t.equal(b.j.up[6], 4, 'at first 2, 3 and the silent 4 and 5 still count')
  b.pass(7)
  t.equal(b.j.up[6], 4, 'the contest is seven seconds old')
  b.pass(1)
  t.equal(b.j.up[6], 2, 'now only who spoke since')
  t.equal(b.j.ownWord[6], 0, 'and the node’s own old word is no proof of life')
  b.pass(60)
  t.equal(b.j.contestAt[6]! < Infinity, true)
  b.see([0], [6], false)
  b.judge()
  t.equal(b.j.contestAt[6], Infinity, 'one down vote is no contest')
  t.end()
})

t.test('FA3: what was said before a node was condemned is no sign that it came back', t => {
  const b = settled(3).kill([2]).pass(7)
  t.equal(b.verdicts()[2], 'unhealthy')
  // The observers contest it no longer, and one of them takes somebody else's answer for its.
  b.see([1], [2], false)
  b.see([0], [2], false).e.hasJustBegun(0, 2)
  b.pass(20)
  t.equal(b.j.standing[2], STANDING.counts, 'its last record is still fresh')
  t.equal(b.j.ownWord[2], 0)
  t.equal(b.verdicts()[2], 'unhealthy')
  b.alive = [0, 1, 2]
  b.pass(7)
  t.equal(b.verdicts()[2], 'healthy', 'it speaks again, and one of two others sees it')
  t.end()
})

t.test('the last words of the dead do not contest for ever', t => {
  const b = settled(9).see([7, 8], [3])
  b.judge()
  t.ok(b.j.contestAt[3]! < Infinity)
  b.kill([7, 8]).pass(61)
  t.equal(b.j.contestAt[3], Infinity)
  t.end()
})

t.test('correlated failure', t => {
  const b = settled(10)
  b.alive = [0, 1, 2, 3, 4, 5, 6]
  b.pass(1).see(b.alive, [7, 8, 9])
  b.judge()
  t.ok(b.j.correlatedFailure, 'three contested of ten')
  t.equal(b.j.standing[9], STANDING.counts)
  b.pass(8)
  t.equal(b.j.standing[9], STANDING.silentSinceFailure, 'who was silent since is not believed')
  t.equal(b.j.standing[6], STANDING.counts)
  const few = settled(10)
  few.see([0], [4, 5, 6, 7, 8])
  few.judge()
  t.ok(few.j.correlatedFailure, 'more than half of the own targets')
  few.flag(0, FLAG.warming).judge()
  t.notOk(few.j.correlatedFailure, 'which a warming agent cannot tell')
  t.end()
})

t.test('partitions', t => {
  const split = (size: number, minority: number, self: number, o = {}): Bench => {
    const b = settled(size, o, self)
    const mine = range(size).filter(member => member < minority === self < minority)
    b.alive = mine
    return b
      .see(
        mine,
        range(size).filter(member => !mine.includes(member)),
      )
      .pass(90)
  }
  t.strictSame(new Set(split(10, 5, 0).verdicts()), new Set(['undecided']), '50/50: one side')
  t.strictSame(new Set(split(10, 5, 9).verdicts()), new Set(['undecided']), 'and the other')
  const small = split(10, 3, 0)
  t.strictSame(new Set(small.verdicts()), new Set(['undecided']), '30/70: the minority')
  t.equal(small.j.voice, 'minority')
  t.strictSame(small.hidden(), [3, 4, 5, 6, 7, 8, 9], 'which still knows what it can reach')
  t.equal(small.j.disruption, 'partial')
  t.equal(split(10, 1, 0).j.disruption, 'full', 'a lonely node loses everybody')
  const big = split(10, 3, 9)
  t.strictSame(
    big.verdicts(),
    range(10).map(member => (member < 3 ? 'unhealthy' : 'healthy')),
    'the majority condemns the cut-off minority, wherever the cloud is; the minority writes nothing',
  )
  t.end()
})

t.test('kring: few watch, the component quorum decides', t => {
  const zone = (): Bench =>
    new Bench(new ScriptedEvidence(12, 0, { observers: ring(12, 4) })).pass(8)
  const b = zone().see([1, 2, 3], [5]).pass(10)
  t.equal(b.verdicts()[5], 'unhealthy', '3 of 4 observers')
  const tie = zone().see([1, 2], [5]).pass(30)
  t.equal(tie.verdicts()[5], 'healthy', 'a tie keeps what was')
  const cut = zone()
  cut.alive = [0, 1, 2, 3]
  cut.see([1, 2, 3], [5]).pass(40)
  t.equal(cut.verdicts()[5], 'healthy', 'backed by four of twelve: never final')
  t.equal(cut.j.backedAt[5], Infinity)
  cut.pass(60)
  t.equal(cut.j.voice, 'minority')
  t.end()
})

t.test('a zone of one judges itself by its own report', t => {
  const b = new Bench(new ScriptedEvidence(1)).pass(8)
  t.strictSame(b.verdicts(), ['healthy'])
  b.flag(0, FLAG.kubeletBad).pass(10)
  t.strictSame(b.verdicts(), ['unhealthy'])
  t.equal(b.class(0), 'kubelet-sick')
  t.strictSame(b.hidden(), [0])
  b.flag(0, 0).pass(30)
  t.strictSame(b.verdicts(), ['unhealthy'], '"unknown" changes nothing')
  b.flag(0, FLAG.kubeletWell).pass(8)
  t.strictSame(b.verdicts(), ['healthy'])
  t.equal(b.j.disruption, 'normal')
  b.flag(0, FLAG.warming).judge()
  t.equal(b.j.up[0], 0, 'a warming node has no say')
  t.end()
})

t.test('a zone of two needs a witness', t => {
  const zone = (answer: WitnessAnswer, o: Partial<VoteOptions> = {}): Bench => {
    const b = settled(2, o)
    b.witness = answer
    return b.kill([1]).pass(70)
  }
  const stopped: WitnessAnswer = { state: 'reachable', peerLease: 'stopped' }
  const rows: [why: string, answer: WitnessAnswer, o: Partial<VoteOptions>, want: Verdict][] = [
    ['apiserver: the peer’s Lease has stopped', stopped, {}, 'unhealthy'],
    ['apiserver: it still moves', { state: 'reachable', peerLease: 'fresh' }, {}, 'healthy'],
    ['apiserver: it cannot tell', { state: 'reachable', peerLease: 'unknown' }, {}, 'undecided'],
    ['apiserver: out of reach', { state: 'unreachable', peerLease: 'stopped' }, {}, 'undecided'],
    ['not asked yet', NO_WITNESS, {}, 'undecided'],
    ['none: abstains', stopped, { witness: 'none' }, 'undecided'],
    [
      'target: reachable',
      { state: 'reachable', peerLease: 'unknown' },
      { witness: 'target' },
      'unhealthy',
    ],
    [
      'target: not',
      { state: 'unreachable', peerLease: 'unknown' },
      { witness: 'target' },
      'undecided',
    ],
  ]
  for (const [why, answer, o, want] of rows) {
    const b = zone(answer, o)
    t.equal(b.verdicts()[1], want, why)
    t.strictSame(b.hidden(), [1], 'the local view needs no quorum')
  }
  const fresh: WitnessAnswer = { state: 'reachable', peerLease: 'fresh' }
  const marked = zone(stopped)
  marked.witness = fresh
  t.equal(marked.pass(10).verdicts()[1], 'healthy', 'FA24: a Lease that moves again clears a mark')
  const sick = zone(stopped)
  sick.witness = fresh
  sick.alive = [0, 1]
  sick.e.flags[1] = FLAG.kubeletBad
  t.equal(sick.pass(10).verdicts()[1], 'unhealthy', 'FA24: but not of who says that it is sick')
  const back = zone(stopped)
  back.alive = [0, 1]
  back.witness = { state: 'unreachable', peerLease: 'unknown' }
  back.see([0], [1], false).pass(8)
  t.equal(back.verdicts()[1], 'healthy', 'two that agree need no witness to clear')
  const quiet = settled(2, { witness: 'target' })
  quiet.witness = { state: 'reachable', peerLease: 'unknown' }
  quiet.alive = [0]
  t.equal(quiet.pass(70).verdicts()[1], 'healthy', 'a silent agent on a reachable node is no death')
  const three = settled(3)
  three.witness = stopped
  three.judge()
  t.equal(three.j.witness, 'absent', 'larger zones ask nobody')
  t.end()
})

t.test('a zone of four with one dead can clear another', t => {
  const b = settled(4).kill([3]).pass(10)
  t.equal(b.verdicts()[3], 'unhealthy')
  b.kill([2]).alive.push(3)
  b.see([0, 1], [3], false).pass(10)
  t.equal(b.verdicts()[3], 'healthy', 'its own word is the third of four voices')
  t.equal(b.verdicts()[2], 'healthy', 'while two of four cannot condemn')
  t.end()
})

t.test('classes', t => {
  const cut = FLAG.kubeletWell | FLAG.cloudCut
  const b = settled(5).flag(4, cut).pass(1)
  t.equal(b.class(4), 'cloud-link-cut')
  for (const member of range(4)) b.flag(member, cut)
  b.flag(3, FLAG.kubeletWell | FLAG.warming)
  t.equal(b.judge().state, true)
  t.equal(b.class(4), 'zone-link-cut', 'one that just started does not know its link yet')
  b.flag(3, FLAG.kubeletWell | FLAG.selfSuspect).pass(1)
  t.equal(b.class(4), 'cloud-link-cut', 'a bad checker still knows its own link')
  b.alive = [0, 1, 2, 3]
  b.pass(61)
  t.equal(b.class(4), 'healthy', 'an old word about the link is no word')
  const sick = settled(5).flag(4, FLAG.kubeletBad).see([0, 1, 2], [4]).pass(10)
  t.equal(sick.class(4), 'kubelet-sick')
  sick.alive = [0, 1, 2, 3]
  sick.pass(61)
  t.equal(sick.class(4), 'dead', 'when it stops saying so')
  const healed = settled(5).flag(4, FLAG.kubeletBad).see([0, 1, 2], [4]).pass(10)
  healed.flag(4, FLAG.kubeletWell).see([0, 1, 2], [4], false).pass(2)
  t.equal(healed.class(4), 'kubelet-sick', 'on its way back it was never dead')
  t.equal(healed.pass(10).class(4), 'healthy')
  t.end()
})

t.test('what SuperEdge gets wrong', t => {
  const allDown = settled(5)
  allDown.e.say(range(5), range(5), true, allDown.now)
  allDown.pass(60)
  t.ok(allDown.j.brake, 'everybody says that everybody is dead: the brake holds')
  t.notOk(allDown.verdicts().includes('unhealthy'))
  const hearsNobody = new Bench(new ScriptedEvidence(3, 0, { now: -Infinity }))
  hearsNobody.alive = [0]
  hearsNobody.e.say([1], [2], true, -Infinity)
  hearsNobody.pass(60)
  t.strictSame(
    new Set(hearsNobody.verdicts()),
    new Set(['undecided']),
    'an agent that hears nobody decides nothing',
  )
  t.equal(quorumOf(0), 1, 'and an empty roster has no half vote')
  const onePerTurn = settled(5).kill([4]).pass(10).kill([3]).pass(10)
  t.equal(
    onePerTurn.verdicts()[4],
    'unhealthy',
    'the quorum is of the roster: 4 of 5 could condemn one',
  )
  t.equal(onePerTurn.verdicts()[3], 'unhealthy', 'and 3 of 5 the second')
  const half = settled(4).kill([2, 3]).pass(10)
  t.notOk(half.verdicts().includes('unhealthy'), 'exactly half dead stays undecidable')
  const silent = settled(5).see([0], [4])
  silent.alive = [1, 2, 3, 4]
  silent.pass(60)
  t.equal(silent.j.down[4], 0, 'own results expire like all others')
  t.equal(silent.j.voice, 'minority', 'and an agent that no longer produces has no voice')
  const blip = settled(3)
  blip.see([0, 1], [2]).pass(4).see([0, 1], [2], false).pass(10)
  t.equal(
    blip.verdicts()[2],
    'healthy',
    'a blip of both peers, shorter than the hold, writes nothing',
  )
  const three = settled(3)
  t.equal(three.j.up.length, 3, 'only roster places have votes; a stranger has none')
  three.e.say([0, 1, 2], [0, 1, 2], false, three.now)
  three.judge()
  t.ok(three.j.up[0]! <= 2, 'and one voter is one vote, however often it speaks')
  t.end()
})

t.test('a roster change keeps what it can', t => {
  const b = settled(5).kill([4]).pass(10)
  const next = remapJudgement(b.j, Int32Array.of(0, 4, -1, 2))
  t.equal(next.size, 4)
  t.strictSame([...next.verdict], [1, 2, 0, 1])
  t.equal(next.verdictAt[1], b.j.verdictAt[4])
  t.equal(next.localUp[1], 0)
  t.equal(next.localUp[2], 1)
  t.equal(next.correlatedFailureAt, b.j.correlatedFailureAt)
  t.end()
})

t.test('it is cheap enough to run after every message', t => {
  const size = 1000
  const e = new ScriptedEvidence(size, 0, { observers: ring(size, 10) })
  const b = new Bench(e).pass(8)
  e.say(ring(size, 10)[500]!, [500], true, b.now)
  const beganAt = process.cpuUsage().user
  for (let i = 0; i < 100; i++) b.judge()
  const ms = (process.cpuUsage().user - beganAt) / 1000 / 100
  t.comment(`N=1000, k=10: ${ms.toFixed(3)} ms`)
  t.ok(ms < 20)
  t.end()
})
