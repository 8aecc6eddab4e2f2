// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { FLAG } from '../../vote/evidence.js'
import { judge } from '../../vote/judge.js'
import { makeJudgement } from '../../vote/judgement.js'
import { explanationOf, type Guard, type Explanation } from '../../vote/explanation.js'
import type { VoteOptions } from '../../vote/options.js'
import {
  describeNode,
  describeTaintBackoff,
  describeGuard,
  messageFor,
  NOTE_LIMIT,
  shorten,
  span,
  describeVouchEnd,
  type Wording,
  describeUncounted,
} from '../../plan/messages.js'
import { NO_BACKOFF } from '../../plan/taint-backoff.js'
import { NO_WITNESS, type WitnessAnswer } from '../../vote/witness.js'
import {
  range,
  ring,
  ScriptedEvidence,
  unmarked,
  voteOptions,
} from '../../testkit/zone/evidence.js'

const letters = 'abcdefghijklmnopqrst'
const wording = (now: number): Wording => ({ nameOf: index => letters[index]!, now })

/** A zone that has settled at 10 s; `live` goes on from there. */
const zone = (size: number, changes: Partial<VoteOptions> = {}, observers?: number[][]) => {
  const e = new ScriptedEvidence(size, 0, observers === undefined ? {} : { observers })
  const j = makeJudgement(size)
  const o = voteOptions(changes)
  let now = 0
  let witness: WitnessAnswer = NO_WITNESS
  const live = (seconds: number, who = range(size)): void => {
    for (let i = 0; i < seconds; i++) {
      now += 1000
      e.hear(who, now)
      judge(j, e, now, { options: o, context: unmarked(witness) })
    }
  }
  live(10)
  return {
    e,
    j,
    o,
    live,
    at: () => now,
    ask: (answer: WitnessAnswer) => (witness = answer),
    explanation: (index: number): Explanation => explanationOf(j, e, index, { now, options: o }),
    lines: (index: number) =>
      describeNode(explanationOf(j, e, index, { now, options: o }), wording(now)),
  }
}

t.test('explain: a dead node', t => {
  const z = zone(5)
  z.e.say([0, 1, 2, 3], [4], true, z.at())
  z.live(9, [0, 1, 2, 3])
  t.strictSame(z.lines(4), [
    'e: dead: most peers cannot reach it for 2 s',
    'verdict unhealthy for 2 s: 4 of 5 members say down (a, b, c, d), 0 say up; 3 needed',
    'seen from here: down for 8 s',
    'a says down, 0 s ago',
    'b says down, 0 s ago',
    'c says down, 0 s ago',
    'd says down, 0 s ago',
  ])
  t.match(z.explanation(4), {
    index: 4,
    isSelf: false,
    local: 'down',
    verdict: 'unhealthy',
    class: 'dead',
    down: 4,
    up: 0,
    needed: 3,
    members: 5,
    guards: [],
  })
  t.match(z.explanation(0), { isSelf: true, up: 5, guards: [], localAt: -Infinity })
  t.end()
})

t.test('explain: a cut node', t => {
  const z = zone(5)
  z.e.flags[4] = FLAG.kubeletWell | FLAG.cloudCut
  z.e.cloudCutAt[4] = z.at()
  z.live(30)
  t.strictSame(z.lines(4).slice(0, 3), [
    'e: alive; only its own link to the apiserver is cut for 29 s',
    'verdict healthy for 33 s: 0 of 5 members say down, 5 say up (a, b, c, d); 3 needed',
    'seen from here: up',
  ])
  t.equal(
    messageFor('vouched', z.explanation(4), wording(z.at())),
    'peers reach this node and its kubelet is well, only its link to the apiserver is cut for 30 s: ' +
      '0 of 5 members say down, 5 say up (a, b, c, d); 3 needed',
  )
  z.live(61, [0, 1, 2, 3])
  t.equal(z.explanation(4).cloudCutAt, -Infinity, 'an old word about the link is not repeated')
  t.end()
})

t.test('guards', t => {
  const kinds = (explanation: Explanation): string[] => explanation.guards.map(guard => guard.kind)
  const z = zone(5)
  z.e.say([0, 1], [4], true, z.at())
  z.live(1, [0, 1, 2])
  t.strictSame(z.explanation(4).guards, [{ kind: 'no-quorum', have: 2, need: 3 }])
  z.live(9, [0, 1, 2])
  t.match(z.explanation(4).guards, [{ kind: 'no-quorum' }, { kind: 'reaffirm', votes: 1 }])
  t.equal(
    describeGuard(z.explanation(4).guards[1]!, wording(z.at())),
    '1 vote for up older than the contest (9 s) not believed',
  )
  t.match(
    z.lines(4).find(line => line.startsWith('d ')),
    'd says up, 10 s ago; not counted: said before the node was contested, and not again',
  )
  z.e.say([2], [4], true, z.at())
  judge(z.j, z.e, z.at(), { options: z.o, context: unmarked() })
  t.strictSame(z.explanation(4).guards[0], { kind: 'component-quorum', have: 0, need: 3 })
  t.match(z.lines(4).join('\n'), /on its way to unhealthy for 0 s/)
  z.live(1, [0])
  t.strictSame(z.explanation(4).guards[0], { kind: 'component-quorum', have: 1, need: 3 })
  z.live(2, [0, 1, 2])
  t.match(z.explanation(4).guards, [{ kind: 'hold', until: z.at() + 4000 }, { kind: 'reaffirm' }])

  const all = zone(5)
  all.e.say([0, 1, 2, 3], [1, 2, 3, 4], true, all.at())
  all.live(7)
  t.strictSame(all.explanation(4).guards, [{ kind: 'brake', unhealthy: 4, limit: 2 }])
  all.live(70, [0, 1])
  t.match(all.explanation(4).guards, [
    { kind: 'minority', have: 2, need: 3 },
    { kind: 'no-quorum' },
  ])

  const young = zone(5)
  young.e.flags[0] = FLAG.warming
  young.live(1)
  t.strictSame(kinds(young.explanation(4)), ['warming'])
  young.e.flags[0] = FLAG.leaving
  young.live(1)
  t.strictSame(young.explanation(4).guards, [{ kind: 'leaving', until: undefined }])
  young.e.flags[0] = FLAG.kubeletWell
  young.e.say([0], [1, 2, 3, 4], true, young.at())
  young.live(2)
  t.ok(kinds(young.explanation(4)).includes('self-suspect'))

  const leaving = zone(5)
  leaving.e.flags[4] = FLAG.leaving
  leaving.e.say([0, 1, 2], [4], true, leaving.at())
  leaving.live(1, [0, 1, 2, 3])
  t.strictSame(leaving.explanation(4).guards, [{ kind: 'leaving', until: leaving.at() + 29_000 }])

  const two = zone(2)
  two.e.say([0], [1], true, two.at())
  two.live(2, [0])
  t.strictSame(two.explanation(1).guards, [
    { kind: 'no-quorum', have: 1, need: 2 },
    { kind: 'witness', vote: 'abstains' },
  ])
  const none = zone(2, { witness: 'none' })
  none.e.say([0], [1], true, none.at())
  none.live(2, [0])
  t.strictSame(kinds(none.explanation(1)), ['no-quorum', 'zone-of-two'])

  const few = zone(12, {}, ring(12, 4))
  few.e.say([1], [5], true, few.at())
  few.live(1)
  t.match(few.explanation(5), {
    needed: 2,
    up: 3,
    down: 1,
    guards: [{ kind: 'no-quorum', have: 1 }],
  })
  t.end()
})

t.test('every guard and every reason has words', t => {
  const guards: [Guard, RegExp][] = [
    [{ kind: 'no-quorum', have: 1, need: 2 }, /no quorum: 1 of 2/],
    [{ kind: 'component-quorum', have: 1, need: 3 }, /majority .* 1 of 3/],
    [{ kind: 'hold', until: 14_000 }, /another 4 s of --write-hold/],
    [{ kind: 'brake', unhealthy: 5, limit: 4 }, /5 nodes look dead, at most 4/],
    [{ kind: 'minority', have: 2, need: 3 }, /hears 2 of the 3/],
    [{ kind: 'self-suspect' }, /suspects its own probes/],
    [{ kind: 'warming' }, /first round/],
    [{ kind: 'zone-of-two' }, /zone of two/],
    [{ kind: 'leaving', until: 30_000 }, /another 20 s/],
    [{ kind: 'leaving', until: undefined }, /shutting down/],
    [{ kind: 'witness', vote: 'down' }, /Lease has stopped/],
    [{ kind: 'reaffirm', votes: 2, since: 0 }, /2 votes/],
  ]
  for (const [guard, words] of guards) t.match(describeGuard(guard, wording(10_000)), words)
  t.match(describeVouchEnd('link-back'), /works/)
  t.equal(describeTaintBackoff(NO_BACKOFF, wording(0)), undefined)
  t.match(
    describeTaintBackoff({ removals: 3, lastAt: 10_000, waitMs: 8000 }, wording(12_000)),
    /put .* back 2 times; the next removal is not before 6 s/,
  )
  t.strictSame([-5, 400, 9_940, 42_000, 420_000, 10_800_000].map(span), [
    '0 s',
    '0.4 s',
    '9.9 s',
    '42 s',
    '7 min',
    '3 h',
  ])
  t.end()
})

t.test('the sentence for what a node is about to be', t => {
  const z = zone(20)
  z.e.say(range(19), [19], true, z.at())
  z.live(10, range(19))
  const w = wording(z.at())
  const explanation = z.explanation(19)
  const dead = messageFor('dead', explanation, w)
  t.match(dead, /19 of 20 members say down \(a, b, c, d, e, f, g, h and 11 more\)/)
  t.match(messageFor('kubelet-sick', explanation, w), /its kubelet is not well/)
  t.match(messageFor('vouched', explanation, w), /link to the apiserver is cut: /)
  t.match(messageFor('left', explanation, w), /not among/)
  t.match(messageFor('keep', explanation, w), /nothing is decided/)
  const long: Wording = { nameOf: () => 'n'.repeat(253), now: w.now }
  t.equal(messageFor('dead', explanation, long).length, NOTE_LIMIT, 'names may be long, notes not')
  t.equal(shorten('short'), 'short')
  z.e.producedAt[3] = -Infinity
  z.e.flags[4] = FLAG.selfSuspect
  judge(z.j, z.e, z.at(), { options: z.o, context: unmarked() })
  t.ok(z.lines(19).includes('d: never heard'))
  t.equal(describeUncounted('gone'), 'too old')
  t.ok(z.lines(19).some(line => line.endsWith('not counted: it suspects its own probes')))
  t.end()
})

t.test('a voter that has just begun to watch the node is named as such', t => {
  const z = zone(5)
  z.e.hasJustBegun(3, 4)
  const { voters } = explanationOf(z.j, z.e, 4, { now: z.at(), options: z.o })
  t.equal(voters.find(({ voter }) => voter === 3)?.uncounted, 'not-looked')
  z.live(1)
  const lines = z.lines(4)
  t.match(lines.join('\n'), /0 of 5 members say down, \d say up \(.*\), 1 could not look; 3 needed/)
  t.match(
    lines.join('\n'),
    /d says neither, 0 s ago; not counted: it has not looked, could not, or the node flapped/,
  )
  t.end()
})
