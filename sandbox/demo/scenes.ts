// SPDX-License-Identifier: Apache-2.0
import type { Vouch } from '../zone-node.js'
import { cutUnvouched, cutVouched, zoneCut, zoneHeals } from './cut-scenes.js'
import { allKnowAll, isAnnotated, isClean, othersSay, statusOf } from './snapshot.js'
import { gridsScene } from './grids-scene.js'
import type { Scene } from './stage.js'
import { act, becomes, stays } from './steps.js'
import {
  annotated,
  clean,
  cleared,
  isOneWrite,
  seen,
  seenAlive,
  seenDead,
  start,
  written,
  writtenOnce,
} from './zone-steps.js'

const lastOf = (names: readonly string[]): readonly string[] => names.slice(-1)
const secondLastOf = (names: readonly string[]): readonly string[] => names.slice(-2, -1)
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
