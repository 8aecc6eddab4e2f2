// SPDX-License-Identifier: Apache-2.0
// A machine in trouble: its disk, its CPU, its clock.
import type { Cell, Step } from '../cell.js'
import {
  allSeenUp,
  becomes,
  clean,
  condemned,
  each,
  fault,
  harmless,
  killNode,
  measured,
  one,
  reviveNode,
  seenDown,
  stays,
} from './steps.js'

const diskFull = one(
  'disk-full',
  'the state folders of all nodes are full: agents vote, write and restart all the same',
  (name, l, roles) => [
    fault('all state folders are filled to the last byte', lab =>
      each(roles, node => lab.node(node).fillState(true)),
    ),
    fault('all agents restart', lab => lab.restartAgents('lease')),
    allSeenUp(l),
    becomes('every agent logs that its state cannot be written', l.healedMs, ({ lab }) =>
      roles.every(node =>
        lab
          .node(node)
          .agentLines(200)
          .some(line => line.includes('state cannot be written')),
      ),
    ),
    killNode(name),
    seenDown(name, l),
    condemned(name, l),
    fault('the folders are emptied', lab => each(roles, node => lab.node(node).fillState(false))),
    reviveNode(name),
    allSeenUp(l),
    clean(name, l),
  ],
)

const throttle = (name: string, percent: number): Step =>
  fault(`the agent of ${name} gets ${percent} % of a core`, lab => lab.node(name).throttle(percent))
const unthrottle = (name: string): Step =>
  fault(`the agent of ${name} gets what it wants`, lab => lab.node(name).throttle(undefined))

const unmoved = (forMs: number): Step =>
  stays('nobody is marked, nobody writes', forMs, e => e.allWrites.length === 0)

/** What the slow one says of others is its own business; nobody else may doubt anybody. */
const slow = (name: string, shows: string, steps: Cell['steps']): Cell => ({
  ...harmless(name, shows, (_name, l, roles) => steps(roles, l)),
  sound: roles => roles.slice(1),
})

const slowCpu = slow(
  'slow-cpu',
  'one agent gets 5 % of a core, the limit that deploy/ gives it: nothing is written',
  ([name = ''], l) => [
    throttle(name, 5),
    unmoved(20_000),
    unthrottle(name),
    allSeenUp(l),
    unmoved(l.quietMs),
  ],
)

const starvedCpu = slow(
  'starved-cpu',
  'one agent gets 2 % of a core: it is not condemned, and condemns nobody',
  ([name = ''], l) => [
    throttle(name, 2),
    measured(
      'it takes its own slowness for a cut cloud link, and is vouched for',
      30_000,
      e => e.state(name).vouched,
    ),
    stays('nobody is marked', 10_000, e => e.view.nodes.every(node => !e.state(node.name).marked)),
    unthrottle(name),
    allSeenUp(l),
    clean(name, l),
  ],
)

const stalledAgent = slow(
  'stalled-agent',
  'an agent stands still for 3 s again and again (SIGSTOP)',
  ([name = ''], l) => [
    fault(`the agent of ${name} stands still for 3 s, six times`, async lab => {
      for (let i = 0; i < 6; i++) {
        lab.node(name).freezeAgent(true)
        await lab.pause(3_000)
        lab.node(name).freezeAgent(false)
        await lab.pause(1_000)
      }
    }),
    stays('nobody is marked', l.quietMs, e =>
      e.view.nodes.every(node => !e.state(node.name).marked),
    ),
    allSeenUp(l),
    clean(name, l),
  ],
)

const HOUR_MS = 3_600_000

const clockStep = one(
  'clock-step',
  'wall clocks step by an hour, both ways, on one node and on all: no verdict changes; then a node dies and is marked',
  (name, l, roles) => [
    fault('all agents restart with a wall clock that can be set', lab => lab.ownClocks()),
    allSeenUp(l),
    fault(`the wall clock of ${name} steps one hour ahead`, lab =>
      lab.node(name).stepWall(HOUR_MS),
    ),
    unmoved(l.seenMs),
    fault(`the wall clock of ${name} steps two hours back`, lab =>
      lab.node(name).stepWall(-HOUR_MS),
    ),
    unmoved(l.seenMs),
    fault('all wall clocks step a day back', lab =>
      each(roles, node => lab.node(node).stepWall(-24 * HOUR_MS)),
    ),
    unmoved(l.seenMs),
    killNode(name),
    seenDown(name, l),
    condemned(name, l),
    reviveNode(name),
    allSeenUp(l),
    clean(name, l),
  ],
)

export const MACHINE: readonly Cell[] = [
  ...[diskFull, slowCpu, starvedCpu, stalledAgent, clockStep],
]
