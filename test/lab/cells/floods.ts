// SPDX-License-Identifier: Apache-2.0
// A stolen node says as much as it can: what one sender may use up is bounded, and a death is marked all the same.
import type { Cell, Limits, Roles, Step } from '../cell.js'
import type { Lab } from '../lab.js'
import type { LabNode } from '../lab-node.js'
import {
  duringLies,
  endLies,
  ENOUGH,
  INSIDER,
  isUpToHonest,
  LIE_MS,
  sum,
  wellAgain,
} from './rogue.js'
import { becomes, condemned, evicted, fault, reviveNode, seenDown, stays } from './steps.js'

/** Messages to all together: of each receiver's share many are refused, and neither sender nor machine is what limits them. */
const PER_SECOND = 600

/** What docs/protocol.md promises: so many at once, and so many a second. */
interface Bound {
  readonly atOnce: number
  readonly perSecond: number
}
const PROVED: Bound = { atOnce: 300, perSecond: 150 }
/** Wrong signatures that are proved of those which one member passes on. */
const WRONG: Bound = { atOnce: 30, perSecond: 10 }

/** What one agent has counted since it started, and when it said so. */
interface Counts {
  readonly at: number
  readonly proved: number
  readonly tooFast: number
  readonly wrongSignatures: number
  readonly wrongLinks: number
  readonly cpuMs: number
}

const valueOf = (metrics: string, series: string): number =>
  Number(new RegExp(`^${series} (\\d+)$`, 'm').exec(metrics)?.[1])

const refusedFor = (metrics: string, reason: string): number =>
  valueOf(metrics, `edge_health_exchange_refused_total\\{[^}]*reason="${reason}"[^}]*\\}`)

const readCounts = async (node: LabNode): Promise<Counts> => {
  const metrics = await (await fetch(`${node.localUrl}/metrics`)).text()
  return {
    at: performance.now(),
    proved: valueOf(metrics, 'edge_health_identity_verified_total(?:\\{[^}]*\\})?'),
    tooFast: refusedFor(metrics, 'too-fast'),
    wrongSignatures: refusedFor(metrics, 'bad-statement'),
    wrongLinks: refusedFor(metrics, 'bad-link'),
    cpuMs: node.agentCpuMs,
  }
}

/** What each of some agents did from one moment to another. */
class Watched {
  readonly #from = new Map<string, Counts>()
  readonly #to = new Map<string, Counts>()

  begin(lab: Lab, names: Roles): Promise<void> {
    this.#to.clear()
    return read(lab, names, this.#from)
  }

  end(lab: Lab, names: Roles): Promise<void> {
    return read(lab, names, this.#to)
  }

  /** By name; `at` is the time between the two. */
  get deltas(): readonly Counts[] {
    return [...this.#to].map(([name, to]) => minus(to, this.#from.get(name)!))
  }
}

const read = async (lab: Lab, names: Roles, into: Map<string, Counts>): Promise<void> => {
  await Promise.all(names.map(async name => into.set(name, await readCounts(lab.node(name)))))
}

const minus = (to: Counts, from: Counts): Counts => ({
  at: to.at - from.at,
  proved: to.proved - from.proved,
  tooFast: to.tooFast - from.tooFast,
  wrongSignatures: to.wrongSignatures - from.wrongSignatures,
  wrongLinks: to.wrongLinks - from.wrongLinks,
  cpuMs: to.cpuMs - from.cpuMs,
})

const isWithin = (count: number, ms: number, { atOnce, perSecond }: Bound): boolean =>
  count <= atOnce + (perSecond * ms) / 1_000

const isBounded = ({ at, proved, wrongSignatures }: Counts): boolean =>
  isWithin(proved, at, PROVED) && isWithin(wrongSignatures, at, WRONG)

/** Of each kind some came. */
const isFlooded = ({ wrongSignatures, wrongLinks }: Counts): boolean =>
  wrongSignatures > 0 && wrongLinks > 0

const span = (deltas: readonly Counts[], of: (counts: Counts) => number): string => {
  const rates = deltas.map(counts => (of(counts) * 1_000) / counts.at)
  return `${Math.min(...rates).toFixed(1)} to ${Math.max(...rates).toFixed(1)}`
}

/** The cell's steps, from the flood to its end. */
const flood = (
  watched: Watched,
  { rogue, dead, others }: { rogue: string; dead: string; others: Roles },
  l: Limits,
): readonly Step[] => [
  fault(
    `${rogue}’s agent is replaced by a liar with its keys: ${PER_SECOND} messages a second with news, wrong links and wrong signatures`,
    async lab => {
      const lies = { down: [dead, ...others], perSecond: PER_SECOND }
      await lab.foes.lie(lab.node(rogue), lies, INSIDER.hasOwnKeys)
      await watched.begin(lab, others)
    },
  ),
  becomes('its messages are taken (200)', l.healedMs, e => sum(e, /^200$/) > ENOUGH),
  stays('nobody is marked, every honest /localinfo stays right', LIE_MS, e =>
    [dead, ...others].every(name => isUpToHonest(e, name, rogue) && !e.state(name).marked),
  ),
  fault(`${dead} dies`, lab => lab.node(dead).kill()),
  ...duringLies(INSIDER, { rogue, dead, others }, l),
  fault('counters of the honest agents are read', lab => watched.end(lab, others)),
  becomes(
    'each honest agent was flooded, and proved no more signatures, wrong ones and all, than one member and all may have proved',
    l.quietMs,
    () =>
      watched.deltas.length > 0 && watched.deltas.every(each => isFlooded(each) && isBounded(each)),
  ),
  endLies(rogue),
]

const floods = (): Cell => {
  const watched = new Watched()
  return {
    name: 'rogue-floods',
    shows:
      'a stolen node floods all others with news, wrong links and wrong signatures: a death is marked all the same, nobody healthy is, and what each agent proves is bounded',
    identities: INSIDER.identities,
    least: 3,
    mayMark: roles => roles.slice(1, 2),
    sound: roles => roles.slice(2),
    steps: ([rogue = '', dead = '', ...others], l) => [
      ...flood(watched, { rogue, dead, others }, l),
      seenDown(dead, { ...l, seenMs: l.seenMs + l.healedMs }),
      condemned(dead, { ...l, writtenMs: l.writtenMs + l.healedMs }),
      evicted(dead, { ...l, graceMs: l.graceMs + l.healedMs }),
      reviveNode(dead),
      ...wellAgain([dead], l),
    ],
    notes: (_, lab) => [
      `answers: ${Object.entries(lab.foes.answers)
        .map(([answer, n]) => `${answer} × ${n}`)
        .join(', ')}`,
      ...notesOf(watched.deltas),
    ],
  }
}

const notesOf = (deltas: readonly Counts[]): readonly string[] => {
  if (deltas.length === 0) return []
  const figures = [
    `${span(deltas, ({ proved }) => proved)} signatures proved`,
    `${span(deltas, ({ wrongSignatures }) => wrongSignatures)} wrong ones`,
    `${span(deltas, ({ wrongLinks }) => wrongLinks)} wrong links`,
    `${span(deltas, ({ tooFast }) => tooFast)} messages refused as too fast`,
    `${span(deltas, counts => counts.cpuMs)} ms of CPU`,
  ]
  return [`each honest agent, a second: ${figures.join(', ')}`]
}

export const FLOODS: readonly Cell[] = [floods()]
