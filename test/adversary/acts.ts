// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../core/random.js'
import { seededRandom } from '../../testkit/seeded-random.js'

/** Whoever has no key: he may answer, record, repeat, hold back, flood, and take an address that nobody uses. */
const OUTSIDER = ['squat', 'replay', 'hold', 'release', 'flood'] as const

/** What goes wrong with members, their machines, their links and the apiserver. */
const FAULTS = [
  ...['crash', 'kill-agent', 'freeze', 'isolate', 'cut-pair', 'partition', 'loss'],
  ...['cut-cloud', 'flap-cloud', 'api-error', 'ping-error'],
  ...['blind', 'unable', 'sick', 'clock', 'lose-disk', 'spoil-disk', 'restore-memory'],
  ...['leave', 'move-address', 'restart', 'steal-key'],
] as const

/** Ends what was begun: of one node, of the links, of everything but deaths. */
const MENDS = ['mend', 'mend-network', 'mend-cloud'] as const

export const KINDS = [...OUTSIDER, ...FAULTS, ...MENDS] as const
export type Kind = (typeof KINDS)[number]

/** One thing that is done to the zone, and how long nothing else is done afterwards. */
export interface Act {
  readonly kind: Kind
  /** Whom it is done to; `other` is the second one of acts that need two. Taken modulo the size of the zone. */
  readonly node: number
  readonly other: number
  /** What the kind makes of it: which way to answer, which error, how wrong a clock, which nodes. */
  readonly value: number
  readonly thenMs: number
}

/** All that a run does, decided beforehand: the same seed gives the same sequence. */
export interface Sequence {
  readonly seed: number
  readonly size: number
  /** This node's kubelet has no healthz port; −1 for none. */
  readonly portless: number
  /** The zone is a unit, and there is another one; else it is a zone by label. */
  readonly isUnit: boolean
  readonly acts: readonly Act[]
}

export const wordsOf = ({ kind, node, other, value, thenMs }: Act): string =>
  `${kind}(n${node}, n${other}, ${value}) ${(thenMs / 1000).toFixed(1)} s`

/** Small zones are cheap and break first; a quorum of four needs three of four. */
const SIZES = [2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 7] as const

type Draw = readonly [
  kind: Kind,
  who: number | 'any',
  thenMs: readonly [least: number, most: number],
]
type Theme = readonly Draw[]

const short = [500, 2_500] as const
const long = [3_000, 6_000] as const
/** Enough for a death to be seen and written. */
const seen = [4_000, 5_500] as const
/** Past the age at which records of the fast profile no longer count. */
const old = [10_500, 12_500] as const

/**
 * Acts that mean more together than apart, with places for nodes: 0, 1, 2 … are different ones where the zone has
 * enough. Chance alone would hardly draw them; what surrounds them is chance.
 */
const THEMES: readonly Theme[] = [
  // Messages collected while somebody is away are sent again when he is back and others are not.
  [
    ['squat', 0, old],
    ['mend', 0, long],
    ['crash', 1, [500, 500]],
    ['crash', 2, old],
    ['replay', 0, seen],
  ],
  [
    ['hold', 1, short],
    ['crash', 0, seen],
    ['mend', 0, long],
    ['crash', 1, seen],
    ['release', 1, seen],
  ],
  // The last words of most of a zone, about one who is back, reach those who are left.
  [
    ['hold', 1, [100, 100]],
    ['hold', 2, [100, 100]],
    ['hold', 3, [100, 100]],
    ['crash', 0, seen],
    ['mend', 0, long],
    ['crash', 1, [100, 100]],
    ['crash', 2, [100, 100]],
    ['crash', 3, [15_000, 17_000]],
    ['release', 0, seen],
  ],
  // The last words of most of a zone, which say that one is dead who is back since, reach the only one that is left.
  [
    ['hold', 1, [100, 100]],
    ['hold', 2, [100, 100]],
    ['hold', 3, [100, 100]],
    ['crash', 0, [2_300, 2_800]],
    ['crash', 1, [100, 100]],
    ['crash', 2, [100, 100]],
    ['crash', 3, [100, 100]],
    ['mend', 0, [16_000, 18_000]],
    ['release', 0, [6_000, 8_000]],
  ],
  // Back from a death, with a broken link to its peer: where the two are all, nobody else sees it.
  [
    ['crash', 0, [33_000, 36_000]],
    ['cut-pair', 0, [100, 100]],
    ['mend', 0, [50_000, 54_000]],
  ],
  [
    ['crash', 0, seen],
    ['leave', 1, seen],
    ['mend', 1, short],
  ],
  [
    ['crash', 0, seen],
    ['partition', 0, seen],
  ],
  [
    ['crash', 0, seen],
    ['unable', 1, [200, 200]],
    ['unable', 2, [200, 200]],
    ['restart', 1, short],
    ['restart', 2, old],
  ],
  [
    ['unable', 1, [200, 200]],
    ['unable', 2, [200, 200]],
    ['unable', 3, old],
    ['crash', 0, seen],
  ],
  [
    ['crash', 0, seen],
    ['move-address', 0, old],
  ],
  [
    ['crash', 0, seen],
    ['squat', 0, seen],
    ['replay', 0, seen],
  ],
  [
    ['cut-cloud', 0, old],
    ['freeze', 1, old],
    ['crash', 0, seen],
    ['mend', 1, seen],
  ],
  [
    ['cut-cloud', 0, long],
    ['freeze', 1, [200, 200]],
    ['crash', 0, old],
    ['mend', 1, seen],
  ],
  [
    ['clock', 'any', [100, 100]],
    ['clock', 'any', [100, 100]],
    ['cut-cloud', 0, old],
    ['mend-cloud', 0, long],
  ],
  [
    ['cut-cloud', 0, old],
    ['sick', 0, long],
  ],
  [
    ['api-error', 'any', short],
    ['crash', 0, old],
    ['mend-cloud', 'any', long],
  ],
  [
    ['crash', 0, short],
    ['api-error', 'any', old],
  ],
  // The voucher goes on from the time of a clock that is ahead.
  [
    ['clock', 0, old],
    ['cut-cloud', 0, old],
  ],
  // Who wakes up in a minority, or after somebody died, still knows what was.
  [
    ['freeze', 0, short],
    ['crash', 1, old],
    ['crash', 2, short],
    ['mend', 0, seen],
  ],
  [['ping-error', 0, old]],
  [['flap-cloud', 0, [70_000, 74_000]]],
  [
    ['isolate', 0, seen],
    ['mend-network', 0, short],
    ['isolate', 0, seen],
    ['mend-network', 0, short],
    ['isolate', 0, seen],
    ['mend-network', 0, short],
    ['isolate', 0, seen],
    ['mend-network', 0, [12_000, 14_000]],
  ],
  [
    ['spoil-disk', 0, [100, 100]],
    ['restart', 0, long],
  ],
  [
    ['restore-memory', 0, short],
    ['crash', 1, seen],
  ],
  [['steal-key', 0, long]],
  [
    ['leave', 0, long],
    ['crash', 0, seen],
    ['mend', 0, long],
  ],
  [
    ['freeze', 0, old],
    ['crash', 1, short],
    ['mend', 0, long],
  ],
  [
    ['freeze', 0, seen],
    ['partition', 'any', old],
    ['mend', 0, seen],
  ],
  // A node that left down comes back well, a client connects, and it dies again.
  [
    ['crash', 0, seen],
    ['leave', 0, short],
    ['mend', 0, long],
    ['crash', 0, seen],
  ],
  [
    ['cut-cloud', 0, old],
    ['clock', 1, [100, 100]],
    ['clock', 2, long],
    ['mend-cloud', 0, old],
  ],
  [
    ['cut-pair', 0, old],
    ['flood', 0, seen],
  ],
]

const below = (random: Random, [least, most]: readonly [number, number]): number =>
  least + random.below(most - least + 1)

const actOf = (kind: Kind, random: Random, size: number): Act => ({
  kind,
  node: random.below(size),
  other: random.below(size),
  value: random.below(1 << 16),
  thenMs: below(random, random.below(4) === 0 ? long : short),
})

/** A quarter of what chance draws ends something again: a zone in which nothing works any more proves little. */
const anyAct = (random: Random, size: number): Act => {
  const kinds = random.below(100) < 25 ? MENDS : KINDS
  return actOf(kinds[random.below(kinds.length)]!, random, size)
}

/** The zone's nodes in a drawn order: who plays whom. */
const shuffled = (random: Random, size: number): number[] => {
  const nodes = Array.from({ length: size }, (_, index) => index)
  for (let i = size - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[nodes[i], nodes[j]] = [nodes[j]!, nodes[i]!]
  }
  return nodes
}

const themeActs = (theme: Theme, random: Random, size: number): Act[] => {
  const cast = shuffled(random, size)
  const play = ([kind, who, thenMs]: Draw): Act => {
    const node = who === 'any' ? random.below(size) : cast[who % size]!
    return {
      ...{ kind, node, value: random.below(1 << 16), thenMs: below(random, thenMs) },
      other: cast[((who === 'any' ? random.below(size) : who) + 1) % size]!,
    }
  }
  return theme.map(play)
}

/** What is held back arrives once, late: else it would only be a cut link. */
const withRelease = (acts: readonly Act[], random: Random, size: number): readonly Act[] => {
  const isHeld =
    acts.findLastIndex(({ kind }) => kind === 'hold') >
    acts.findLastIndex(({ kind }) => kind === 'release')
  return isHeld ? [...acts, actOf('release', random, size)] : acts
}

/** Decide what happens: chance alone in one of three, else things that belong together amid chance. Pure. */
export const drawSequence = (seed: number): Sequence => {
  const random = seededRandom(seed * 104_729 + 13)
  const size = SIZES[random.below(SIZES.length)]!
  const portless = random.below(8) === 0 ? random.below(size) : -1
  // Each kind and each theme comes up, however the dice fall.
  const acts = [actOf(KINDS[seed % KINDS.length]!, random, size)]
  const isPlain = random.below(3) === 0
  const count = isPlain ? 7 + random.below(5) : random.below(2)
  for (let i = 0; i < count; i++) acts.push(anyAct(random, size))
  if (!isPlain) acts.push(...themeActs(THEMES[seed % THEMES.length]!, random, size))
  if (!isPlain && random.below(2) === 0) acts.push(anyAct(random, size))
  const played = withRelease(acts, random, size)
  return { seed, size, portless, isUnit: random.below(4) === 0, acts: played }
}
