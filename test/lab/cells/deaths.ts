// SPDX-License-Identifier: Apache-2.0
// Nodes that die, hang, are shut off, and come back.
import type { Cell, Evidence, Step } from '../cell.js'
import {
  allSeenUp,
  becomes,
  clean,
  cleared,
  condemned,
  dieAndReturn,
  evicted,
  fault,
  isOneWrite,
  isSeen,
  killNode,
  mendAll,
  one,
  onBoth,
  reviveNode,
  seenDown,
  stays,
} from './steps.js'

const sigkill = one('sigkill', 'agent and kubelet of a node are killed', (name, l) =>
  dieAndReturn(name, l, [killNode(name), reviveNode(name)]),
)

const freeze = (name: string): Step =>
  fault(`agent and kubelet of ${name} get SIGSTOP`, async lab => lab.node(name).freeze())
const thaw = (name: string): Step =>
  fault(`${name} gets SIGCONT`, async lab => lab.node(name).thaw())

const sigstop = one('sigstop', 'a node hangs: its ports still accept', (name, l) =>
  dieAndReturn(name, l, [freeze(name), thaw(name)]),
)

const cableOut = one('cable-out', 'both cables of a node are pulled', (name, l) =>
  dieAndReturn(name, l, [
    fault(`both cables of ${name} are pulled`, lab => onBoth(link => lab.cable(name, link, false))),
    mendAll,
  ]),
)

const rejects = one('reject', 'a firewall refuses all of a node, both links', (name, l) =>
  dieAndReturn(name, l, [
    fault(`${name} answers every TCP packet with a reset`, lab =>
      onBoth(link => lab.block(name, { chain: 'INPUT', link, answer: 'REJECT' })),
    ),
    mendAll,
  ]),
)

const mute: Cell = {
  ...one('one-way-mute', 'a node hears everybody and nobody hears it', (name, l) =>
    dieAndReturn(name, l, [
      fault(`what ${name} sends to its peers is dropped`, lab =>
        lab.block(name, { chain: 'OUTPUT', link: 'peer', answer: 'DROP' }),
      ),
      mendAll,
    ]),
  ),
  // Of two, the other one's Lease still moves: the witness speaks for it.
  least: 3,
}

const evicts = one(
  'death-evicts',
  'a dead node is Unknown in time: nobody vouches for the dead',
  (name, l) => [
    killNode(name),
    condemned(name, l),
    evicted(name, l),
    reviveNode(name),
    allSeenUp(l),
    clean(name, l),
  ],
)

/** Detection, write and recovery alone, for many trials. */
const timed = (
  name: string,
  shows: string,
  moves: (victim: string) => readonly [die: Step, live: Step],
): Cell =>
  one(name, shows, (victim, l) => {
    const [die, live] = moves(victim)
    return [
      die,
      seenDown(victim, l),
      condemned(victim, l),
      live,
      becomes('every other /localinfo shows it up again', l.healedMs, e => isSeen(e, victim, 'up')),
      cleared(victim, l),
    ]
  })

const detectKill = timed('detect-kill', 'seconds until a killed node is seen', name => [
  killNode(name),
  reviveNode(name),
])
const detectDrop = timed('detect-drop', 'seconds until a silent node is seen', name => [
  fault(`both links of ${name} drop everything`, lab => onBoth(link => lab.silence(name, link))),
  mendAll,
])
const detectHang = timed('detect-hang', 'seconds until a node that hangs is seen', name => [
  freeze(name),
  thaw(name),
])

const agentDies: Cell = {
  ...one(
    'agent-dies',
    'only the agent of a node dies: the node works, nobody may condemn it',
    (name, l) => [
      fault(`the agent of ${name} gets SIGKILL`, lab => lab.node(name).killAgent()),
      stays('it is called up by all others, and nobody writes', l.seenMs + l.writtenMs, e => {
        const others = e.view.nodes.filter(by => by.name !== name)
        const isUp = others.every(by => by.localinfo?.get(name) === true)
        return isUp && e.writes.length === 0
      }),
      fault(`the agent of ${name} starts again`, async lab => lab.node(name).startAgent()),
      allSeenUp(l),
    ],
    () => [],
  ),
  // Of two, the other agent is alone with what it sees.
  least: 3,
}

const both = (e: Evidence, a: string, b: string): boolean => e.state(a).marked && e.state(b).marked

const twoDie: Cell = {
  name: 'two-die',
  shows: 'two nodes die, the second while the first is being written: each is marked once',
  least: 5,
  mayMark: roles => roles.slice(0, 2),
  sound: roles => roles.slice(2),
  steps: ([a = '', b = ''], l) => [
    killNode(a),
    seenDown(a, l),
    killNode(b),
    becomes('both are marked', l.writtenMs * 2, e => both(e, a, b)),
    stays('each was written once', l.quietMs, e => isOneWrite(e, b)),
    fault('both start again', async lab => {
      lab.node(a).revive()
      lab.node(b).revive()
    }),
    allSeenUp(l),
    clean(a, l),
    clean(b, l),
  ],
}

/** How long the agents distrust a node that fell so often, at most. */
const FLAP_HOLD_MS = 120_000

const flapping: Cell = one(
  'flapping',
  'the links of a node go and come every two seconds: few writes, and none about others',
  (name, l) => [
    fault(`both links of ${name} go and come 12 times, 2 s each`, async lab => {
      for (let i = 0; i < 12; i++) {
        await onBoth(link => lab.cable(name, link, false))
        await lab.pause(2_000)
        await onBoth(link => lab.cable(name, link, true))
        await lab.pause(2_000)
      }
    }),
    becomes('every /localinfo is right again, damped', FLAP_HOLD_MS + l.healedMs, e =>
      isSeen(e, name, 'up'),
    ),
    becomes('it is not marked', FLAP_HOLD_MS + l.writtenMs, e => !e.state(name).marked),
    stays(
      'no more than one write for three falls',
      l.quietMs,
      e => e.allWrites.filter(write => write.name === name).length <= 4,
    ),
    clean(name, { ...l, graceMs: l.graceMs + 2 * FLAP_HOLD_MS }),
  ],
)
export const DEATHS: readonly Cell[] = [
  ...[sigkill, cableOut, sigstop, rejects, evicts],
  ...[mute, agentDies, twoDie, flapping],
]

export const TIMED: readonly Cell[] = [detectKill, detectDrop, detectHang]
