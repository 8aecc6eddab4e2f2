// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { LINK_BYTES } from '../../../../agent/identity/link-chain.js'
import type { Statement } from '../../../../agent/identity/statement.js'
import { urgentSince } from '../../../../agent/stages/exchange/urgent.js'
import { FLAG } from '../../../../vote/evidence.js'

const WELL: Statement = {
  ...{ generation: 1, epoch: 3, time: 1_000, slot: 4, logLinks: 10, heartbeat: 7 },
  ...{ anchor: '00'.repeat(LINK_BYTES), flags: FLAG.kubeletWell, cutFor: 0 },
  ...{ membershipHash: 1n, down: [], notLooked: [], standsInFor: [] },
}
const NOW = 100_000
const KNOWN_SINCE = 40_000

/** Since when it counts as urgent, where `said` follows on `before`. */
const since = (
  before: Partial<Statement> | undefined,
  said: Partial<Statement>,
  { quarters = 0, madeAt = NOW } = {},
): number =>
  urgentSince(
    before && { ...WELL, ...before },
    {
      received: { statement: { ...WELL, ...said }, bytes: Buffer.alloc(0) },
      progress: { quarters, link: undefined },
      madeAt,
    },
    { urgentSince: KNOWN_SINCE, now: NOW },
  )

const anew = { time: 5_000, anchor: '01'.repeat(LINK_BYTES), heartbeat: 900 }
const urgent: [string, Partial<Statement>, Partial<Statement>][] = [
  ['calls a node down', {}, { down: [5n] }],
  ['calls another node down, too', { down: [5n] }, { down: [5n, 9n] }],
  ['calls another node down instead', { down: [5n] }, { down: [9n] }],
  ['calls nobody down any more', { down: [5n] }, {}],
  ['started again, and calls nobody down', { down: [5n] }, { epoch: 4, notLooked: [5n] }],
  ['has not looked at a node, then calls it down', { notLooked: [5n] }, { down: [5n] }],
  ['stands in', { down: [5n] }, { down: [5n], standsInFor: [6n] }],
  ['stands in no more', { standsInFor: [6n] }, {}],
  [
    'stands in, and says so for another roster',
    { down: [6n], standsInFor: [6n] },
    { down: [6n], standsInFor: [6n], membershipHash: 2n },
  ],
  ['suspects itself', {}, { flags: WELL.flags | FLAG.selfSuspect }],
  ['has a bad kubelet', {}, { flags: FLAG.kubeletBad }],
  ['has a good kubelet again', { flags: FLAG.kubeletBad }, {}],
  ['leaves', {}, { flags: WELL.flags | FLAG.leaving }],
  ['is cut off', {}, { flags: WELL.flags | FLAG.cloudCut, cutFor: 8 }],
  ['is cut off no more', { flags: WELL.flags | FLAG.cloudCut, cutFor: 8 }, {}],
]
for (const [what, before, said] of urgent)
  t.test(`urgent: a member that ${what}`, async t => {
    t.equal(since(before, { ...anew, ...said }), NOW)
    // How old it is by the word of a relay, and how far it has come, is all the same.
    t.equal(since(before, said, { madeAt: -Infinity }), NOW)
    t.equal(since(before, said, { quarters: 4_000, madeAt: NOW - 59_000 }), NOW)
  })

const notUrgent: [string, Partial<Statement>, Partial<Statement>][] = [
  ['repeats that all is well', {}, anew],
  ['repeats that a node is down', { down: [5n] }, { ...anew, down: [5n] }],
  ['started again, and says the same', { down: [5n] }, { ...anew, epoch: 4, down: [5n] }],
  ['has other keys, and says the same', {}, { ...anew, generation: 2 }],
  ['says the same for another roster', { down: [5n] }, { down: [5n], membershipHash: 2n }],
  ['is to look at a new node', {}, { notLooked: [5n], membershipHash: 2n }],
  ['has looked at a node, which is up', { notLooked: [5n] }, {}],
  ['has ended its first round', { flags: FLAG.warming }, {}],
  [
    'is cut off, and counts that from another moment',
    { flags: FLAG.cloudCut, cutFor: 8 },
    { flags: FLAG.cloudCut, cutFor: 80 },
  ],
]
for (const [what, before, said] of notUrgent)
  t.test(`not urgent: a member that ${what}`, async t => {
    t.equal(since(before, said), KNOWN_SINCE)
    t.equal(since(before, said, { madeAt: -Infinity }), KNOWN_SINCE)
  })

t.test('the first that is heard of a member', async t => {
  t.equal(since(undefined, {}), KNOWN_SINCE, 'that all is well is not urgent')
  t.equal(since(undefined, { down: [5n] }), NOW, 'a death that was said just now')
  t.equal(
    since(undefined, { down: [5n] }, { quarters: 400, madeAt: NOW - 10_000 }),
    NOW - 110_000,
    'a death counts from when it was said, not from when it was last stood by',
  )
  t.equal(
    since(undefined, { down: [5n] }, { madeAt: -Infinity }),
    -Infinity,
    'without an age, it was said long ago',
  )
})
