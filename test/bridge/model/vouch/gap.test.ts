// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  GAP_ANNOTATION,
  gapSince,
  gapStep,
  type Gap,
  type GapEnd,
} from '../../../../bridge/model/vouch/gap.js'
import type { NodeCondition } from '../../../../core/node.js'
import fc from '../../../../testkit/properties.js'

const SINCE = 1_900_000_000_000
const ago = (ms: number): string => new Date(SINCE + 20_000 - ms).toISOString()
const word = (status: NodeCondition['status'], at = ago(5_000)): readonly NodeCondition[] => [
  { type: 'Ready', status: 'Unknown' },
  { type: 'PeerHealth', status, lastHeartbeatTime: at },
]
const lease = { renewedAt: SINCE - 3_000, durationMs: 40_000 }
const gap = (more: Partial<Gap> = {}): Gap => ({
  ...{ mode: 'zone', now: SINCE + 20_000, since: SINCE, heardAt: SINCE - 3_000 },
  ...{ leaseAtStart: lease, lease, renewedAt: undefined, conditions: word('True') },
  ...more,
})

t.test('when a Lease is renewed', t => {
  const renew = { kind: 'renew', renewTime: SINCE + 20_000 }
  const rows: [claim: string, more: Partial<Gap>, step: unknown][] = [
    ['the zone says that it lives', {}, renew],
    ['nothing was ever heard of it here', { heardAt: undefined }, renew],
    ['the last word is from before the gap', { heardAt: SINCE }, renew],
    ['for a while, without anybody', { mode: 'grace', conditions: [] }, renew],
    [
      'for a while, on an old word',
      { mode: 'grace', conditions: word('True', ago(900_000)) },
      renew,
    ],
    ['the word is half a minute old', { conditions: word('True', ago(30_000)) }, renew],
    [
      'it is not due',
      { lease: { ...lease, renewedAt: SINCE + 15_000 }, renewedAt: SINCE + 15_000 },
      { kind: 'wait', until: SINCE + 25_000, hasReport: true },
    ],
    [
      'it is due again',
      { lease: { ...lease, renewedAt: SINCE + 10_000 }, renewedAt: SINCE + 10_000 },
      renew,
    ],
    ...(
      [
        ['the zone is silent', []],
        ['the word is older', word('True', ago(30_001))],
        ['the word is of tomorrow', word('True', ago(-1))],
        ['the word has no time', [{ type: 'PeerHealth', status: 'True' }]],
        ['the word is none', word('Unknown')],
      ] as const
    ).map(([claim, conditions]): [string, Partial<Gap>, unknown] => [
      claim,
      { conditions },
      { kind: 'wait', until: SINCE + 21_000, hasReport: false },
    ]),
  ]
  for (const [claim, more, step] of rows) t.strictSame(gapStep(gap(more)), step, claim)
  t.end()
})

t.test('when a Lease is no longer renewed', t => {
  const rows: [claim: string, more: Partial<Gap>, reason: GapEnd][] = [
    ['nobody wants it', { mode: 'off' }, 'off'],
    ['the first sign of the node', { heardAt: SINCE + 1 }, 'heard'],
    ['two minutes', { now: SINCE + 120_000, mode: 'grace' }, 'too-long'],
    ['two minutes, whatever the zone says', { now: SINCE + 120_000 }, 'too-long'],
    ['it never had a Lease', { leaseAtStart: undefined }, 'lease-was-old'],
    [
      'it was not well before',
      { leaseAtStart: { renewedAt: SINCE - 40_000, durationMs: 40_000 } },
      'lease-was-old',
    ],
    ['somebody else renews it', { lease: { ...lease, renewedAt: SINCE + 1 } }, 'lease-moved'],
    ['after us', { lease, renewedAt: SINCE + 10_000 }, 'lease-moved'],
    ['it is gone', { lease: undefined }, 'lease-moved'],
    ['so is the Node', { conditions: undefined }, 'node-gone'],
    ['the zone says that it is dead', { conditions: word('False') }, 'peers-say-dead'],
    [
      'and said so long ago',
      { mode: 'grace', conditions: word('False', ago(900_000)) },
      'peers-say-dead',
    ],
  ]
  for (const [claim, more, reason] of rows)
    t.strictSame(gapStep(gap(more)), { kind: 'end', reason }, claim)
  t.end()
})

t.test('repeated restarts of a bridge do not extend the two minutes', t => {
  const at = (text: string) => gapSince({ [GAP_ANNOTATION]: text }, SINCE)
  const rows: [claim: string, since: number, is: number][] = [
    ['no word of an older gap', gapSince({}, SINCE), SINCE],
    ['an older gap', at(new Date(SINCE - 60_000).toISOString()), SINCE - 60_000],
    ['one of tomorrow', at(new Date(SINCE + 60_000).toISOString()), SINCE],
    ['no time', at('yesterday'), SINCE],
  ]
  for (const [claim, since, is] of rows) t.equal(since, is, claim)
  t.end()
})

t.test(
  'played over time: never later than now, never after the node, never beyond two minutes',
  t => {
    fc.assert(
      fc.property(
        fc.constantFrom<Gap['mode']>('grace', 'zone', 'off'),
        fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 40 }),
        fc.option(fc.nat(200_000), { nil: Infinity }),
        fc.nat(200_000),
        (mode, steps, backAt, wordUntil) => {
          let now = SINCE
          let current = lease
          let renewedAt: number | undefined
          for (const ms of steps) {
            now += ms
            const spoke = Math.min(now, SINCE + wordUntil)
            const step = gapStep({
              ...{ mode, now, since: SINCE, renewedAt, leaseAtStart: lease, lease: current },
              heardAt: now >= SINCE + backAt ? SINCE + Math.max(backAt, 1) : undefined,
              conditions: word('True', new Date(spoke).toISOString()),
            })
            if (step.kind !== 'renew') continue
            t.ok(
              mode !== 'off' &&
                step.renewTime <= now &&
                now < SINCE + 120_000 &&
                now < SINCE + Math.max(backAt, 1),
            )
            t.ok(mode === 'grace' || now - spoke <= 30_000)
            t.ok(step.renewTime >= current.renewedAt + 10_000)
            current = { ...current, renewedAt: step.renewTime }
            renewedAt = step.renewTime
          }
        },
      ),
    )
    t.end()
  },
)
