// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { ZoneState } from '../../../../agent/results.js'
import { MemberReview } from '../../../../agent/stages/write/member-review.js'
import type { NodeView } from '../../../../core/node.js'
import type { DesiredMarks } from '../../../../plan/node-plan.js'
import { makeVouching } from '../../../../vote/vouch.js'

const SIZE = 1_000
const members = Array.from({ length: SIZE }, (_, n) => ({ name: `n${n}` }))
const state = { roster: { members }, vouching: makeVouching(SIZE) } as unknown as ZoneState

/** A zone in which all Nodes are as they should be; `looked` counts how often the agent looked for what to do about a member. */
const world = (desired: DesiredMarks, node?: NodeView) => {
  const resting = new Set<string>()
  let looked = 0
  const review = new MemberReview({
    authority: { desired: () => desired, noticedAt: () => -Infinity, youngUntil: () => -Infinity },
    known: {
      nodeOf: () => {
        looked++
        return node
      },
      follow: () => undefined,
      isDue: () => false,
      rest: name => void resting.add(name),
      rests: name => resting.has(name),
    },
    vouching: { review: () => Infinity },
    flaps: { cut: () => undefined, cutBriefly: () => undefined, restored: () => -Infinity },
    schedule: { forget: () => undefined },
    dueTimes: { dueAt: () => Infinity },
    work: { running: new Map() as never },
    writes: { write: () => Promise.resolve() },
  })
  const reviewAll = (): number => {
    looked = 0
    for (let index = 0; index < SIZE; index++) review.review(state, index, 0)
    return looked
  }
  return { reviewAll, resting }
}

t.test('healthy members with nothing to do are looked at once, then left out', async t => {
  const { reviewAll, resting } = world('healthy')
  t.equal(reviewAll(), SIZE)
  t.equal(reviewAll(), 0)
  resting.delete('n7')
  t.equal(reviewAll(), 1, 'until it is time to ask about one')
  t.equal(reviewAll(), 0)
})

t.test('all others are looked at in each review', async t => {
  for (const desired of ['keep', 'dead', 'kubelet-sick', 'vouched'] as const) {
    const { reviewAll } = world(desired)
    reviewAll()
    t.equal(reviewAll(), SIZE, desired)
  }
  const { reviewAll } = world('healthy', { name: 'n' } as NodeView)
  reviewAll()
  t.equal(reviewAll(), SIZE, 'whose Node was read')
})
