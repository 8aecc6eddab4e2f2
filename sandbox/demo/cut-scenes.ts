// SPDX-License-Identifier: Apache-2.0
// Scenes in which links to the API are cut.
import {
  CUT_TAINT,
  PEER_HEALTH,
  UNHEALTHY_ANNOTATION,
  UNREACHABLE_TAINT,
} from '../../core/marks.js'
import {
  effectsOf,
  isAnnotated,
  isClean,
  isReady,
  liveNodes,
  othersSay,
  peerHealthReason,
  statusOf,
} from './snapshot.js'
import type { Evidence, Scene } from './stage.js'
import { act, becomes, stays } from './steps.js'
import { clean, seenAlive, seenDead, start, writtenOnce } from './zone-steps.js'

/** Its agents must not have seen it die lately, or flap damping keeps it down for a while. */
const firstOf = (names: readonly string[]): readonly string[] => names.slice(0, 1)
const secondOf = (names: readonly string[]): readonly string[] => names.slice(1, 2)

const isUntainted = ({ snapshot }: Evidence, name: string): boolean =>
  isReady(snapshot, name, 'True') &&
  effectsOf(snapshot, name, UNREACHABLE_TAINT).length === 0 &&
  !isAnnotated(snapshot, name)

export const cutVouched: Scene = {
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

export const cutUnvouched: Scene = {
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

export const zoneCut: Scene = {
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

export const zoneHeals: Scene = {
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
