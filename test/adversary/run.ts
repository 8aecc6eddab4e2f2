// SPDX-License-Identifier: Apache-2.0
import { drawSequence, KINDS, wordsOf, type Kind, type Sequence } from './acts.js'
import { Guards } from './guards.js'
import { GUARDS, type Breach, type Guard } from './guards/words.js'
import { Zone, type Signing } from './zone.js'

/** How one sequence went. */
export interface Outcome {
  readonly breaches: readonly Breach[]
  /** Acts that could be done. */
  readonly acts: ReadonlyMap<Kind, number>
  readonly guards: ReadonlyMap<Guard, number>
  /** From the end of the attack: until the dead were marked, and from their return until all was well; ms. */
  readonly markedMs: number | undefined
  readonly wellMs: number | undefined
}

const markedBound = (size: number): number => (size === 2 ? 60_000 : 25_000)
const WELL_MS = 40_000
/** After everything is mended, before a death is asked for. */
const CALM_MS = 3_000

/** All is mended but some deaths, no more than are marked at one time. Returns whom the zone must mark. */
const calm = (zone: Zone): string[] => {
  const { world, size } = zone
  zone.mendNetwork()
  zone.mendCloud()
  const most = Math.max(1, Math.floor(0.4 * size))
  const dead = world.indices.filter(index => {
    const { isOn, isMember } = world.machine(index)
    return (
      !isOn && isMember && !zone.moved.has(index) && world.machine(index).impostor === undefined
    )
  })
  const kept = dead.slice(0, size < 3 ? 0 : most)
  for (const index of world.indices) if (!kept.includes(index)) zone.mend(index)
  return kept.map(index => world.machine(index).name)
}

/** Play a sequence, then mend everything: whoever is dead then must be marked, and cleared after the return. */
export const playSequence = async (sequence: Sequence, identity?: Signing): Promise<Outcome> => {
  const zone = new Zone(sequence, identity)
  const guards = new Guards(zone)
  const acts = new Map<Kind, number>()
  zone.onStep = () => guards.look()
  const { world } = zone
  await zone.begin()
  for (const act of sequence.acts)
    if (await zone.perform(act)) acts.set(act.kind, (acts.get(act.kind) ?? 0) + 1)
  const dead = calm(zone)
  await zone.run(CALM_MS)
  if (dead.length === 0) {
    const victim = sequence.seed % sequence.size
    await zone.run(sequence.size === 2 ? 15_000 : 4_000)
    world.crash(victim)
    dead.push(world.machine(victim).name)
  }
  // Who was refused may not write before its wait is over, half a minute at most: the guard `patient` holds it to that.
  const bound = markedBound(sequence.size) + zone.apiWaitMs()
  const isMarked = (): boolean => dead.every(name => world.condemned().includes(name))
  const markedMs = await zone.until(isMarked, bound)
  const late = `${dead.join()} not marked within ${bound} ms, but ${world.condemned().join()}`
  guards.note('dead-marked', markedMs === undefined ? late : undefined)
  for (const index of world.indices) zone.mend(index)
  const wellMs = await zone.until(() => world.condemned().length === 0 && world.allSee(), WELL_MS)
  const views = world.indices.map(index => `n${index} calls down ${world.downFrom(index).join()}`)
  const ill = `${world.condemned().join()} still marked after ${WELL_MS} ms; ${views.join('; ')}`
  guards.note('well-again', wellMs === undefined ? ill : undefined)
  guards.stop()
  await world.stop()
  return { breaches: guards.breaches, acts, guards: guards.counts, markedMs, wellMs }
}

/** Whether this sequence breaks a guard: of these, or any. */
const breaks = async (
  sequence: Sequence,
  guard: Guard,
  identity?: Signing,
): Promise<Breach | undefined> =>
  (await playSequence(sequence, identity)).breaches.find(breach => breach.guard === guard)

/** The same breach with fewer acts: halves go first, then single ones, until none can be spared. */
export const shrink = async (
  sequence: Sequence,
  breach: Breach,
  identity?: Signing,
): Promise<[Sequence, Breach]> => {
  let smallest: [Sequence, Breach] = [sequence, breach]
  for (let width = Math.ceil(sequence.acts.length / 2); width >= 1; width = Math.floor(width / 2)) {
    for (let from = 0; from < smallest[0].acts.length;) {
      const acts = smallest[0].acts.filter((_, place) => place < from || place >= from + width)
      const less = { ...smallest[0], acts }
      const still = await breaks(less, breach.guard, identity)
      if (still === undefined) from += width
      else smallest = [less, still]
    }
  }
  return smallest
}

/** A failure as a person reads it. */
export const describe = ([sequence, breach]: readonly [Sequence, Breach]): string =>
  [
    `seed ${sequence.seed}: ${GUARDS[breach.guard]} (${breach.guard})`,
    `  seen at ${breach.at} ms: ${breach.what}`,
    `  ${sequence.size} nodes${sequence.portless < 0 ? '' : `, n${sequence.portless}'s kubelet has no healthz port`}`,
    ...sequence.acts.map(act => `  - ${wordsOf(act)}`),
  ].join('\n')

/** What many sequences came to. */
export interface Report {
  readonly sequences: number
  readonly acts: ReadonlyMap<Kind, number>
  readonly guards: ReadonlyMap<Guard, number>
  /** The first breach of each guard. */
  readonly failures: readonly (readonly [Sequence, Breach])[]
  /** Breaches by guard. */
  readonly broken: ReadonlyMap<Guard, number>
  /** All of them, as `seed:guard`. */
  readonly breaches: readonly string[]
  readonly markedMs: readonly number[]
  readonly wellMs: readonly number[]
}

interface Course {
  /** Ends the run early. */
  readonly isEnough?: (failure: readonly [Sequence, Breach]) => boolean
  /** Breaches that do not count, as `seed:guard`. */
  readonly except?: readonly string[]
  readonly identity?: Signing | undefined
}

const addAll = <K>(sum: Map<K, number>, more: ReadonlyMap<K, number>): void => {
  for (const [key, count] of more) sum.set(key, (sum.get(key) ?? 0) + count)
}

/** Play these seeds one after the other. */
export const playSeeds = async (
  seeds: Iterable<number>,
  { isEnough = () => false, except = [], identity }: Course = {},
): Promise<Report> => {
  const acts = new Map<Kind, number>(KINDS.map(kind => [kind, 0]))
  const guards = new Map<Guard, number>((Object.keys(GUARDS) as Guard[]).map(guard => [guard, 0]))
  const broken = new Map<Guard, number>()
  const failures: (readonly [Sequence, Breach])[] = []
  const breaches: string[] = []
  const markedMs: number[] = []
  const wellMs: number[] = []
  let sequences = 0
  for (const seed of seeds) {
    const sequence = drawSequence(seed)
    const outcome = await playSequence(sequence, identity)
    sequences++
    addAll(acts, outcome.acts)
    addAll(guards, outcome.guards)
    if (outcome.markedMs !== undefined) markedMs.push(outcome.markedMs)
    if (outcome.wellMs !== undefined) wellMs.push(outcome.wellMs)
    let isOver = false
    for (const guard of new Set(outcome.breaches.map(breach => breach.guard))) {
      if (except.includes(`${seed}:${guard}`)) continue
      breaches.push(`${seed}:${guard}`)
      const breach = outcome.breaches.find(each => each.guard === guard)!
      if (!broken.has(guard)) failures.push([sequence, breach])
      broken.set(guard, (broken.get(guard) ?? 0) + 1)
      isOver ||= isEnough([sequence, breach])
    }
    if (isOver) break
  }
  return { sequences, acts, guards, failures, breaches, broken, markedMs, wellMs }
}
