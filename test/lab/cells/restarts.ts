// SPDX-License-Identifier: Apache-2.0
// Agents that restart: one by one, all at once, without the cloud, with other keys.
import type { Cell, Evidence, Limits, Step } from '../cell.js'
import {
  allSeenUp,
  allUp,
  becomes,
  clean,
  condemned,
  each,
  fault,
  harmless,
  isSeen,
  killNode,
  mendAll,
  minority,
  nobodyDown,
  nothingWritten,
  one,
  reviveNode,
  seenDown,
  stays,
} from './steps.js'

const restartAgent = (name: string): Step =>
  fault(`the agent of ${name} is stopped and started`, async lab => {
    await lab.node(name).stopAgent()
    lab.node(name).startAgent()
  })

const rolling = harmless(
  'rolling',
  'all agents restart one after the other: no verdict changes',
  (_name, l, roles) => [
    ...roles.flatMap(name => [restartAgent(name), allSeenUp(l), nothingWritten(l, 1_000)]),
    nothingWritten(l),
  ],
)

const rollingLoad = harmless(
  'rolling-load',
  'all agents restart one after the other while every core is busy: zero verdict changes, zero writes',
  (_name, l, roles) => [
    fault('a busy loop on every core, requests to every agent', lab => lab.load(true)),
    ...roles.flatMap(name => [
      restartAgent(name),
      becomes('every /localinfo is right again', 2 * l.healedMs, allUp),
      stays('no node is called down, nobody writes', 1_000, e => {
        return nobodyDown(e) && e.allWrites.length === 0
      }),
    ]),
    fault('the load ends', lab => lab.load(false)),
    stays('no agent ever wrote', l.quietMs, e => e.allWrites.length === 0),
  ],
)

const massRestart = harmless(
  'mass-restart',
  'all agents get SIGKILL and start at once: nobody is called down, nobody writes',
  (_name, l, roles) => [
    fault('all agents get SIGKILL and start at once', async lab => {
      await each(roles, name => lab.node(name).killAgent())
      for (const name of roles) lab.node(name).startAgent()
    }),
    allSeenUp(l),
    stays('no agent ever wrote', l.seenMs + l.quietMs, e => e.allWrites.length === 0),
  ],
)

const BOOT_MS = 1_500

const bootCold = (names: readonly string[]): Step =>
  fault(`${names.join(', ')} lose the cloud, and boot`, async lab => {
    await each(names, name => lab.silence(name, 'cloud'))
    await each(names, name => lab.node(name).kill())
    // Long enough that no record or status from before counts.
    await lab.pause(BOOT_MS)
    for (const name of names) lab.node(name).revive()
  })

/** Where a kubelet starts later than its agent, its node is down until then, and rightly so. */
const allRun = (l: Limits): Step =>
  becomes('all kubelets run, and nobody has a vote against anybody', l.healedMs, ({ view }) =>
    view.nodes.every(
      ({ name, status }) =>
        status?.nodes.length === view.nodes.length &&
        status.nodes.every(({ votes }) => votes.down === 0) &&
        status.nodes.find(node => node.name === name)?.['kubelet'] === 'well',
    ),
  )

const coldBoot: Cell = {
  name: 'cold-boot',
  shows: 'less than half of a zone boots with the cloud cut: roster and keys come from the disk',
  least: 3,
  mayMark: minority,
  sound: roles => roles.filter(name => !minority(roles).includes(name)),
  steps: (roles, l) => [
    bootCold(minority(roles)),
    allRun(l),
    allSeenUp(l),
    stays('all call each other up', l.seenMs, allUp),
    mendAll,
    ...minority(roles).map(name => clean(name, l)),
  ],
}

const coldZone: Cell = {
  name: 'cold-zone',
  shows:
    'a whole zone boots with the cloud cut; then a node dies, and is marked when the cloud is back',
  least: 3,
  mayMark: roles => roles.slice(0, 1),
  sound: () => [],
  steps: (roles, l) => {
    const [victim = ''] = roles
    return [
      bootCold(roles),
      allSeenUp(l),
      killNode(victim),
      seenDown(victim, l),
      mendAll,
      condemned(victim, { ...l, writtenMs: l.graceMs + l.writtenMs }),
      reviveNode(victim),
      allSeenUp(l),
      clean(victim, l),
    ]
  },
}

/** How long each step of the rotation is given to reach every agent; that they sign with the other key nothing shows. */
const ROTATE_MS = 30_000
const SWITCH_MS = 4_000

/** All agents that can learn of it have the same keys, as an operator looks for before the next step. */
const sharesKeys = (away: string, state: 'ok' | 'rotating') =>
  becomes(`all but ${away} have the same keys: ${state}`, ROTATE_MS, ({ view }) =>
    view.nodes.every(
      ({ name, status }) =>
        name === away ||
        (status?.keys.state === state && status.keys.sharedBy === view.nodes.length - 1),
    ),
  )

const rotation = (away: string): readonly Step[] => [
  fault('rotation: the new key is announced', lab => lab.props.rotate('announce')),
  sharesKeys(away, 'rotating'),
  fault('rotation: all sign with the new key', async lab => {
    await lab.props.rotate('switch')
    await lab.pause(SWITCH_MS)
  }),
  fault('rotation: the old key is dropped', lab => lab.props.rotate('drop')),
  sharesKeys(away, 'ok'),
]

const rotates: Cell = harmless(
  'key-rotation',
  'keys rotate while an agent is away for all of it: no verdict changes, and it is heard again when it is back',
  (name, l) => [
    fault(`the agent of ${name} is stopped`, lab => lab.node(name).stopAgent()),
    ...rotation(name),
    stays('nobody is called down, nobody writes', l.quietMs, e => {
      return nobodyDown(e) && e.allWrites.length === 0
    }),
    fault(`the agent of ${name} starts`, async lab => lab.node(name).startAgent()),
    allSeenUp(l),
    becomes('all agents exchange with it', l.healedMs, e => isHeard(e, name)),
    stays('no agent ever wrote', l.quietMs, e => e.allWrites.length === 0),
  ],
)

const rotatesCut: Cell = {
  ...one(
    'key-rotation-cut',
    'keys rotate while a node is cut from the cloud: its votes are worth nothing, and it is never called down',
    (name, l) => [
      fault(`the cloud link of ${name} drops everything`, lab => lab.silence(name, 'cloud')),
      ...rotation(name),
      stays('its peers call it up', l.seenMs, e => isSeen(e, name, 'up')),
      mendAll,
      becomes('all agents exchange with it', l.graceMs + l.healedMs, e => isHeard(e, name)),
      allSeenUp(l),
      clean(name, l),
    ],
    () => [],
  ),
  least: 3,
}

/** Each other agent has heard it, in its present keys. */
const isHeard = ({ view }: Evidence, name: string): boolean =>
  view.nodes.every(
    by =>
      by.name === name ||
      by.status?.nodes.some(node => node.name === name && node.peer?.state === 'ok') === true,
  )

export const RESTARTS: readonly Cell[] = [
  ...[rolling, rollingLoad, massRestart, coldBoot],
  ...[coldZone, rotates, rotatesCut],
]
