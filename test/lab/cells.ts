// SPDX-License-Identifier: Apache-2.0
// The chaos cells.
import type { Cell, Evidence, Limits, Roles, Step } from './cell.js'
import type { Lab } from './lab.js'

const fault = (what: string, act: (lab: Lab) => Promise<unknown>): Step => ({
  kind: 'fault',
  what,
  do: act,
})
const becomes = (claim: string, withinMs: number, holds: (e: Evidence) => boolean): Step => ({
  kind: 'becomes',
  ...{ claim, withinMs, holds },
})
const stays = (claim: string, forMs: number, holds: (e: Evidence) => boolean): Step => ({
  kind: 'stays',
  ...{ claim, forMs, holds },
})

const each = (
  names: readonly string[],
  act: (name: string) => Promise<unknown>,
): Promise<unknown> => Promise.all(names.map(act))

/** All that answer, but the node itself, call it so; somebody must answer. */
const isSeen = ({ state }: Evidence, name: string, is: 'down' | 'up'): boolean => {
  const { down, of } = state(name)
  return of > 0 && down === (is === 'down' ? of : 0)
}

/** Every agent answers and calls every node up. */
const allUp = ({ view }: Evidence): boolean =>
  view.nodes.every(
    by =>
      by.localinfo !== undefined &&
      view.nodes.every(({ name }) => by.localinfo?.get(name) === true),
  )

/** As if nothing had happened. */
const isClean = ({ state, view }: Evidence, name: string): boolean => {
  const { ready, marked } = state(name)
  const object = view.nodes.find(node => node.name === name)?.object
  return ready === 'True' && !marked && (object?.spec?.taints ?? []).length === 0
}

const isKept = ({ state }: Evidence, name: string): boolean => {
  const { ready, unreachable, pod, marked } = state(name)
  return ready === 'True' && !unreachable && pod === 'ready' && !marked
}

/** One agent wrote about the node, once. */
const isOneWrite = ({ writes }: Evidence, name: string): boolean =>
  writes.filter(write => write.name === name).length === 1

const seenDown = (name: string, l: Limits): Step =>
  becomes('every other /localinfo shows it down', l.seenMs, e => isSeen(e, name, 'down'))
const condemned = (name: string, l: Limits): Step =>
  becomes('it is marked nodeunhealth=yes', l.writtenMs, e => e.state(name).marked)
const writtenOnce = (name: string, l: Limits): Step =>
  stays('one write by one agent, no second one', l.quietMs, e => isOneWrite(e, name))
const nothingWritten = (l: Limits, ms = l.quietMs): Step =>
  stays('no agent writes to any Node', ms, e => e.writes.length === 0)
const allSeenUp = (l: Limits): Step => becomes('every /localinfo is right again', l.healedMs, allUp)
const cleared = (name: string, l: Limits): Step =>
  becomes('its mark is taken off', l.healedMs + l.writtenMs, e => !e.state(name).marked)
const evicted = (name: string, l: Limits): Step =>
  becomes('the control plane calls it Unknown and evicts its Pod', l.graceMs + 8_000, e => {
    const { ready, pod } = e.state(name)
    return ready === 'Unknown' && pod === 'gone'
  })
const vouched = (name: string, l: Limits): Step =>
  becomes(
    'its peers vouch for it: the taint cloud-link-cut is there',
    l.graceMs + l.writtenMs,
    e => e.state(name).vouched,
  )
const kept = (name: string, l: Limits): Step =>
  stays(
    'past the grace time it is Ready, its Pod is there and its endpoint is ready',
    l.graceMs + l.quietMs,
    e => isKept(e, name) && isSeen(e, name, 'up'),
  )
const clean = (name: string, l: Limits): Step =>
  becomes('it is Ready, without mark and taint', l.graceMs + l.writtenMs, e => isClean(e, name))

const first = (roles: Roles): readonly string[] => roles.slice(0, 1)
const rest = (roles: Roles): readonly string[] => roles.slice(1)
const nobody = (): readonly string[] => []
const everybody = (roles: Roles): readonly string[] => roles

/** The victim is the first of the roles; the others must not suffer. */
const one = (
  name: string,
  shows: string,
  steps: (victim: string, limits: Limits, roles: Roles) => readonly Step[],
  mayMark: Cell['mayMark'] = first,
): Cell => ({
  ...{ name, shows, least: 3, mayMark, sound: rest },
  steps: (roles, limits) => steps(roles[0]!, limits, roles),
})

const cutCloud = (name: string): Step =>
  fault(`the cloud link of ${name} drops everything`, lab => lab.silence(name, 'cloud'))
const mendAll: Step = fault('the network is mended', lab => lab.mendNetwork())

const dieAndReturn = (
  name: string,
  l: Limits,
  [die, live]: readonly [die: Step, live: Step],
): readonly Step[] => [
  die,
  seenDown(name, l),
  condemned(name, l),
  writtenOnce(name, l),
  live,
  allSeenUp(l),
  cleared(name, l),
  writtenOnce(name, l),
  clean(name, l),
]

const cableOut = one('cable-out', 'both cables of a node are pulled', (name, l) =>
  dieAndReturn(name, l, [
    fault(`both cables of ${name} are pulled`, lab =>
      each(['peer', 'cloud'], link => lab.cable(name, link as 'peer' | 'cloud', false)),
    ),
    mendAll,
  ]),
)

const sigkill = one('sigkill', 'agent and kubelet of a node are killed', (name, l) =>
  dieAndReturn(name, l, [
    fault(`agent and kubelet of ${name} get SIGKILL`, lab => lab.node(name).kill()),
    fault(`${name} starts again`, async lab => lab.node(name).revive()),
  ]),
)

const sigstop = one('sigstop', 'a node hangs: its ports still accept', (name, l) =>
  dieAndReturn(name, l, [
    fault(`agent and kubelet of ${name} get SIGSTOP`, async lab => lab.node(name).freeze()),
    fault(`${name} gets SIGCONT`, async lab => lab.node(name).thaw()),
  ]),
)

const evicts = one(
  'death-evicts',
  'a dead node is Unknown in time: nobody vouches for the dead',
  (name, l) => [
    fault(`agent and kubelet of ${name} get SIGKILL`, lab => lab.node(name).kill()),
    condemned(name, l),
    evicted(name, l),
    fault(`${name} starts again`, async lab => lab.node(name).revive()),
    allSeenUp(l),
    clean(name, l),
  ],
)

const rejects = one('reject', 'a firewall refuses all of a node, both links', (name, l) =>
  dieAndReturn(name, l, [
    fault(`${name} answers every TCP packet with a reset`, lab =>
      each(['peer', 'cloud'], link =>
        lab.block(name, { chain: 'INPUT', link: link as 'peer' | 'cloud', answer: 'REJECT' }),
      ),
    ),
    mendAll,
  ]),
)

const cutVouched = one(
  'cut-vouched',
  'a node that only lost its cloud link keeps its Pods and endpoints',
  (name, l) => [
    cutCloud(name),
    vouched(name, l),
    kept(name, l),
    mendAll,
    clean(name, l),
    stays('its Pod was never touched', l.quietMs, e => isKept(e, name)),
  ],
  nobody,
)

const cutUnvouched = one(
  'cut-unvouched',
  'the same with --vouch=off: the control plane evicts a healthy node',
  (name, l) => [
    fault('all agents restart with --vouch=off', lab => lab.restartAgents('off')),
    allSeenUp(l),
    cutCloud(name),
    evicted(name, l),
    becomes('all the while its peers call it up', l.graceMs + 8_000, e => isSeen(e, name, 'up')),
    mendAll,
    fault('all agents restart as before', lab => lab.restartAgents('lease')),
    allSeenUp(l),
    clean(name, l),
  ],
  nobody,
)

const diesVouched = one(
  'dies-vouched',
  'a node that is vouched for dies: no vouching outlives it',
  (name, l) => [
    cutCloud(name),
    vouched(name, l),
    fault(`agent and kubelet of ${name} get SIGKILL`, lab => lab.node(name).kill()),
    seenDown(name, l),
    condemned(name, l),
    evicted(name, l),
    mendAll,
    fault(`${name} starts again`, async lab => lab.node(name).revive()),
    allSeenUp(l),
    clean(name, l),
  ],
)

const sickVouched = one(
  'sick-vouched',
  'the kubelet of a node that is vouched for falls sick',
  (name, l) => [
    cutCloud(name),
    vouched(name, l),
    fault(`the kubelet of ${name} says 500`, lab => lab.node(name).setSick(true)),
    evicted(name, l),
    fault(`the kubelet of ${name} is well, the network is mended`, async lab => {
      await lab.node(name).setSick(false)
      await lab.mendNetwork()
    }),
    allSeenUp(l),
    clean(name, l),
  ],
)

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
    fault(`agent and kubelet of ${name} get SIGKILL`, lab => lab.node(name).kill()),
    seenDown(name, l),
    nothingWritten(l),
    mendAll,
    condemned(name, { ...l, writtenMs: l.graceMs + l.writtenMs }),
    writtenOnce(name, l),
    fault(`${name} starts again`, async lab => lab.node(name).revive()),
    allSeenUp(l),
    clean(name, l),
  ],
)

/** The larger part: a strict majority. */
const majority = (roles: Roles): Roles => roles.slice(0, Math.floor(roles.length / 2) + 1)
const minority = (roles: Roles): Roles => roles.slice(Math.floor(roles.length / 2) + 1)

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

const mute = one('one-way-mute', 'a node hears everybody and nobody hears it', (name, l) =>
  dieAndReturn(name, l, [
    fault(`what ${name} sends to its peers is dropped`, lab =>
      lab.block(name, { chain: 'OUTPUT', link: 'peer', answer: 'DROP' }),
    ),
    mendAll,
  ]),
)

const loss: Cell = {
  name: 'loss-30',
  shows: 'every node loses 30 % of what its peers send: nobody is condemned',
  least: 3,
  mayMark: nobody,
  sound: nobody,
  steps: (roles, l) => [
    fault('30 % of the packets to each node are lost', lab =>
      each(roles, name =>
        lab.block(name, { chain: 'INPUT', link: 'peer', percent: 30, answer: 'DROP' }),
      ),
    ),
    nothingWritten(l, 40_000),
    mendAll,
    allSeenUp(l),
    nothingWritten(l),
  ],
}

const lossAndDeath: Cell = {
  ...one('loss-10-death', 'a node dies while all links lose 10 %', (name, l, roles) => [
    fault('10 % of the packets to each node are lost', lab =>
      each(roles, to =>
        lab.block(to, { chain: 'INPUT', link: 'peer', percent: 10, answer: 'DROP' }),
      ),
    ),
    nothingWritten(l, 5_000),
    fault(`agent and kubelet of ${name} get SIGKILL`, lab => lab.node(name).kill()),
    seenDown(name, l),
    condemned(name, l),
    writtenOnce(name, l),
    mendAll,
    fault(`${name} starts again`, async lab => lab.node(name).revive()),
    allSeenUp(l),
    clean(name, l),
  ]),
  sound: nobody,
}

const rolling: Cell = {
  name: 'rolling',
  shows: 'all agents restart one after the other: no verdict changes',
  least: 3,
  mayMark: nobody,
  sound: everybody,
  steps: (roles, l) => [
    ...roles.flatMap(name => [
      fault(`the agent of ${name} is stopped and started`, async lab => {
        await lab.node(name).stopAgent()
        lab.node(name).startAgent()
      }),
      allSeenUp(l),
      nothingWritten(l, 1_000),
    ]),
    nothingWritten(l),
  ],
}

const writerDies: Cell = {
  name: 'writer-dies',
  shows: 'two nodes die, the second while the first is being written: each is marked once',
  least: 5,
  mayMark: roles => roles.slice(0, 2),
  sound: roles => roles.slice(2),
  steps: ([a = '', b = ''], l) => [
    fault(`agent and kubelet of ${a} get SIGKILL`, lab => lab.node(a).kill()),
    seenDown(a, l),
    fault(`agent and kubelet of ${b} get SIGKILL`, lab => lab.node(b).kill()),
    becomes('both are marked', l.writtenMs * 2, e => e.state(a).marked && e.state(b).marked),
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

/** All cells, in the order in which they are played. */
export const CELLS: readonly Cell[] = [
  sigkill,
  cableOut,
  sigstop,
  rejects,
  evicts,
  cutVouched,
  diesVouched,
  sickVouched,
  cutUnvouched,
  zoneCut,
  partition,
  oneWayPair,
  mute,
  loss,
  lossAndDeath,
  rolling,
  writerDies,
]

/** Faults that this lab cannot bring about, and why. */
export const NOT_PLAYED: readonly string[] = [
  "steps of the clock: all namespaces share the machine's, so a step would move the observer and the control plane too",
]
