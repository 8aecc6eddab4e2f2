// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { FLAG } from '../../vote/evidence.js'
import { judge } from '../../vote/judge.js'
import { makeJudgement, type Judgement } from '../../vote/judgement.js'
import type { VoteOptions } from '../../vote/options.js'
import { isVouched, makeVouching, remapVouching, reviewVouching } from '../../vote/vouch.js'
import {
  range,
  ring,
  ScriptedEvidence,
  unmarked,
  voteOptions,
} from '../../testkit/zone/evidence.js'

const o = voteOptions()

t.test('vouching', t => {
  const cut = FLAG.kubeletWell | FLAG.cloudCut
  interface Zone {
    e: ScriptedEvidence
    j: Judgement
    v: ReturnType<typeof makeVouching>
    now: number
  }
  const step = (
    z: Zone,
    options: VoteOptions,
    who = range(z.e.size),
  ): ReturnType<typeof reviewVouching> => {
    z.now += 1000
    z.e.hear(who, z.now)
    judge(z.j, z.e, z.now, { options: options, context: unmarked() })
    return reviewVouching(z.v, z.j, z.e, { now: z.now, options })
  }
  const zone = (size = 5, options = o, observers?: number[][]): Zone => {
    const e = new ScriptedEvidence(size, 0, observers === undefined ? {} : { observers })
    const z = { e, j: makeJudgement(size), v: makeVouching(size), now: 0 }
    e.flags[size - 1] = cut
    for (let i = 0; i < 5; i++) step(z, options)
    t.notOk(isVouched(z.v, size - 1), 'not before the verdict is final')
    for (let i = 0; i < 3; i++) step(z, options)
    return z
  }
  const begun = zone()
  t.ok(isVouched(begun.v, 4))
  t.equal(begun.v.since[4], 7000)
  const ends: [why: string, change: (z: Zone) => void][] = [
    ['kubelet-bad', z => (z.e.flags[4] = cut | FLAG.kubeletBad)],
    ['kubelet-unknown', z => (z.e.flags[4] = FLAG.cloudCut)],
    ['link-back', z => (z.e.flags[4] = FLAG.kubeletWell)],
    ['leaving', z => (z.e.flags[4] = cut | FLAG.leaving)],
    ['no-quorum', z => z.e.say([1, 2, 3], [4], true, z.now)],
    ['no-quorum', z => (z.e.flags[0] = FLAG.warming)],
    ['no-quorum', z => (z.e.flags[4] = cut | FLAG.selfSuspect)],
    ['condemned', z => (z.j.verdict[4] = 2)],
  ]
  for (const [why, change] of ends) {
    const z = zone()
    change(z)
    const { ended } = step(z, o, [0, 1, 2, 3, 4])
    t.strictSame(ended, [{ index: 4, why }], why)
  }
  for (const size of [2, 3, 5]) {
    const anew = zone(size)
    const last = size - 1
    anew.e.flags[last] = cut | FLAG.warming
    t.strictSame(step(anew, o).ended, [], 'an agent that begins anew still says how its node is')
    anew.e.flags[last] = FLAG.kubeletWell | FLAG.warming
    t.strictSame(step(anew, o).ended, [{ index: last, why: 'link-back' }], 'also that it is not so')
    anew.e.flags[last] = cut | FLAG.warming
    t.strictSame(step(anew, o).begun, [], 'nothing begins by its word alone')
    anew.e.flags[last] = cut
    t.strictSame(step(anew, o).begun, [last])
  }
  const silent = zone()
  for (let i = 0; i < 29; i++) t.strictSame(step(silent, o, [0, 1, 2, 3]).ended, [])
  t.strictSame(step(silent, o, [0, 1, 2, 3]).ended, [{ index: 4, why: 'own-record-old' }])
  t.equal(zone(5, voteOptions({ vouch: 'off' })).v.since[4], Infinity, 'off')
  t.equal(zone(1).v.since[0], Infinity, 'nobody vouches for itself alone')
  t.ok(isVouched(zone(2).v, 1), 'in a zone of two the other one, and its own word')
  t.ok(isVouched(zone(12, o, ring(12, 4)).v, 11), 'in a k-ring those who watch it')
  const held = zone()
  held.j.verdict[4] = 0
  held.j.pending[4] = 0
  t.strictSame(step(held, o).ended, [{ index: 4, why: 'undecided' }])

  const changed = remapVouching(begun.v, Int32Array.of(0, 1, 2, 4, -1))
  t.equal(changed.vouching.since[3], 7000)
  t.strictSame(changed.left, [])
  t.strictSame(remapVouching(begun.v, Int32Array.of(0, 1, 2)).left, [4], 'roster-left')
  t.end()
})
