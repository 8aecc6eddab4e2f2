// SPDX-License-Identifier: Apache-2.0
// What cells are made of: faults that many of them share, and claims.
import type { Cell, Evidence, Limits, Roles, Step } from '../cell.js'
import type { Lab } from '../lab.js'
import type { Link } from '../network.js'

export const fault = (what: string, act: (lab: Lab) => Promise<unknown>): Step => ({
  kind: 'fault',
  what,
  do: act,
})
export const becomes = (
  claim: string,
  withinMs: number,
  holds: (e: Evidence) => boolean,
): Step => ({ kind: 'becomes', claim, withinMs, holds })
export const stays = (claim: string, forMs: number, holds: (e: Evidence) => boolean): Step => ({
  kind: 'stays',
  claim,
  forMs,
  holds,
})
export const measured = (
  claim: string,
  withinMs: number,
  holds: (e: Evidence) => boolean,
): Step => ({ kind: 'measured', claim, withinMs, holds })

export const each = (
  names: readonly string[],
  act: (name: string) => Promise<unknown>,
): Promise<unknown> => Promise.all(names.map(act))

/** All that answer, but the node itself, call it so; somebody must answer. */
export const isSeen = ({ state }: Evidence, name: string, is: 'down' | 'up'): boolean => {
  const { down, of } = state(name)
  return of > 0 && down === (is === 'down' ? of : 0)
}

/** Every agent answers and calls every node up. */
export const allUp = ({ view }: Evidence): boolean =>
  view.nodes.every(
    by =>
      by.localinfo !== undefined &&
      view.nodes.every(({ name }) => by.localinfo?.get(name) === true),
  )

/** Whoever answers calls nobody down: an agent that starts anew says nothing yet. */
export const nobodyDown = ({ view }: Evidence): boolean =>
  view.nodes.every(by => [...(by.localinfo?.values() ?? [])].every(isUp => isUp))

/** As if nothing had happened. */
const isClean = ({ state, view }: Evidence, name: string): boolean => {
  const { ready, marked } = state(name)
  const object = view.nodes.find(node => node.name === name)?.object
  return ready === 'True' && !marked && (object?.spec?.taints ?? []).length === 0
}

/** Whatever the peers say, the control plane has not touched it. */
export const isServed = ({ state }: Evidence, name: string): boolean => {
  const { ready, unreachable, pod } = state(name)
  return ready === 'True' && !unreachable && pod === 'ready'
}

export const isKept = (e: Evidence, name: string): boolean =>
  isServed(e, name) && !e.state(name).marked

/** One agent wrote about the node, once. */
export const isOneWrite = ({ writes }: Evidence, name: string): boolean =>
  writes.filter(write => write.name === name).length === 1

export const seenDown = (name: string, l: Limits): Step =>
  becomes('every other /localinfo shows it down', l.seenMs, e => isSeen(e, name, 'down'))
export const condemned = (name: string, l: Limits): Step =>
  becomes('it is marked nodeunhealth=yes', l.writtenMs, e => e.state(name).marked)
export const writtenOnce = (name: string, l: Limits): Step =>
  stays('one write by one agent, no second one', l.quietMs, e => isOneWrite(e, name))
export const nothingWritten = (l: Limits, ms = l.quietMs): Step =>
  stays('no agent writes to any Node', ms, e => e.writes.length === 0)
export const allSeenUp = (l: Limits): Step =>
  becomes('every /localinfo is right again', l.healedMs, allUp)
export const cleared = (name: string, l: Limits): Step =>
  becomes('its mark is taken off', l.healedMs + l.writtenMs, e => !e.state(name).marked)
export const evicted = (name: string, l: Limits): Step =>
  becomes('the control plane calls it Unknown and evicts its Pod', l.graceMs + l.evictMs, e => {
    const { ready, pod } = e.state(name)
    return ready === 'Unknown' && pod === 'gone'
  })
export const vouched = (name: string, l: Limits): Step =>
  becomes(
    'its peers vouch for it: the taint cloud-link-cut is there',
    l.graceMs + l.writtenMs,
    e => e.state(name).vouched,
  )
export const kept = (name: string, l: Limits): Step =>
  stays(
    'past the grace time it is Ready, its Pod is there and its endpoint is ready',
    l.graceMs + l.quietMs,
    e => isKept(e, name) && isSeen(e, name, 'up'),
  )
export const clean = (name: string, l: Limits): Step =>
  becomes('it is Ready, without mark and taint', l.graceMs + l.writtenMs, e => isClean(e, name))

export const first = (roles: Roles): readonly string[] => roles.slice(0, 1)
export const rest = (roles: Roles): readonly string[] => roles.slice(1)
export const nobody = (): readonly string[] => []
export const everybody = (roles: Roles): readonly string[] => roles

/** The larger part: a strict majority. */
export const majority = (roles: Roles): Roles => roles.slice(0, Math.floor(roles.length / 2) + 1)
export const minority = (roles: Roles): Roles => roles.slice(Math.floor(roles.length / 2) + 1)

type Steps = (victim: string, limits: Limits, roles: Roles) => readonly Step[]

/** The victim is the first of the roles; the others must not suffer. */
export const one = (
  name: string,
  shows: string,
  steps: Steps,
  mayMark: Cell['mayMark'] = first,
): Cell => ({
  ...{ name, shows, least: 2, mayMark, sound: rest },
  steps: (roles, limits) => steps(roles[0]!, limits, roles),
})

/** Whatever happens, nobody may be marked and nobody may be called down by anybody. */
export const harmless = (name: string, shows: string, steps: Steps): Cell => ({
  ...one(name, shows, steps, nobody),
  sound: everybody,
})

const BOTH: readonly Link[] = ['peer', 'cloud']
/** On both links of a node. */
export const onBoth = (act: (link: Link) => Promise<unknown>): Promise<unknown> =>
  Promise.all(BOTH.map(act))

export const killNode = (name: string): Step =>
  fault(`agent and kubelet of ${name} get SIGKILL`, lab => lab.node(name).kill())
export const reviveNode = (name: string): Step =>
  fault(`${name} starts again`, async lab => lab.node(name).revive())
export const cutCloud = (name: string): Step =>
  fault(`the cloud link of ${name} drops everything`, lab => lab.silence(name, 'cloud'))
export const mendAll: Step = fault('the network is mended', lab => lab.mendNetwork())

export const dieAndReturn = (
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
