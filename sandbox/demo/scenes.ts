// SPDX-License-Identifier: Apache-2.0
import {
  CUT_TAINT,
  PEER_HEALTH,
  UNHEALTHY_ANNOTATION,
  UNREACHABLE_TAINT,
} from '../../core/marks.js'
import type { Vouch } from '../zone-node.js'
import type { SitesView } from './sites.js'
import {
  allKnowAll,
  allSayUp,
  effectsOf,
  isAnnotated,
  isClean,
  isReady,
  liveNodes,
  nodeOf,
  type NodeSnapshot,
  statusOf,
  othersSay,
  peerHealthReason,
  type ZoneSnapshot,
} from './snapshot.js'
import { gridsScene } from './grids-scene.js'
import type { Evidence, Limits, Scene, Stage, Step } from './stage.js'
import { act, becomes, stays } from './steps.js'

const start = (limits: Limits): number => limits.startMs
const seen = (limits: Limits): number => limits.seenMs
const written = (limits: Limits): number => limits.writtenMs

/** Exactly one agent wrote to the node, exactly once, and that was the annotation. */
const isOneWrite = (stage: Stage, name: string): boolean =>
  stage.writes().filter(write => write.node === name).length === 1 && stage.flips(name) === 1

const lastOf = (names: readonly string[]): readonly string[] => names.slice(-1)
const secondLastOf = (names: readonly string[]): readonly string[] => names.slice(-2, -1)
/** Its agents must not have seen it die lately, or flap damping keeps it down for a while. */
const firstOf = (names: readonly string[]): readonly string[] => names.slice(0, 1)
const secondOf = (names: readonly string[]): readonly string[] => names.slice(1, 2)

const seenDead = (name: string): Step =>
  becomes(`every other /localinfo shows ${name} down`, seen, ({ snapshot }) =>
    othersSay(snapshot, name, false),
  )
const annotated = (name: string): Step =>
  becomes(`${name} is annotated ${UNHEALTHY_ANNOTATION}=yes`, written, ({ snapshot }) =>
    isAnnotated(snapshot, name),
  )
const writtenOnce = (name: string): Step =>
  stays(
    'it was written once, by one writer',
    ({ snapshot, stage }) => isAnnotated(snapshot, name) && isOneWrite(stage, name),
  )
const seenAlive = (limitMs: (limits: Limits) => number): Step =>
  becomes('every /localinfo shows every node up', limitMs, ({ snapshot }) => allSayUp(snapshot))
const cleared = (name: string): Step =>
  becomes(
    `the annotation of ${name} is gone`,
    written,
    ({ snapshot }) => !isAnnotated(snapshot, name),
  )
const clean = (name: string): Step =>
  becomes(
    `${name} is Ready and carries no taint`,
    limits => limits.graceMs + limits.writtenMs,
    ({ snapshot }) => isClean(snapshot, name),
  )

const healthy: Scene = {
  name: 'healthy',
  proves: 'agents find each other and call every node up',
  targets: () => [],
  steps: (_targets, names) => [
    seenAlive(start),
    // Who is not known is not heard where identities are required.
    becomes('every agent knows the keys of every node', start, ({ snapshot }) =>
      allKnowAll(snapshot),
    ),
    becomes('every Node is Ready, without taint or annotation', start, ({ snapshot }) =>
      names.every(name => isClean(snapshot, name)),
    ),
  ],
}

const dies: Scene = {
  name: 'dies',
  proves: 'a dead node is seen by all and written once',
  targets: lastOf,
  steps: ([name = '']) => [
    act(`agent and kubelet of ${name} are killed`, stage => stage.kill(name)),
    seenDead(name),
    annotated(name),
    writtenOnce(name),
  ],
}

const returns: Scene = {
  name: 'returns',
  proves: 'a node that returns is seen by all and cleared once',
  after: 'dies',
  targets: lastOf,
  steps: ([name = '']) => [
    act(`${name} starts again`, stage => stage.restart(name)),
    seenAlive(start),
    cleared(name),
    stays(
      'it was cleared once, by one writer',
      ({ snapshot, stage }) => !isAnnotated(snapshot, name) && isOneWrite(stage, name),
    ),
    clean(name),
  ],
}

const freezes: Scene = {
  name: 'freezes',
  proves: 'a node that hangs (its ports still accept) is as dead as a killed one',
  targets: secondLastOf,
  steps: ([name = '']) => [
    act(`agent and kubelet of ${name} get SIGSTOP`, stage => stage.freeze(name)),
    seenDead(name),
    annotated(name),
    act(`${name} gets SIGCONT`, stage => stage.thaw(name)),
    seenAlive(start),
    cleared(name),
    clean(name),
  ],
}

const isUntainted = ({ snapshot }: Evidence, name: string): boolean =>
  isReady(snapshot, name, 'True') &&
  effectsOf(snapshot, name, UNREACHABLE_TAINT).length === 0 &&
  !isAnnotated(snapshot, name)

const cutVouched: Scene = {
  name: 'cut-vouched',
  proves: 'a node that only lost its cloud link keeps its pods: its peers vouch for it',
  targets: secondOf,
  steps: ([name = '']) => [
    act(`${name} loses the API, silently`, stage => stage.cut(name, 'silent')),
    becomes(
      `${name} has the taint ${CUT_TAINT}:NoSchedule and ${PEER_HEALTH}=CloudLinkCut`,
      limits => limits.graceMs + limits.writtenMs,
      ({ snapshot }) =>
        effectsOf(snapshot, name, CUT_TAINT).includes('NoSchedule') &&
        peerHealthReason(snapshot, name) === 'CloudLinkCut',
    ),
    stays(
      `${name} stays Ready and without unreachable taint past the grace time`,
      evidence => isUntainted(evidence, name) && othersSay(evidence.snapshot, name, true),
      limits => limits.graceMs + limits.quietMs,
    ),
    act(`the link of ${name} heals`, stage => stage.heal(name)),
    clean(name),
  ],
}

const cutUnvouched: Scene = {
  name: 'cut-unvouched',
  proves: 'the same without vouching: the control plane taints a healthy node',
  targets: secondOf,
  steps: ([name = ''], names) => [
    act('all agents restart with --vouch=off', stage => stage.restartAgents('off')),
    seenAlive(start),
    act(`${name} loses the API, silently`, stage => stage.cut(name, 'silent')),
    becomes(
      `${name} is Unknown and has both unreachable taints`,
      limits => limits.graceMs + limits.writtenMs,
      ({ snapshot }) =>
        isReady(snapshot, name, 'Unknown') &&
        effectsOf(snapshot, name, UNREACHABLE_TAINT).length === 2,
    ),
    becomes(
      `all the while its peers call it up, and its link cut`,
      limits => limits.graceMs + limits.writtenMs,
      ({ snapshot }) =>
        othersSay(snapshot, name, true) && statusOf(snapshot, name)?.class === 'cloud-link-cut',
    ),
    act(`the link of ${name} heals, all agents restart as before`, async stage => {
      stage.heal(name)
      await stage.restartAgents(stage.vouch)
    }),
    seenAlive(start),
    becomes('every Node is Ready and carries no taint', start, ({ snapshot }) =>
      names.every(each => isClean(snapshot, each)),
    ),
  ],
}

const isLinkGone = ({ snapshot }: Evidence): boolean =>
  liveNodes(snapshot).every(node => node.status?.cloudLink.state === 'cut')

const zoneCut: Scene = {
  name: 'zone-cut',
  proves: 'without any cloud the zone still knows who is dead, and writes nothing',
  targets: firstOf,
  steps: ([name = ''], names) => [
    act('the whole zone loses the API', stage => {
      for (const each of names) stage.cut(each, 'refused')
    }),
    becomes('every agent says that its cloud link is cut', limits => limits.startMs, isLinkGone),
    act(`agent and kubelet of ${name} are killed`, stage => stage.kill(name)),
    seenDead(name),
    stays(
      'nothing is written to any Node',
      ({ snapshot, stage }) => stage.writes().length === 0 && !isAnnotated(snapshot, name),
    ),
  ],
}

const zoneHeals: Scene = {
  name: 'zone-heals',
  proves: 'when the link is back the present truth is written, once',
  after: 'zone-cut',
  targets: firstOf,
  steps: ([name = ''], names) => [
    act('the link of the whole zone heals', stage => {
      for (const each of names) stage.heal(each)
    }),
    becomes(
      `${name} is annotated ${UNHEALTHY_ANNOTATION}=yes`,
      limits => limits.graceMs + limits.writtenMs,
      ({ snapshot }) => isAnnotated(snapshot, name),
    ),
    writtenOnce(name),
    becomes('all the others are Ready and carry no taint', start, ({ snapshot }) =>
      names.every(each => each === name || isClean(snapshot, each)),
    ),
    act(`${name} starts again`, stage => stage.restart(name)),
    seenAlive(start),
    clean(name),
  ],
}

const restDies: Scene = {
  name: 'most-die',
  proves: 'when most of the zone is gone nobody dares to condemn it',
  targets: names => names.slice(Math.ceil(names.length / 2) - 1),
  steps: (targets, names) => [
    act(`${targets.length} of ${names.length} nodes are killed`, async stage => {
      await Promise.all(targets.map(name => stage.kill(name)))
    }),
    becomes('the others show all of them down', seen, ({ snapshot }) =>
      targets.every(name => othersSay(snapshot, name, false)),
    ),
    stays(
      'nothing is written to any Node',
      ({ snapshot, stage }) =>
        stage.writes().length === 0 && targets.every(name => !isAnnotated(snapshot, name)),
      limits => limits.writtenMs / 2,
    ),
    becomes('the survivors say what holds them back', written, ({ snapshot }) =>
      targets.every(name => {
        const opinion = statusOf(snapshot, name)
        return opinion?.verdict === 'undecided' || (opinion?.guards.length ?? 0) > 0
      }),
    ),
  ],
}

/** All scenes in the order in which they are played. */
export const SCENES: readonly Scene[] = [
  healthy,
  dies,
  returns,
  freezes,
  cutVouched,
  cutUnvouched,
  zoneCut,
  zoneHeals,
  gridsScene,
  restDies,
]

/** The named scenes and those that must go before them, in order; all when none is named. */
export const chooseScenes = (names: readonly string[], vouch: Vouch): readonly Scene[] => {
  const wanted = new Set(
    names.length === 0 ? SCENES.map(scene => scene.name) : ['healthy', ...names],
  )
  for (const scene of SCENES.toReversed())
    if (scene.after !== undefined && wanted.has(scene.name)) wanted.add(scene.after)
  // These two compare vouching with its absence: they say nothing when the whole demo runs without it.
  if (names.length === 0 && vouch !== 'lease') wanted.delete('cut-vouched')
  return SCENES.filter(scene => wanted.has(scene.name))
}

const taintWords = (node: NodeSnapshot | undefined): string =>
  node?.object?.spec?.taints?.map(taint => `${taint.key}:${taint.effect}`).join(' ') ?? ''

const describeNode = (snapshot: ZoneSnapshot, name: string): string => {
  const node = nodeOf(snapshot, name)
  const says = (isUp: boolean): number =>
    liveNodes(snapshot).filter(other => other.localinfo?.get(name) === isUp).length
  const opinion = statusOf(snapshot, name)
  const verdict = opinion === undefined ? 'unknown' : `${opinion.verdict}, ${opinion.class}`
  const guards = opinion?.guards.map(guard => guard.kind).join(' ') ?? ''
  return (
    `${name} (${node?.state ?? 'unknown'}): up in ${says(true)} and down in ${says(false)} of ` +
    `${liveNodes(snapshot).length} /localinfo; verdict ${verdict}; guards [${guards}]; ` +
    `taints [${taintWords(node)}]; annotated ${isAnnotated(snapshot, name) ? 'yes' : 'no'}`
  )
}

const describeSites = ({ deployments, topologyKeys, isHeld, sent }: SitesView): string =>
  `grids: ${deployments.map(({ name, site }) => `${name} (site=${site})`).join(', ') || 'no Deployment'}; ` +
  `topologyKeys ${topologyKeys || 'none'}; ${isHeld ? 'held' : 'not held'}; ` +
  `kube-proxy is sent ${sent === undefined ? 'nothing' : `[${sent.join(' ')}]`}`

/** What was seen of these nodes and of grids, a line for each, for a person who wants to know why a claim broke. */
export const describe = (snapshot: ZoneSnapshot, names: readonly string[]): readonly string[] => [
  ...names.map(name => describeNode(snapshot, name)),
  ...(snapshot.sites === undefined ? [] : [describeSites(snapshot.sites)]),
]
