// SPDX-License-Identifier: Apache-2.0
// Somebody who holds the shared key and lies, and somebody who sends again what was once said. What holds against them
// is claimed; what they can do is measured.
import { id64 } from '../../../core/ids.js'
import type { NodeSnapshot } from '../../../sandbox/demo/snapshot.js'
import { WriterRanking } from '../../../vote/writer-ranking.js'
import type { Cell, Evidence, Limits, Roles, Step } from '../cell.js'
import type { Lab } from '../lab.js'
import type { Identity } from '../options.js'
import type { Lies } from '../rogue/order.js'
import {
  allSeenUp,
  allUp,
  becomes,
  clean,
  condemned,
  everybody,
  evicted,
  fault,
  isServed,
  killNode,
  measured,
  nobody,
  reviveNode,
  seenDown,
  stays,
} from './steps.js'

/** Who lies, in which zone. */
interface Liar {
  readonly who: string
  readonly identities: readonly Identity[]
  /** It has the node's own keys, beside the key of the zone. */
  readonly hasOwnKeys: boolean
  /** What it says in others' names must not come of anything. */
  readonly isPowerless: boolean
}

const SIGNED: readonly Identity[] = ['prefer', 'require']
export const INSIDER: Liar = {
  ...{ who: 'insider', identities: SIGNED, hasOwnKeys: true, isPowerless: true },
}
const LIARS: readonly Liar[] = [
  { who: 'rogue', identities: ['off'], hasOwnKeys: false, isPowerless: false },
  { who: 'unsigned', identities: SIGNED, hasOwnKeys: false, isPowerless: true },
  INSIDER,
]

const holds = ({ hasOwnKeys }: Liar): string =>
  hasOwnKeys ? 'the zone’s key and its own keys' : 'the zone’s key alone'
const where = ({ isPowerless }: Liar): string => (isPowerless ? ', in a zone with identities' : '')

const lie = (liar: Liar, rogue: string, how: string, lies: Partial<Lies>): Step =>
  fault(`${rogue}’s agent is replaced by a liar with ${holds(liar)}: ${how}`, lab =>
    lab.foes.lie(lab.node(rogue), lies, liar.hasOwnKeys),
  )
export const endLies = (rogue: string): Step =>
  fault(`the liar ends, the agent of ${rogue} starts`, async lab => {
    await lab.foes.stop()
    lab.node(rogue).startAgent()
  })

export const sum = (e: Evidence, which: RegExp): number =>
  Object.entries(e.lab.foes.answers).reduce(
    (total, [answer, n]) => total + (which.test(answer) ? n : 0),
    0,
  )
export const ENOUGH = 50
/** On a slow machine, where two of three nodes lie or are dead, so many take longer than all other claims. */
const ENOUGH_MS = 60_000

/** What it sent under another's name, or unsigned, was refused; what it signed was read. */
const refused = (liar: Liar, l: Limits): readonly Step[] => {
  if (!liar.isPowerless) return []
  const claim = liar.hasOwnKeys
    ? 'its own messages are taken (200), none in another’s name is'
    : 'not one of its messages is taken (200)'
  return [
    becomes(claim, ENOUGH_MS + l.healedMs, e =>
      liar.hasOwnKeys
        ? sum(e, /^200$/) > ENOUGH &&
          sum(e, /^as another: \d+$/) > ENOUGH &&
          sum(e, /^as another: 200$/) === 0
        : sum(e, /^\d+$/) > ENOUGH && sum(e, /^200$/) === 0,
    ),
  ]
}

/** How its messages were answered. */
const answered = (_: Roles, lab: Lab): readonly string[] => [
  `answers: ${Object.entries(lab.foes.answers)
    .map(([answer, n]) => `${answer} × ${n}`)
    .join(', ')}`,
]

const markedOf = (e: Evidence): number =>
  e.view.nodes.filter(node => e.state(node.name).marked).length

/** The honest agents that answer call this node up. */
export const isUpToHonest = (e: Evidence, name: string, rogue: string): boolean =>
  e.view.nodes.every(by => by.name === rogue || by.localinfo?.get(name) !== false)

export const LIE_MS = 20_000

/** Measured where the liar can bring it about, and claimed never to happen where it cannot. */
const atMost = (liar: Liar, can: string, holdsFor: (e: Evidence) => boolean): Step =>
  liar.isPowerless
    ? stays(`it does not come about: ${can}`, LIE_MS, e => !holdsFor(e))
    : measured(`CAN: ${can}`, LIE_MS, holdsFor)

export const wellAgain = (names: readonly string[], l: Limits): readonly Step[] => [
  allSeenUp(l),
  ...names.map(name => clean(name, { ...l, graceMs: l.graceMs + l.healedMs })),
]

const votes = (liar: Liar): Cell => ({
  name: `${liar.who}-votes`,
  shows: `a node with ${holds(liar)} says in its own name that all others are down${where(liar)}: one voice at most, nothing comes of it`,
  identities: liar.identities,
  notes: answered,
  least: 3,
  mayMark: nobody,
  sound: roles => roles.slice(1),
  steps: ([rogue = '', ...others], l) => [
    lie(liar, rogue, 'in its own name it calls everybody down', { down: others }),
    stays('nobody is marked, every honest /localinfo stays right', LIE_MS, e =>
      others.every(name => isUpToHonest(e, name, rogue) && !e.state(name).marked),
    ),
    endLies(rogue),
    ...wellAgain([], l),
  ],
})

const brakeShare = 0.4

const condemns = (liar: Liar): Cell => ({
  name: `${liar.who}-condemns`,
  shows: `a node with ${holds(liar)} says in all names that one is down${where(liar)}: no honest /localinfo hides it, its Pods stay`,
  identities: liar.identities,
  notes: answered,
  least: 3,
  mayMark: liar.isPowerless ? nobody : everybody,
  sound: roles => roles.slice(1),
  steps: ([rogue = '', victim = '', ...others], l) => [
    lie(liar, rogue, `in all names it calls ${victim} down`, { inAllNames: true, down: [victim] }),
    atMost(liar, `the healthy ${victim} is marked nodeunhealth`, e => e.state(victim).marked),
    stays(
      'no honest /localinfo hides it; it keeps Ready, Pod and endpoint; nobody else is marked',
      l.graceMs + l.quietMs,
      e =>
        isUpToHonest(e, victim, rogue) &&
        isServed(e, victim) &&
        others.every(name => !e.state(name).marked),
    ),
    ...refused(liar, l),
    endLies(rogue),
    ...wellAgain([victim], l),
  ],
})

const condemnsAll = (liar: Liar): Cell => ({
  name: `${liar.who}-condemns-all`,
  shows: `a node with ${holds(liar)} says in all names that all others are down${where(liar)}: never more than the brake’s share is marked, nobody is hidden or evicted`,
  identities: liar.identities,
  notes: answered,
  least: 3,
  mayMark: liar.isPowerless ? nobody : everybody,
  sound: roles => roles.slice(1),
  steps: ([rogue = '', ...others], l) => [
    lie(liar, rogue, 'in all names it calls everybody else down', {
      inAllNames: true,
      down: others,
    }),
    atMost(liar, 'somebody healthy is marked nodeunhealth', e => markedOf(e) > 0),
    stays(
      'no more than 40 % are ever marked; none is hidden, all keep Ready, Pod and endpoint',
      l.graceMs + l.quietMs,
      e =>
        markedOf(e) <= Math.max(1, Math.floor(brakeShare * e.view.nodes.length)) &&
        others.every(name => isUpToHonest(e, name, rogue) && isServed(e, name)),
    ),
    ...refused(liar, l),
    endLies(rogue),
    ...wellAgain(others, l),
  ],
})

/** An agent other than the dead node's own renewed its Lease since the cell began. */
const isLeaseRenewed = (e: Evidence, dead: string): boolean =>
  e.asked.some(
    ({ resource, name, verb }) =>
      resource === 'leases' && name === dead && /^(patch|update)$/.test(verb),
  )

/** Of three or four nodes, one dead and one that lies, the others are no majority. */
const LEAST_WITH_MAJORITY = 5
/** A writer that is heard and does not write is passed over after so long: thirty times `--writer-stagger` of the fast profile. */
const PASSED_OVER_MS = 30_000

/** It is the turn of the first of these to write about the dead node. */
const isFirstWriter = (names: Roles, dead: string): boolean =>
  new WriterRanking(names.map(id64), 0).firstOf(id64(dead), () => true) === 0

/** What comes of a dead node while somebody says that it lives. */
export const duringLies = (
  liar: Liar,
  { rogue, dead, others }: { rogue: string; dead: string; others: Roles },
  l: Limits,
): readonly Step[] => {
  const marked = (e: Evidence): boolean => e.state(dead).marked
  const isUnknown = (e: Evidence): boolean => e.state(dead).ready === 'Unknown'
  const unknownMs = l.graceMs + l.quietMs
  const claim = `${dead} is marked nodeunhealth all the same`
  if (!liar.isPowerless)
    return [
      measured(claim, l.writtenMs + l.quietMs, marked),
      measured('CAN: its Lease is renewed by an honest agent', l.graceMs, e =>
        isLeaseRenewed(e, dead),
      ),
      measured('the control plane calls it Unknown all the same', unknownMs, isUnknown),
    ]
  const left = [
    becomes('the control plane calls it Unknown', unknownMs, isUnknown),
    stays('no agent has renewed its Lease', l.quietMs, e => !isLeaseRenewed(e, dead)),
  ]
  if (others.length + 2 < LEAST_WITH_MAJORITY)
    return [measured(claim, l.recordTtlMs + l.writtenMs + l.quietMs, marked), ...left]
  // What only the zone's key signs is not heard.
  return liar.hasOwnKeys && isFirstWriter([rogue, ...others], dead)
    ? [
        ...left,
        becomes(`${claim}: its writer is passed over`, PASSED_OVER_MS + l.writtenMs, marked),
      ]
    : [becomes(claim, l.writtenMs, marked), ...left]
}

const vouches = (liar: Liar): Cell => ({
  name: `${liar.who}-vouches`,
  shows: `a node with ${holds(liar)} says in all names that a dead one lives${where(liar)}: when it is silent, the dead one is condemned and evicted`,
  identities: liar.identities,
  notes: answered,
  least: 3,
  mayMark: everybody,
  sound: roles => roles.slice(2),
  steps: ([rogue = '', dead = '', ...others], l) => [
    lie(liar, rogue, `in all names it says that ${dead} lives and is cut from the cloud`, {
      inAllNames: true,
      cut: [dead],
    }),
    fault(`${dead} dies`, lab => lab.node(dead).kill()),
    ...duringLies(liar, { rogue, dead, others }, l),
    ...refused(liar, l),
    endLies(rogue),
    seenDown(dead, { ...l, seenMs: l.seenMs + l.healedMs }),
    condemned(dead, { ...l, writtenMs: l.writtenMs + l.healedMs }),
    evicted(dead, { ...l, graceMs: l.graceMs + l.healedMs }),
    reviveNode(dead),
    ...wellAgain([dead], l),
  ],
})

const silences = (liar: Liar): Cell => ({
  name: `${liar.who}-silences`,
  shows: `a node with ${holds(liar)} sends another’s record with the largest number${where(liar)}: it loses its voice until that has expired at most, and is neither hidden nor condemned`,
  identities: liar.identities,
  notes: answered,
  least: 3,
  mayMark: nobody,
  sound: roles => roles.slice(1),
  steps: ([rogue = '', victim = ''], l) => [
    // The zone may have started just now.
    becomes(`${victim} is heard by all`, l.recordTtlMs + l.healedMs, e => hasVoice(e, victim)),
    lie(liar, rogue, `${victim}’s record gets the largest number`, { silenced: [victim] }),
    ...(liar.isPowerless
      ? [
          stays(`${victim} is heard by all honest agents, and not marked`, LIE_MS, e => {
            const isHeard = !isSilent(e, victim, { rogue, ttlMs: l.recordTtlMs })
            return isHeard && !e.state(victim).marked
          }),
        ]
      : [
          stays(`${victim} is called up by all, and not marked`, LIE_MS, e => {
            return isUpToHonest(e, victim, rogue) && !e.state(victim).marked
          }),
        ]),
    ...refused(liar, l),
    endLies(rogue),
    allSeenUp(l),
    becomes(`${victim} is heard again`, l.recordTtlMs + l.healedMs, e => hasVoice(e, victim)),
  ],
})

const recordAge = ({ status }: NodeSnapshot, name: string): number | null | undefined =>
  status?.nodes.find(node => node.name === name)?.recordAgeSeconds
/** All others have a young record of it. */
const hasVoice = (e: Evidence, name: string): boolean =>
  e.view.nodes.every(by => {
    const age = recordAge(by, name)
    return by.name === name || (typeof age === 'number' && age < VOICE_S)
  })
/** An honest agent that answers has no record of it, or one that does not count any more. */
const isSilent = (
  e: Evidence,
  name: string,
  { rogue, ttlMs }: { readonly rogue: string; readonly ttlMs: number },
): boolean =>
  e.view.nodes.some(by => {
    const age = recordAge(by, name)
    if (by.name === name || by.name === rogue || age === undefined) return false
    return age === null || age * 1_000 > ttlMs
  })
const VOICE_S = 6
const RECORD_MS = 6_000

const replay = (withKey: boolean): Cell => ({
  name: withKey ? 'replay-with-key' : 'replay',
  shows: withKey
    ? 'somebody with the key signs recorded messages of a dead node anew: nothing in them is news'
    : 'somebody without the key replays all recorded traffic to everybody: not one message is accepted',
  // With identities who has no keys of a node cannot sign anew what it said.
  ...(withKey ? { identities: ['off'] } : {}),
  least: 3,
  mayMark: roles => roles.slice(0, 1),
  sound: roles => roles.slice(2),
  steps: ([victim = '', heard = ''], l) => [
    fault(`what ${heard} is told is recorded for ${RECORD_MS / 1_000} s`, lab =>
      lab.foes.record(lab.node(heard), RECORD_MS),
    ),
    allSeenUp(l),
    fault('a stranger sends it again, to everybody, without end', async lab =>
      lab.foes.replay(withKey),
    ),
    stays('every /localinfo stays right, nobody is marked', l.quietMs, allUp),
    killNode(victim),
    seenDown(victim, l),
    condemned(victim, l),
    stays('it stays condemned', l.quietMs, e => e.state(victim).marked),
    reviveNode(victim),
    becomes('every other /localinfo shows it up again', l.healedMs + l.healedMs, allUp),
    becomes(
      withKey
        ? 'many were taken (200): they changed nothing'
        : 'many were sent, none was taken (200)',
      l.healedMs,
      e => {
        const [sent, taken] = [sum(e, /^\d+$/), sum(e, /^200$/)]
        return sent > ENOUGH && (withKey ? taken > ENOUGH : taken === 0)
      },
    ),
    fault('the stranger ends', lab => lab.foes.stop()),
    clean(victim, { ...l, graceMs: l.graceMs + l.healedMs }),
  ],
})

export const ROGUE: readonly Cell[] = [
  ...LIARS.flatMap(liar =>
    [votes, condemns, condemnsAll, vouches, silences].map(cell => cell(liar)),
  ),
  ...[replay(false), replay(true)],
]
