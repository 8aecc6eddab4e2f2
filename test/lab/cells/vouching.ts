// SPDX-License-Identifier: Apache-2.0
// Nodes whose cloud link is cut, and the real node-lifecycle controller's opinion of them.
import type { Cell, Limits, Step } from '../cell.js'
import {
  allSeenUp,
  becomes,
  clean,
  condemned,
  cutCloud,
  each,
  evicted,
  fault,
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
} from './steps.js'

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

/** As after a crash: the agent has said nothing, and its state folder is as it was. */
const crashAgent = (name: string, awayMs: number): Step =>
  fault(`the agent of ${name} gets SIGKILL, and starts again after ${awayMs} ms`, async lab => {
    await lab.node(name).killAgent()
    await lab.pause(awayMs)
    lab.node(name).startAgent()
  })

const cutRestarts = one(
  'cut-restarts',
  'a node is vouched for while its agent crashes twice: its marks stay, and so do its Pods and endpoints',
  (name, l) => [
    cutCloud(name),
    vouched(name, l),
    crashAgent(name, 1_000),
    crashAgent(name, 0),
    stays(
      'past the grace time it is vouched for and Ready, and its endpoint is ready',
      l.graceMs + l.quietMs,
      e => e.state(name).vouched && isKept(e, name),
    ),
    nothingWritten(l),
    mendAll,
    clean(name, l),
  ],
  nobody,
)

const restartAll = (vouch: 'off' | 'lease'): Step =>
  fault(`all agents restart with --vouch=${vouch}`, lab => lab.restartAgents(vouch))

/** SuperEdge's way to keep a node's Pods, once. */
const takeTaintOff = (name: string): Step =>
  fault(`unreachable:NoExecute is taken off ${name} by hand`, lab => lab.takeTaintOff(name))

const cutUnvouched = one(
  'cut-unvouched',
  'the same with --vouch=off: the control plane evicts a healthy node',
  (name, l) => [
    restartAll('off'),
    allSeenUp(l),
    cutCloud(name),
    evicted(name, l),
    becomes('all the while its peers call it up', l.graceMs + l.evictMs, e =>
      isSeen(e, name, 'up'),
    ),
    takeTaintOff(name),
    becomes(
      'the control plane puts the taint back in its next round',
      l.monitorMs + 2_000,
      e => e.state(name).unreachable,
    ),
    mendAll,
    restartAll('lease'),
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
    killNode(name),
    seenDown(name, l),
    condemned(name, l),
    evicted(name, l),
    mendAll,
    reviveNode(name),
    allSeenUp(l),
    clean(name, l),
  ],
)

const sicken = (name: string): Step =>
  fault(`the kubelet of ${name} says 500`, lab => lab.node(name).setSick(true))

const sickRestarts = one(
  'sick-restarts',
  'the kubelet of a node is sick while its agent crashes: its mark stays',
  (name, l) => [
    sicken(name),
    seenDown(name, l),
    condemned(name, l),
    crashAgent(name, 1_000),
    stays('it stays marked', l.seenMs + l.quietMs, e => e.state(name).marked),
    nothingWritten(l),
    fault(`the kubelet of ${name} is well`, lab => lab.node(name).setSick(false)),
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
    sicken(name),
    evicted(name, l),
    fault(`the kubelet of ${name} is well, the network is mended`, async lab => {
      await lab.node(name).setSick(false)
      await lab.mendNetwork()
    }),
    allSeenUp(l),
    clean(name, l),
  ],
)

/** The agents of so many that no majority is left; their nodes go on. */
const silencers = (roles: readonly string[], from: number): readonly string[] =>
  roles.slice(from, from + Math.ceil(roles.length / 2))

const killAgents = (names: readonly string[]): Step =>
  fault(`the agents of ${names.join(', ')} get SIGKILL`, lab =>
    each(names, name => lab.node(name).killAgent()),
  )
const startAgents = (names: readonly string[]): Step =>
  fault(`the agents of ${names.join(', ')} start again`, lab =>
    each(names, async name => lab.node(name).startAgent()),
  )

/** Not Ready any more, and no traffic: its Pods go when their tolerations end. */
const dropped = (name: string, l: Limits): Step =>
  becomes(
    `${name} is Unknown and its endpoint is not ready, within the grace time`,
    l.graceMs + l.seenMs,
    e => e.state(name).ready === 'Unknown' && e.state(name).pod !== 'ready',
  )

const quorumGone: Cell = {
  ...one(
    'quorum-gone',
    'the quorum goes while a node is vouched for: who is left may not vouch',
    (name, l, roles) => {
      const gone = silencers(roles, 1)
      return [
        cutCloud(name),
        vouched(name, l),
        killAgents(gone),
        dropped(name, l),
        evicted(name, l),
        mendAll,
        startAgents(gone),
        allSeenUp(l),
        clean(name, { ...l, graceMs: 2 * l.graceMs }),
      ]
    },
  ),
  least: 3,
  sound: () => [],
}

const FIVE_MINUTES_MS = 300_000

const defaultKept: Cell = {
  name: 'default-kept',
  shows:
    'at the real grace times: three cut nodes keep all for 5 minutes; then one dies and one’s kubelet falls sick, and only the third keeps all',
  least: 5,
  profile: 'default',
  mayMark: roles => roles.slice(0, 2),
  sound: roles => roles.slice(3),
  steps: (roles, l) => {
    const [dead = '', sick = '', cut = ''] = roles
    const three = [dead, sick, cut]
    return [
      fault(`the cloud links of ${three.join(', ')} drop everything`, lab =>
        each(three, name => lab.silence(name, 'cloud')),
      ),
      ...three.map(name => vouched(name, l)),
      stays(
        'for 5 minutes all three are Ready, with their Pods and ready endpoints',
        FIVE_MINUTES_MS,
        e => three.every(name => isKept(e, name)),
      ),
      fault(`${dead} gets SIGKILL, the kubelet of ${sick} says 500`, lab =>
        Promise.all([lab.node(dead).kill(), lab.node(sick).setSick(true)]),
      ),
      dropped(dead, l),
      dropped(sick, l),
      stays('the third keeps all', l.quietMs, e => isKept(e, cut)),
    ]
  },
}

const defaultOff: Cell = {
  ...one(
    'default-off',
    'at the real grace times with --vouch=off: a cut node loses its endpoint, and its Pods after 5 minutes',
    (name, l) => [
      restartAll('off'),
      allSeenUp(l),
      cutCloud(name),
      dropped(name, l),
      evicted(name, l),
    ],
    nobody,
  ),
  profile: 'default',
}

export const VOUCHING: readonly Cell[] = [
  ...[cutVouched, cutRestarts, diesVouched, sickVouched, sickRestarts, quorumGone, cutUnvouched],
  ...[defaultKept, defaultOff],
]
