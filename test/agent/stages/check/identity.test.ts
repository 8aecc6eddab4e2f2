// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { voteFor, type AtAddress } from '../../../../agent/stages/check/identity.js'
import type { Vote } from '../../../../vote/evidence.js'

t.test('FA6: an answer counts for a node only if that node gave it', t => {
  const rows: [AtAddress['signedBy'], shared: boolean, speaks: boolean, Vote, why: string][] = [
    ['nobody', false, false, 'up', 'its agent is silent, its kubelet answers'],
    ['itself', false, true, 'up', 'the common case'],
    ['itself', false, false, 'up', 'its agent fell silent, nobody else signed there'],
    ['nobody', true, true, 'not-looked', 'one of two, nobody knows which'],
    ['itself', true, true, 'up', 'it signed there'],
    ['itself', true, false, 'not-looked', 'it signed there once'],
    ['sharer', true, true, 'not-looked', 'it lives somewhere else'],
    ['sharer', true, false, 'down', 'nobody hears it, and the roster says who is in its place'],
    ['another', false, true, 'not-looked', 'somebody there passes requests on, or is another'],
    ['another', false, false, 'not-looked', 'the same: only its own address is proven by nobody'],
    ['another', true, false, 'not-looked', 'of those that share the address it is none'],
    ['unasked', false, true, 'not-looked', 'the address is new, and nobody has been asked yet'],
    ['unasked', false, false, 'not-looked', 'the same'],
    ['own', true, true, 'not-looked', 'we answer ourselves'],
    ['own', true, false, 'down', 'we answer ourselves, and it is silent'],
  ]
  for (const [signedBy, isShared, speaks, want, why] of rows)
    t.equal(voteFor({ signedBy, isShared, speaks }), want, why)
  t.end()
})
