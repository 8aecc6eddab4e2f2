// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  brakeEvent,
  eventFor,
  vouchEndedEvent,
  withLeftOut,
  zoneTrapEvent,
} from '../../plan/events.js'
import { messageFor, NOTE_LIMIT, type Wording } from '../../plan/messages.js'
import { ScriptedEvidence, unmarked, voteOptions } from '../../testkit/zone/evidence.js'
import { explanationOf } from '../../vote/explanation.js'
import { judge } from '../../vote/judge.js'
import { makeJudgement } from '../../vote/judgement.js'

t.test('the Event for marks that were written has the sentence of the mark', t => {
  const evidence = new ScriptedEvidence(3, 0, {})
  const judgement = makeJudgement(3)
  const options = voteOptions({})
  judge(judgement, evidence, 1_000, { options, context: unmarked() })
  const explanation = explanationOf(judgement, evidence, 2, { now: 1_000, options })
  const wording: Wording = { nameOf: index => `node-${index}`, now: 1_000 }
  const rows = [
    ['dead', 'Warning', 'PeersCondemned', 'Condemn'],
    ['kubelet-sick', 'Warning', 'PeersCondemned', 'Condemn'],
    ['vouched', 'Warning', 'CloudLinkCut', 'Vouch'],
    ['healthy', 'Normal', 'PeersCleared', 'Clear'],
    ['left', 'Normal', 'NotJudged', 'Clear'],
  ] as const
  for (const [desired, type, reason, action] of rows) {
    const note = messageFor(desired, explanation, wording)
    t.strictSame(eventFor(desired, explanation, wording), { type, reason, action, note }, desired)
  }
  t.end()
})

t.test('only the return of the link is a good end of vouching', t => {
  t.equal(vouchEndedEvent('link-back').type, 'Normal')
  t.equal(vouchEndedEvent('own-record-old').type, 'Warning')
  t.match(vouchEndedEvent('own-record-old').note, /not been heard/)
  t.end()
})

t.test('an Event says how many before it were left out', t => {
  t.equal(withLeftOut('n1 is back', 0), 'n1 is back')
  t.equal(withLeftOut('n1 is back', 1), 'n1 is back (1 Event before it left out)')
  t.equal(withLeftOut('n1 is back', 3), 'n1 is back (3 Events before it left out)')
  t.end()
})

t.test('Events about the zone as a whole', t => {
  const names = 'a b c d e f g h i j'.split(' ')
  const facts = { zone: 'z', members: 20, unhealthy: 10, limit: 6, names }
  t.match(brakeEvent({ ...facts, isOn: true }), {
    ...{ type: 'Warning', reason: 'ZoneBrakeOn', action: 'Brake' },
    note: 'the brake of zone z holds, nothing more is marked: 10 of 20 nodes look dead (a, b, c, d, e, f, g, h and 2 more), at most 6 may be condemned at one time',
  })
  t.match(brakeEvent({ ...facts, isOn: false, zone: '', unhealthy: 0, names: [] }), {
    ...{ type: 'Normal', reason: 'ZoneBrakeOff' },
    note: 'the brake of the zone lets go: 0 of 20 nodes look dead, at most 6 may be condemned at one time',
  })
  t.match(brakeEvent({ ...facts, isOn: true, names: ['a'] }).note, /look dead \(a\), at most/)
  t.match(zoneTrapEvent('x'.repeat(2_000)), { type: 'Warning', reason: 'ZoneNotConfigured' })
  t.equal(zoneTrapEvent('x'.repeat(2_000)).note.length, NOTE_LIMIT)
  t.end()
})
