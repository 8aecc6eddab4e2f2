// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  followsLink,
  LINK_BYTES,
  LINK_DIGITS,
  LinkChain,
  MAX_STEPS,
  saltOf,
} from '../../../agent/identity/link-chain.js'
import {
  MemberStatement,
  type Progress,
  type Taken,
} from '../../../agent/identity/member-statement.js'
import { generateNodeKeys, makeVerifier } from '../../../agent/identity/node-keys.js'
import {
  parseStatement,
  sealStatement,
  type ReceivedStatement,
} from '../../../agent/identity/statement.js'
import { FLAG } from '../../../vote/evidence.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import fc from '../../../testkit/properties.js'

const keys = generateNodeKeys()
const verify = makeVerifier(keys.public.signing)
const origin = { zoneHash: 5n, id: 77n }
const SLOT = 4
const SLOT_MS = 1_000
const TTL_MS = 60_000
const START = 6_800_000_000

interface Said {
  readonly received: ReceivedStatement
  /** With the link of its slot. */
  at(quarters: number): Progress
}

/** What a node says at some time of its clock (quarters), and how it stands by it later. */
const say = (epoch: number, time: number, down: readonly bigint[] = [], seed = 1): Said => {
  const chain = new LinkChain(
    saltOf({ ...origin, epoch, time }),
    Buffer.alloc(LINK_BYTES, seed),
    1_024,
  )
  const bytes = sealStatement(
    {
      ...{ generation: 1, epoch, time, slot: SLOT, logLinks: 10, anchor: chain.anchor },
      ...{
        flags: FLAG.kubeletWell,
        cutFor: 0,
        membershipHash: 9n,
        heartbeat: 1,
        down,
        notLooked: [],
        standsInFor: [],
      },
    },
    origin,
    signed => keys.sign(signed),
  )
  return {
    received: parseStatement(bytes)!,
    at: quarters => ({
      quarters,
      link: quarters < SLOT ? undefined : chain.link(Math.floor(quarters / SLOT)),
    }),
  }
}
const unheard = (): MemberStatement => new MemberStatement(origin, 1, verify)
const kinds = (...taken: Taken[]): string[] =>
  taken.map(one => (one.kind === 'forged' ? one.reason : one.kind))

t.test('links prove slots one after the other, and nobody makes the next one', t => {
  const salt = saltOf({ ...origin, epoch: 1, time: START })
  const chain = new LinkChain(salt, Buffer.alloc(LINK_BYTES, 1), 1_024)
  t.equal(chain.last, 1_024)
  for (const [from, to] of [
    [0, 1],
    [0, 1_024],
    [17, 20],
    [1_023, 1_024],
  ] as const)
    t.ok(followsLink(salt, chain.link(from), chain.link(to), to - from), `${from} to ${to}`)
  const wrong: [string, boolean][] = [
    ['backwards', followsLink(salt, chain.link(5), chain.link(4), 1)],
    ['the same', followsLink(salt, chain.link(5), chain.link(5), 0)],
    ['one step too many', followsLink(salt, chain.link(5), chain.link(7), 3)],
    ['another chain', followsLink(`${salt}0`, chain.link(5), chain.link(6), 1)],
    ['half a link', followsLink(salt, chain.link(5), chain.link(6).slice(0, 10), 1)],
    [
      'more steps than anybody hashes',
      followsLink(salt, chain.link(0), chain.link(1), MAX_STEPS + 1),
    ],
    ['half a step', followsLink(salt, chain.link(5), chain.link(6), 0.5)],
  ]
  for (const [what, isBelieved] of wrong) t.notOk(isBelieved, what)
  t.end()
})

t.test('a node stands by its statement', t => {
  const one = unheard()
  const first = say(1, START)
  t.strictSame([one.received, one.madeAt], [undefined, -Infinity])
  t.strictSame(kinds(one.takeProgress(first.at(1), 0)), ['known'], 'of nothing')
  t.strictSame(kinds(one.takeStatement(first.received, first.at(0), 300, 1_000)), ['newer'])
  t.equal(one.madeAt, 700, 'the relay is believed at first')
  t.strictSame(kinds(one.takeStatement(first.received, first.at(0), 0, 1_200)), ['known'])
  t.equal(one.madeAt, 700, '… and cannot make it younger')
  t.strictSame(kinds(one.takeProgress(first.at(3), 1_800)), ['newer'], 'within a slot: no link')
  t.strictSame(kinds(one.takeProgress(first.at(4), 2_000)), ['newer'])
  t.ok(
    one.madeAt > 1_999 && one.madeAt <= 2_000,
    `${one.madeAt}: reckoned, from the second slot on`,
  )
  t.strictSame(kinds(one.takeProgress(first.at(2), 2_100)), ['known'])
  t.strictSame(one.progress, first.at(4))
  const second = say(1, START + 9, [3n])
  t.strictSame(one.takeStatement(second.received, second.at(0), 0, 3_300), {
    kind: 'newer',
    isOtherContent: true,
  })
  t.ok(Math.abs(one.madeAt - 3_250) < 5)
  t.strictSame(
    kinds(one.takeStatement(first.received, first.at(20), 0, 3_400)),
    ['known'],
    'the past is past',
  )
  t.equal(one.received?.statement.down.length, 1)
  t.end()
})

t.test('nothing that the node did not make is believed', t => {
  const one = unheard()
  const said = say(1, START)
  const other = say(1, START, [3n], 2)
  one.takeStatement(said.received, said.at(0), 0, 0)
  const link = (shown: string, quarters: number): Taken =>
    one.takeProgress({ quarters, link: shown }, 1_500)
  t.strictSame(
    kinds(
      link('0'.repeat(LINK_DIGITS), 4),
      one.takeProgress({ quarters: 4, link: undefined }, 1_500),
      link(other.at(4).link!, 4),
      link(said.at(4).link!, 8),
    ),
    ['link', 'link', 'link', 'link'],
  )
  t.strictSame(one.progress, { quarters: 0, link: undefined })
  t.strictSame(kinds(one.takeProgress(said.at(4), 1_500)), ['newer'], 'the true one still counts')
  const altered = Buffer.from(say(1, START + 5).received.bytes)
  altered[16]! ^= 1
  t.strictSame(kinds(one.takeStatement(parseStatement(altered)!, said.at(0), 0, 2_000)), [
    'signature',
  ])
  const unlike = new MemberStatement(origin, 2, verify)
  t.strictSame(kinds(unlike.takeStatement(said.received, said.at(0), 0, 0)), ['other-generation'])
  const late = unheard()
  t.strictSame(
    kinds(late.takeStatement(said.received, { quarters: 8, link: '0'.repeat(LINK_DIGITS) }, 0, 5)),
    ['link'],
  )
  t.equal(late.madeAt, -Infinity, 'a relay that lies about a link is not believed about the age')
  t.strictSame(late.progress.quarters, 0)
  t.end()
})

t.test('a chain ends', t => {
  const one = unheard()
  const said = say(1, START)
  one.takeStatement(said.received, said.at(0), 0, 0)
  const last = 1_024 * SLOT
  t.strictSame(kinds(one.takeProgress(said.at(last), 1_024 * SLOT_MS)), ['newer'])
  t.strictSame(
    kinds(one.takeProgress({ quarters: last + SLOT, link: said.at(last).link }, 1_026_000)),
    ['link'],
  )
  t.end()
})

t.test('a link proves that its slot has come, whatever was shown before it', t => {
  const one = unheard()
  const said = say(1, START)
  // A relay shows what is five minutes old as if it were new, to a receiver that has just started.
  one.takeStatement(said.received, said.at(2 * SLOT), 0, 0)
  t.equal(one.madeAt, 0)
  t.strictSame(
    kinds(one.takeProgress(said.at(302 * SLOT), 1_000)),
    ['newer'],
    'somebody honest follows',
  )
  t.equal(one.madeAt, 1_000)
  t.strictSame(kinds(one.takeProgress(said.at(303 * SLOT), 9_000)), ['newer'])
  t.ok(Math.abs(one.madeAt - 2_000) < 10, `${one.madeAt}: what is late is known to be late`)
  t.end()
})

t.test('a statement that comes with a link of a later slot is as old as the relay says', t => {
  const said = say(1, START)
  for (const quarters of [0, SLOT - 1, SLOT, 40]) {
    const one = unheard()
    t.match(one.takeStatement(said.received, said.at(quarters), 24_000, 100_000), { kind: 'newer' })
    t.equal(one.madeAt, 76_000, `${quarters} quarters`)
    t.match(one.takeProgress(said.at(44), 101_000), { kind: 'newer' })
    t.ok(one.madeAt > 100_000, 'another moment shows how its clock goes')
  }
  t.end()
})

t.test('another epoch begins the clock anew, and not every moment', t => {
  const one = unheard()
  const before = say(1, START)
  one.takeStatement(before.received, before.at(0), 0, 0)
  one.takeProgress(before.at(4), 1_000)
  // Suspended for two minutes, and its clock did not show it.
  const after = say(2, START + 8)
  t.strictSame(kinds(one.takeStatement(after.received, after.at(0), 0, 122_000)), ['newer'])
  t.equal(one.madeAt, 122_000)
  const soon = say(3, START + 9)
  t.strictSame(kinds(one.takeStatement(soon.received, soon.at(0), 0, 125_000)), ['early'])
  t.strictSame(kinds(one.takeStatement(soon.received, soon.at(0), 0, 132_000)), ['newer'])
  t.strictSame(
    kinds(one.takeStatement(before.received, before.at(400), 0, 133_000)),
    ['known'],
    'an epoch never comes back',
  )
  t.end()
})

t.test('epochs that are far apart by the node’s own clock are taken as fast as they come', t => {
  const one = unheard()
  for (const epoch of [1, 2, 3]) {
    const said = say(epoch, START + epoch * 400)
    t.strictSame(kinds(one.takeStatement(said.received, said.at(0), 0, epoch * 100)), ['newer'])
  }
  t.end()
})

t.test('two statements with one number: all believe the same one, and it is counted', t => {
  const [a, b] = [say(1, START, [3n]), say(1, START, [4n])]
  const ends = [
    [a, b],
    [b, a],
  ].map(order => {
    const one = unheard()
    for (const said of order) one.takeStatement(said.received, said.at(0), 0, 0)
    return [one.received!.bytes.toString('hex'), one.equivocations]
  })
  t.equal(ends[0]![0], ends[1]![0])
  t.strictSame(
    ends.map(([, count]) => count),
    [1, 1],
  )
  t.end()
})

t.test('any order of delivery ends the same', t => {
  const all = [
    say(1, START),
    say(1, START + 12, [3n]),
    say(2, START + 30),
    say(2, START + 41, [4n, 5n]),
  ]
  const deliveries = all.flatMap(said => [0, 2, 5, 8].map(quarters => ({ said, quarters })))
  fc.assert(
    fc.property(fc.shuffledSubarray(deliveries, { minLength: deliveries.length }), order => {
      const one = unheard()
      // Later than any of them could be early.
      let now = 1_000_000
      for (const { said, quarters } of order)
        one.takeStatement(said.received, said.at(quarters), 0, (now += 20_000))
      return (
        one.received?.bytes.equals(all[3]!.received.bytes) === true && one.progress.quarters === 8
      )
    }),
  )
  t.end()
})

const LIVED_MS = 300_000

interface Receiver {
  readonly latest: MemberStatement
  /** Of its clock: from then on the relay is the only one that shows it anything, but for `newestAt`. */
  readonly from: number
  /** When somebody honest shows it the newest link; never otherwise. */
  readonly newestAt: number
}

/** When a record stopped to count, of a node that died at `LIVED_MS`, when a relay shows what it withheld as serves it best. */
const freshUntil = (said: Said, receiver: Receiver, random: () => number): number => {
  const last = LIVED_MS / 250
  const step = Math.ceil(4 * random())
  let fresh = receiver.from
  for (let now = receiver.from; now < LIVED_MS + 600_000; now += 500) {
    const { quarters } = receiver.latest.progress
    const shown = now >= receiver.newestAt ? last : Math.min(last, quarters + step)
    receiver.latest.takeProgress(said.at(shown + (SLOT - 1 - (shown % SLOT))), now)
    if (now - receiver.latest.madeAt <= TTL_MS) fresh = now
  }
  return fresh
}

/** From 0 up to 1. */
const fractions = (seed: number): (() => number) => {
  const random = seededRandom(seed)
  return () => random.below(2 ** 20) / 2 ** 20
}

const withheld = (seed: number): number => {
  const random = fractions(seed)
  const said = say(1, START)
  const one = unheard()
  one.takeStatement(said.received, said.at(0), 0, 50)
  const drift = 1 + (random() - 0.5) * 600e-6
  for (let ms = 1_000; ms <= LIVED_MS; ms += 2_000 + 20_000 * random())
    one.takeProgress(said.at(Math.floor((ms * drift) / 250)), ms + 20 + 400 * random())
  const receiver = { latest: one, from: LIVED_MS + 10_000 * random(), newestAt: Infinity }
  return freshUntil(said, receiver, random) - LIVED_MS
}

const restarted = (seed: number): number => {
  const random = fractions(seed)
  const said = say(1, START)
  const from = LIVED_MS + 10_000 * random()
  const one = unheard()
  one.takeStatement(said.received, said.at(Math.floor(1_100 * random())), 0, from)
  const receiver = { latest: one, from, newestAt: from + 5_000 }
  return freshUntil(said, receiver, random) - from
}

t.test(
  'withheld links keep a dead node fresh for its TTL, a slot and a delay, and no longer',
  t => {
    const all = Array.from({ length: 40 }, (_, seed) => withheld(seed))
    t.ok(Math.max(...all) <= TTL_MS + 1_000 + 1_500, `at most ${Math.max(...all)} ms`)
    t.ok(Math.min(...all) >= 40_000, 'it is not forgotten at once either')
    t.end()
  },
)

t.test('… at a receiver that just started too, once one honest member spoke to it', t => {
  const all = Array.from({ length: 40 }, (_, seed) => restarted(seed))
  t.ok(Math.max(...all) <= TTL_MS + 5_000 + 2_500, `at most ${Math.max(...all)} ms after its start`)
  t.end()
})
