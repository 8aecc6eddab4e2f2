// SPDX-License-Identifier: Apache-2.0
// The peers' network: partitions, one-way paths, loss; and the brake when most of a zone is gone.
import type { Cell, Evidence, Roles, Step } from '../cell.js'
import type { Rule } from '../network.js'
import {
  allSeenUp,
  becomes,
  clean,
  cleared,
  condemned,
  each,
  fault,
  harmless,
  isServed,
  killNode,
  majority,
  mendAll,
  minority,
  nobody,
  nothingWritten,
  one,
  reviveNode,
  seenDown,
  stays,
  writtenOnce,
} from './steps.js'

const partition: Cell = {
  name: 'partition',
  shows:
    'the peers’ network falls in two: the minority writes nothing, the majority is never marked',
  least: 3,
  mayMark: minority,
  sound: majority,
  steps: (roles, l) => {
    const few = minority(roles)
    const byFew = (e: Evidence): boolean => e.writes.every(write => !few.includes(write.by))
    return [
      fault(`${few.join(', ')} and the others do not hear each other`, lab =>
        lab.partition(majority(roles), few),
      ),
      becomes('the majority calls the minority down', l.seenMs, ({ view }) =>
        view.nodes.every(
          by => few.includes(by.name) || few.every(name => by.localinfo?.get(name) === false),
        ),
      ),
      stays('the minority writes nothing', l.writtenMs + l.quietMs, byFew),
      mendAll,
      allSeenUp(l),
      ...few.map(name => clean(name, l)),
    ]
  },
}

/** Two halves of an even zone; of an odd one, the two sides of a node that is left out. */
const halves = (roles: Roles): readonly [Roles, Roles] => {
  const half = Math.floor(roles.length / 2)
  return [roles.slice(0, half), roles.slice(half, 2 * half)]
}

const halfHalf: Cell = {
  name: 'no-majority',
  shows: 'the zone falls apart so that no part has a majority: nobody writes',
  least: 2,
  mayMark: nobody,
  sound: nobody,
  steps: (roles, l) => {
    const [a, b] = halves(roles)
    const alone = roles.slice(a.length + b.length)
    return [
      fault(`${a.join(', ')} | ${b.join(', ')} | ${alone.join()}`, async lab => {
        await lab.partition(a, b)
        await lab.partition(alone, [...a, ...b])
      }),
      nothingWritten(l, l.seenMs + l.writtenMs),
      mendAll,
      allSeenUp(l),
      nothingWritten(l),
    ]
  },
}

const oneWayPair: Cell = {
  name: 'one-way-pair',
  shows: 'one node does not hear one other: nobody is condemned for one bad path',
  least: 3,
  mayMark: nobody,
  sound: roles => roles.slice(2),
  steps: ([from = '', to = ''], l) => [
    fault(`what ${from} sends to ${to} is dropped`, lab =>
      lab.block(to, {
        ...{ chain: 'INPUT', link: 'peer', answer: 'DROP' },
        peer: lab.node(from).address,
      }),
    ),
    stays(
      'no agent writes, and the others call both up',
      l.seenMs + l.writtenMs,
      ({ view, writes }) =>
        writes.length === 0 &&
        view.nodes.every(
          by =>
            by.name === from ||
            by.name === to ||
            (by.localinfo?.get(from) === true && by.localinfo.get(to) === true),
        ),
    ),
    mendAll,
    allSeenUp(l),
    nothingWritten(l),
  ],
}

const noRoute: Cell = {
  ...one(
    'no-route',
    'a node may not send to its peers at all (EACCES at once): it doubts itself and condemns nobody',
    (name, l, roles) => [
      fault(`${name} has no route to its peers`, lab =>
        each(roles.slice(1), peer => lab.setRoute(name, peer, false)),
      ),
      stays(
        `${name} writes nothing about others`,
        l.seenMs + l.writtenMs,
        e => !e.writes.some(write => write.by === name),
      ),
      fault('the routes are back', lab =>
        each(roles.slice(1), peer => lab.setRoute(name, peer, true)),
      ),
      allSeenUp(l),
      cleared(name, l),
    ],
  ),
  least: 3,
}

const lossy = (percent: number): Rule => ({
  ...{ chain: 'INPUT', link: 'peer', percent, answer: 'DROP' },
})
const lose = (roles: Roles, percent: number): Step =>
  fault(`${percent} % of the packets to each node are lost`, lab =>
    each(roles, name => lab.block(name, lossy(percent))),
  )

const loss: Cell = {
  ...harmless(
    'loss-30',
    'every node loses 30 % of what its peers send: nobody is condemned',
    (_name, l, roles) => [
      lose(roles, 30),
      nothingWritten(l, 40_000),
      mendAll,
      allSeenUp(l),
      nothingWritten(l),
    ],
  ),
  least: 3,
  sound: nobody,
}

const lossAndDeath: Cell = {
  ...one('loss-10-death', 'a node dies while all links lose 10 %', (name, l, roles) => [
    lose(roles, 10),
    nothingWritten(l, 5_000),
    killNode(name),
    seenDown(name, l),
    condemned(name, l),
    writtenOnce(name, l),
    mendAll,
    reviveNode(name),
    allSeenUp(l),
    clean(name, l),
  ]),
  least: 3,
  sound: nobody,
}

/** The first, and one that still reaches it. */
const lastNode: Cell = {
  name: 'last-node',
  shows:
    'a majority errs about the only node of a service: it is marked, and loses neither its Pod nor its endpoint; who reaches it relies on it',
  least: 4,
  mayMark: roles => roles.slice(0, 1),
  sound: roles => roles.slice(1),
  steps: ([only = '', friend = '', ...others], l) => {
    const served = (e: Evidence): boolean =>
      isServed(e, only) && e.lab.observer.readyOn('solo').join() === only
    return [
      fault(`the service solo has its one Pod on ${only}`, lab =>
        lab.props.addSolo(lab.node(only)),
      ),
      becomes('its endpoint is ready', l.writtenMs, served),
      fault(`${only} and all but ${friend} do not hear each other`, lab =>
        lab.partition([only], others),
      ),
      condemned(only, l),
      stays(
        `its Pod and endpoint stay, and ${friend} and ${only} call it up`,
        l.graceMs + l.quietMs,
        e =>
          served(e) &&
          [only, friend].every(name => {
            const sight = e.view.nodes.find(node => node.name === name)
            return sight?.localinfo?.get(only) === true
          }),
      ),
      mendAll,
      allSeenUp(l),
      clean(only, l),
      fault('the service solo goes', lab => lab.props.removeSolo()),
    ]
  },
}

/** More than the brake lets pass. In some sizes, such as 10, that is half of the zone: then no majority is left either. */
const brakeRoles = (roles: Roles): Roles => roles.slice(0, Math.floor(roles.length * 0.4) + 1)

const brake: Cell = {
  name: 'brake',
  shows: 'more than 40 % of a zone dies at once: it is shown, and nothing is written',
  least: 7,
  mayMark: nobody,
  sound: roles => roles.slice(brakeRoles(roles).length),
  steps: (roles, l) => {
    const dead = brakeRoles(roles)
    return [
      fault(`${dead.join(', ')} get SIGKILL`, lab => each(dead, name => lab.node(name).kill())),
      becomes('every other /localinfo shows them down', l.seenMs, e =>
        e.view.nodes.every(
          by => dead.includes(by.name) || dead.every(name => by.localinfo?.get(name) === false),
        ),
      ),
      nothingWritten(l, l.writtenMs),
      fault('they start again', lab => each(dead, async name => lab.node(name).revive())),
      allSeenUp(l),
    ]
  },
}

export const LINKS: readonly Cell[] = [
  ...[partition, halfHalf, oneWayPair, noRoute],
  ...[loss, lossAndDeath, lastNode, brake],
]
