// SPDX-License-Identifier: Apache-2.0
import type { SiteDeployment, SitesView } from './sites.js'
import { GRACE_MS } from './sites.js'
import { allSayUp } from './snapshot.js'
import type { Evidence, Limits, Scene, Stage, Step } from './stage.js'
import { act, becomes, stays } from './steps.js'

const NORTH = 'north'
const SOUTH = 'south'
const WEST = 'west'

const start = (limits: Limits): number => limits.startMs
const seen = (limits: Limits): number => limits.seenMs

const isEqual = (a: readonly string[], b: readonly string[]): boolean =>
  a.toSorted().join() === b.toSorted().join()

/** A claim about what is seen of the grids; false before anything is. */
const seenOf =
  (holds: (sites: SitesView) => boolean) =>
  ({ snapshot: { sites } }: Evidence): boolean =>
    sites !== undefined && holds(sites)

const haveSites = (...sites: readonly string[]): ((evidence: Evidence) => boolean) =>
  seenOf(({ deployments }) =>
    isEqual(
      deployments.map(({ name, site }) => `${name} on ${site}`),
      sites.map(site => `web-${site} on ${site}`),
    ),
  )

/** The same objects as when all of them were seen first. */
const untouched = (...sites: readonly string[]): ((evidence: Evidence) => boolean) => {
  let before: readonly SiteDeployment[] | undefined
  return seenOf(({ deployments }) => {
    const own = deployments.filter(({ site }) => sites.includes(site))
    if (own.length < sites.length) return false
    before ??= own
    return own.every(({ uid }, i) => uid === before?.[i]?.uid)
  })
}

const sentTo = (first: string, names: readonly string[], why: string): Step =>
  becomes(
    `kube-proxy on ${first} is sent the endpoints of ${names.join(', ')}: ${why}`,
    seen,
    seenOf(({ sent }) => sent !== undefined && isEqual(sent, names)),
  )

const moveAll = async (
  { sites }: Stage,
  names: readonly string[],
  site: string | undefined,
): Promise<void> => {
  for (const name of names) await sites.move(name, site)
}

/** Who is where: `lone` has a site of its own, and `mover`, one of the others, dies and moves. */
interface Cast {
  readonly names: readonly string[]
  readonly first: string
  readonly lone: string
  readonly mover: string
  readonly north: readonly string[]
  /** The northern ones without `mover`. */
  readonly stayed: readonly string[]
  /** The workloads of both sites are still the objects that they were at first. */
  readonly areSame: (evidence: Evidence) => boolean
}

const castOf = (mover: string, names: readonly string[]): Cast => {
  const [first = '', lone = ''] = names
  const north = names.filter(name => name !== lone)
  const stayed = north.filter(name => name !== mover)
  return { names, first, lone, mover, north, stayed, areSame: untouched(NORTH, SOUTH) }
}

const labelAll = async (stage: Stage, { north, lone }: Cast): Promise<void> => {
  await moveAll(stage, north, NORTH)
  await stage.sites.move(lone, SOUTH)
}

const fromNothing = (cast: Cast): readonly Step[] => [
  act(`${cast.lone} is labelled site=${SOUTH}, the others ${NORTH}`, stage =>
    labelAll(stage, cast),
  ),
  act(
    `controller of grids and wrapper of ${cast.first} start, the grids web are made`,
    async stage => {
      await stage.sites.start()
      await stage.sites.create()
    },
  ),
  becomes(
    'web-north and web-south are there, each for nodes of its site',
    start,
    evidence => haveSites(NORTH, SOUTH)(evidence) && cast.areSame(evidence),
  ),
  becomes(
    'the Service web-svc asks to stay in the site: topologyKeys ["site"]',
    seen,
    seenOf(({ topologyKeys }) => topologyKeys === '["site"]'),
  ),
  sentTo(cast.first, cast.north, 'its site'),
]

const nodeDies = ({ first, mover, north, stayed, areSame }: Cast): readonly Step[] => [
  act(`agent and kubelet of ${mover} are killed`, stage => stage.kill(mover)),
  sentTo(first, stayed, 'who lives in its site'),
  stays('a dead node takes no workload with it', areSame),
  act(`${mover} starts again`, stage => stage.restart(mover)),
  becomes('every /localinfo shows every node up', start, ({ snapshot }) => allSayUp(snapshot)),
  sentTo(first, north, 'its site'),
]

const nodeMoves = ({ first, mover, stayed }: Cast): readonly Step[] => [
  act(`${mover} moves to the new site ${WEST}`, stage => stage.sites.move(mover, WEST)),
  becomes('web-west is there', seen, haveSites(NORTH, SOUTH, WEST)),
  sentTo(first, stayed, `${mover} left its site`),
  act(`${mover} moves back`, stage => stage.sites.move(mover, NORTH)),
  becomes(
    `web-west went, ${GRACE_MS / 1_000} s after its last node`,
    limits => GRACE_MS + limits.seenMs,
    haveSites(NORTH, SOUTH),
  ),
]

const labelsGo = (cast: Cast): readonly Step[] => [
  act('all nodes lose the label', stage => moveAll(stage, cast.names, undefined)),
  becomes(
    'the grid says that it is held',
    seen,
    seenOf(({ isHeld }) => isHeld),
  ),
  stays(
    'nothing is deleted, whatever the grace',
    cast.areSame,
    limits => GRACE_MS + limits.quietMs,
  ),
  act('they have it again', stage => labelAll(stage, cast)),
  becomes(
    'the hold ends',
    seen,
    seenOf(({ isHeld }) => !isHeld),
  ),
  stays('web-north and web-south are the objects that they were', cast.areSame),
]

/** A Service that stays in its site, from nothing; what comes, dies and goes. */
export const gridsScene: Scene = {
  name: 'grids',
  proves: 'one template runs at every site, its traffic stays there, and nothing goes by mistake',
  targets: names => names.slice(2, 3),
  steps: ([mover = ''], names) => {
    const cast = castOf(mover, names)
    return [
      ...fromNothing(cast),
      ...nodeDies(cast),
      ...nodeMoves(cast),
      ...labelsGo(cast),
      act('controller and wrapper end', stage => stage.sites.stop()),
    ]
  },
}
