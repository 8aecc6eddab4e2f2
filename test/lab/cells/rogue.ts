// SPDX-License-Identifier: Apache-2.0
// Somebody who holds the shared key and lies, and somebody who sends again what was once said. What holds against them
// is claimed; what they can do is measured.
import type { Cell, Evidence, Limits, Step } from '../cell.js'
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

const lie = (rogue: string, how: string, lies: Partial<Lies>): Step =>
  fault(`${rogue}’s agent is replaced by a liar with the key: ${how}`, lab =>
    lab.foes.lie(lab.node(rogue), lies),
  )
const endLies = (rogue: string): Step =>
  fault(`the liar ends, the agent of ${rogue} starts`, async lab => {
    await lab.foes.stop()
    lab.node(rogue).startAgent()
  })

const markedOf = (e: Evidence): number =>
  e.view.nodes.filter(node => e.state(node.name).marked).length

/** The honest agents that answer call this node up. */
const isUpToHonest = (e: Evidence, name: string, rogue: string): boolean =>
  e.view.nodes.every(by => by.name === rogue || by.localinfo?.get(name) !== false)

const LIE_MS = 20_000

const wellAgain = (names: readonly string[], l: Limits): readonly Step[] => [
  allSeenUp(l),
  ...names.map(name => clean(name, { ...l, graceMs: l.graceMs + l.healedMs })),
]

const rogueVotes: Cell = {
  name: 'rogue-votes',
  shows:
    'a node with the key says in its own name that all others are down: one voice, nothing comes of it',
  least: 3,
  mayMark: nobody,
  sound: roles => roles.slice(1),
  steps: ([rogue = '', ...others], l) => [
    lie(rogue, 'in its own name it calls everybody down', { down: others }),
    stays('nobody is marked, every honest /localinfo stays right', LIE_MS, e =>
      others.every(name => isUpToHonest(e, name, rogue) && !e.state(name).marked),
    ),
    endLies(rogue),
    ...wellAgain([], l),
  ],
}

const brakeShare = 0.4

const rogueCondemns: Cell = {
  name: 'rogue-condemns',
  shows:
    'a node with the key says in all names that one is down: no honest /localinfo hides it, its Pods stay',
  least: 4,
  mayMark: everybody,
  sound: roles => roles.slice(1),
  steps: ([rogue = '', victim = '', ...others], l) => [
    lie(rogue, `in all names it calls ${victim} down`, { inAllNames: true, down: [victim] }),
    measured(
      `CAN: the healthy ${victim} is marked nodeunhealth`,
      LIE_MS,
      e => e.state(victim).marked,
    ),
    stays(
      'no honest /localinfo hides it; it keeps Ready, Pod and endpoint; nobody else is marked',
      l.graceMs + l.quietMs,
      e =>
        isUpToHonest(e, victim, rogue) &&
        isServed(e, victim) &&
        others.every(name => !e.state(name).marked),
    ),
    endLies(rogue),
    ...wellAgain([victim], l),
  ],
}

const rogueCondemnsAll: Cell = {
  name: 'rogue-condemns-all',
  shows:
    'a node with the key says in all names that all others are down: never more than the brake’s share is marked, nobody is hidden or evicted',
  least: 4,
  mayMark: everybody,
  sound: roles => roles.slice(1),
  steps: ([rogue = '', ...others], l) => [
    lie(rogue, 'in all names it calls everybody else down', { inAllNames: true, down: others }),
    measured('CAN: somebody healthy is marked nodeunhealth', LIE_MS, e => markedOf(e) > 0),
    stays(
      'no more than 40 % are ever marked; none is hidden, all keep Ready, Pod and endpoint',
      l.graceMs + l.quietMs,
      e =>
        markedOf(e) <= Math.max(1, Math.floor(brakeShare * e.view.nodes.length)) &&
        others.every(name => isUpToHonest(e, name, rogue) && isServed(e, name)),
    ),
    endLies(rogue),
    ...wellAgain(others, l),
  ],
}

const rogueVouches: Cell = {
  name: 'rogue-vouches',
  shows:
    'a node with the key says in all names that a dead one lives: when it is silent, the dead one is condemned and evicted',
  least: 4,
  mayMark: everybody,
  sound: roles => roles.slice(2),
  steps: ([rogue = '', dead = ''], l) => [
    lie(rogue, `in all names it says that ${dead} lives and is cut from the cloud`, {
      inAllNames: true,
      cut: [dead],
    }),
    fault(`${dead} dies`, lab => lab.node(dead).kill()),
    measured(
      `${dead} is marked nodeunhealth all the same`,
      l.writtenMs + l.quietMs,
      e => e.state(dead).marked,
    ),
    measured('CAN: its Lease is renewed by an honest agent', l.graceMs, e =>
      e.lab.observer.asked.some(
        ({ resource, name, verb }) =>
          resource === 'leases' && name === dead && /^(patch|update)$/.test(verb),
      ),
    ),
    measured('the control plane calls it Unknown all the same', l.graceMs + l.quietMs, e => {
      return e.state(dead).ready === 'Unknown'
    }),
    endLies(rogue),
    seenDown(dead, { ...l, seenMs: l.seenMs + l.healedMs }),
    condemned(dead, { ...l, writtenMs: l.writtenMs + l.healedMs }),
    evicted(dead, { ...l, graceMs: l.graceMs + l.healedMs }),
    reviveNode(dead),
    ...wellAgain([dead], l),
  ],
}

const rogueSilences: Cell = {
  name: 'rogue-silences',
  shows:
    'a node with the key sends another’s record with the largest heartbeat: it loses its voice until that has expired, and is neither hidden nor condemned',
  least: 4,
  mayMark: nobody,
  sound: roles => roles.slice(1),
  steps: ([rogue = '', victim = ''], l) => [
    lie(rogue, `${victim}’s record gets the largest heartbeat`, { silenced: [victim] }),
    stays(`${victim} is called up by all, and not marked`, LIE_MS, e => {
      return isUpToHonest(e, victim, rogue) && !e.state(victim).marked
    }),
    endLies(rogue),
    allSeenUp(l),
    becomes(`${victim} is heard again`, RECORD_TTL_MS + l.healedMs, e => hasVoice(e, victim)),
  ],
}

/** All others have a young record of it. */
const hasVoice = (e: Evidence, name: string): boolean =>
  e.view.nodes.every(by => {
    const age = by.status?.nodes.find(node => node.name === name)?.recordAgeSeconds
    return by.name === name || (typeof age === 'number' && age < VOICE_S)
  })
const VOICE_S = 6
/** Of the fast profile, which all rogue cells have. */
const RECORD_TTL_MS = 10_000

const RECORD_MS = 6_000

const replay = (withKey: boolean): Cell => ({
  name: withKey ? 'replay-with-key' : 'replay',
  shows: withKey
    ? 'somebody with the key signs recorded messages of a dead node anew: nothing in them is news'
    : 'somebody without the key replays all recorded traffic to everybody: not one message is accepted',
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
      ({ lab }) => {
        const answers = Object.entries(lab.foes.tally)
        const sum = (which: RegExp): number =>
          answers.reduce((total, [answer, n]) => total + (which.test(answer) ? n : 0), 0)
        const [sent, taken] = [sum(/^\d+$/), sum(/^200$/)]
        return sent > ENOUGH && (withKey ? taken > ENOUGH : taken === 0)
      },
    ),
    fault('the stranger ends', lab => lab.foes.stop()),
    clean(victim, { ...l, graceMs: l.graceMs + l.healedMs }),
  ],
})
const ENOUGH = 50

export const ROGUE: readonly Cell[] = [
  ...[rogueVotes, rogueCondemns, rogueCondemnsAll],
  ...[rogueVouches, rogueSilences, replay(false), replay(true)],
]
