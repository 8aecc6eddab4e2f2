// SPDX-License-Identifier: Apache-2.0
// The way to the apiserver, and the apiserver itself.
import type { Cell, Step } from '../cell.js'
import { GHOST } from '../props.js'
import {
  allSeenUp,
  allUp,
  becomes,
  clean,
  condemned,
  each,
  fault,
  harmless,
  isKept,
  isSeen,
  kept,
  killNode,
  mendAll,
  nobody,
  nothingWritten,
  one,
  reviveNode,
  seenDown,
  stays,
  vouched,
  writtenOnce,
} from './steps.js'

const zoneCut = one(
  'zone-cut',
  'the whole zone loses its cloud and a node dies meanwhile',
  (name, l, roles) => [
    fault('the cloud links of all nodes drop everything', lab =>
      each(roles, each => lab.silence(each, 'cloud')),
    ),
    becomes('every agent says that its link is cut', l.graceMs + l.writtenMs, ({ view }) =>
      view.nodes.every(node => node.status?.cloudLink.state === 'cut'),
    ),
    killNode(name),
    seenDown(name, l),
    nothingWritten(l),
    mendAll,
    condemned(name, { ...l, writtenMs: l.graceMs + l.writtenMs }),
    writtenOnce(name, l),
    reviveNode(name),
    allSeenUp(l),
    clean(name, l),
  ],
)

const oneWay = (name: string, chain: 'INPUT' | 'OUTPUT', shows: string): Cell =>
  one(
    name,
    shows,
    (victim, l) => [
      fault(
        `what ${victim} ${chain === 'INPUT' ? 'gets from' : 'sends to'} the cloud is dropped`,
        async lab => {
          lab.node(victim).isCut = true
          await lab.block(victim, { chain, link: 'cloud', answer: 'DROP' })
        },
      ),
      vouched(victim, l),
      kept(victim, l),
      mendAll,
      clean(victim, l),
      stays('its Pod was never touched', l.quietMs, e => isKept(e, victim)),
    ],
    nobody,
  )

const cloudDeaf = oneWay(
  'cloud-deaf',
  'INPUT',
  'a node’s requests reach the cloud and no answer comes back: it is kept as one that is cut',
)
const cloudMute = oneWay(
  'cloud-mute',
  'OUTPUT',
  'a node hears the cloud and cannot speak to it: it is kept as one that is cut',
)

const cloudLoss: Cell = {
  ...harmless(
    'cloud-loss-30',
    'all cloud links lose 30 %: nothing is written, and a node that dies is still marked',
    (name, l, roles) => [
      fault('30 % of the packets on each cloud link are lost', lab =>
        each(roles, node =>
          lab.block(node, { chain: 'INPUT', link: 'cloud', percent: 30, answer: 'DROP' }),
        ),
      ),
      stays('every /localinfo stays right and nobody is marked', 15_000, e => {
        const isMarked = e.view.nodes.some(node => e.state(node.name).marked)
        return allUp(e) && !isMarked
      }),
      killNode(name),
      seenDown(name, l),
      condemned(name, { ...l, writtenMs: l.writtenMs + l.graceMs }),
      mendAll,
      reviveNode(name),
      allSeenUp(l),
      clean(name, l),
    ],
  ),
  mayMark: roles => roles.slice(0, 1),
  sound: roles => roles.slice(1),
}

const restartServer: Step = fault(
  'the apiserver is killed, its store is compacted, it starts again: every watch must begin anew (410)',
  lab => lab.forgetPast(),
)

const serverRestarts: Cell = {
  ...harmless(
    'apiserver-restart',
    'the apiserver restarts on a compacted store: nobody is marked, and what changes afterwards is seen and written',
    (name, l) => [
      restartServer,
      stays('nobody is marked, every /localinfo stays right', l.graceMs + l.quietMs, e =>
        e.view.nodes.every(node => !e.state(node.name).marked && isSeen(e, node.name, 'up')),
      ),
      fault('a Node is added by hand', lab => lab.props.addGhost()),
      becomes(
        'every agent has it in its roster: the watches work again',
        l.graceMs + l.writtenMs,
        e => e.view.nodes.every(node => node.status?.zone.members === e.view.nodes.length + 1),
      ),
      fault('the added Node is deleted', lab => lab.props.removeGhost()),
      becomes('every roster is right again', l.graceMs + l.writtenMs, e =>
        e.view.nodes.every(node => node.status?.zone.members === e.view.nodes.length),
      ),
      killNode(name),
      seenDown(name, l),
      condemned(name, l),
      reviveNode(name),
      allSeenUp(l),
      clean(name, l),
    ],
  ),
  // Nothing answers for the added Node.
  mayMark: roles => [...roles.slice(0, 1), GHOST],
  sound: roles => roles.slice(1),
}

const serverHangs: Cell = harmless(
  'apiserver-hangs',
  'the apiserver hangs for 10 s, its connections stay open: no verdict changes, all links are seen up again',
  (_name, l) => [
    fault('the apiserver gets SIGSTOP, and SIGCONT after 10 s', async lab => {
      lab.plane.freezeServer()
      await lab.pause(10_000)
      lab.plane.thawServer()
    }),
    becomes('every agent reaches it again', l.healedMs, e =>
      e.view.nodes.every(node => node.status?.cloudLink.state === 'up'),
    ),
    allSeenUp(l),
    stays('nobody is marked', l.quietMs, e =>
      e.view.nodes.every(node => !e.state(node.name).marked),
    ),
  ],
)

export const CLOUD: readonly Cell[] = [
  ...[zoneCut, cloudDeaf, cloudMute, cloudLoss],
  ...[serverRestarts, serverHangs],
]
