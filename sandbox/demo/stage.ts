// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { NodeWrite } from '../node-writes.js'
import type { Vouch } from '../zone-node.js'
import type { Sites } from './sites.js'
import type { ZoneSnapshot } from './snapshot.js'

/** Time limits of claims, in ms. */
export interface Limits {
  /** Until all agents are up and know that all nodes are healthy. */
  readonly startMs: number
  /** Until a change shows in every /localinfo. */
  readonly seenMs: number
  /** Until a change is written to the API. */
  readonly writtenMs: number
  /** The control plane's grace period for a silent node, to the end of its next round. */
  readonly graceMs: number
  /** How long "nothing more happens" is observed. */
  readonly quietMs: number
}

/** What scenes can do to the zone, and observe of it. */
export interface Stage {
  readonly names: readonly string[]
  readonly limits: Limits
  /** How the agents vouch unless a scene says otherwise. */
  readonly vouch: Vouch
  /** Grids, their controller and the first node's wrapper. */
  readonly sites: Sites
  look(): Promise<ZoneSnapshot>
  kill(name: string): Promise<void>
  restart(name: string): void
  freeze(name: string): void
  thaw(name: string): void
  cut(name: string, how: 'refused' | 'silent'): void
  heal(name: string): void
  restartAgents(vouch: Vouch): Promise<void>
  /** Agents' changes of Nodes since the last `mark`. */
  writes(): readonly NodeWrite[]
  /** How often the annotation of a node came or went since the last `mark`. */
  flips(name: string): number
  /** Count writes and flips from here. */
  mark(): void
  /** Why a process failed; undefined while none has. */
  trouble(): string | undefined
}

/** The inputs of a claim. */
export interface Evidence {
  readonly snapshot: ZoneSnapshot
  readonly stage: Stage
}

/** One step of a scene. Time is measured from the last `act`. */
export type Step =
  | { readonly kind: 'act'; readonly what: string; act(stage: Stage): Promise<void> | void }
  /** Must come true in time. */
  | {
      readonly kind: 'becomes'
      readonly claim: string
      limitMs(limits: Limits): number
      holds(evidence: Evidence): boolean
    }
  /** Must be true now and stay so, until this long after the last `act` or for this long, whichever is later. */
  | {
      readonly kind: 'stays'
      readonly claim: string
      untilMs(limits: Limits): number
      forMs(limits: Limits): number
      holds(evidence: Evidence): boolean
    }

/** A scene: actions and claims. */
export interface Scene {
  readonly name: string
  readonly proves: string
  /** The scene that must have been played just before. */
  readonly after?: string
  /** Nodes that it acts on; their agents' last log lines are shown when it fails. */
  targets(names: readonly string[]): readonly string[]
  steps(targets: readonly string[], names: readonly string[]): readonly Step[]
}

/** The outcome of one claim. */
export interface ClaimResult {
  readonly scene: string
  readonly claim: string
  readonly ok: boolean
  /** Time from the last action until it became true, how long it stayed true, or when it failed. */
  readonly ms: number
  readonly kind: 'becomes' | 'stays'
}

/** Receives what happens, to display it. */
export interface Audience {
  scene(scene: Scene): void
  act(what: string): void
  claim(result: ClaimResult): void
  /** Called at every look. */
  see(snapshot: ZoneSnapshot): void
}

interface Seams {
  readonly clock: Clock
  readonly audience: Audience
  readonly signal: AbortSignal
  readonly lookPeriodMs: number
}

const wait = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel()
      reject(signal.reason as Error)
    }
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    signal.addEventListener('abort', stop, { once: true })
  })

type Claim = Extract<Step, { claim: string }>

/** Judge one observation: undefined to go on observing, else the claim's result. */
const settle = (
  step: Claim,
  isTrue: boolean,
  times: { sinceAct: number; sinceClaim: number },
  limits: Limits,
): 'wait' | 'ok' | 'broken' => {
  if (step.kind === 'becomes') {
    if (isTrue) return 'ok'
    return times.sinceAct > step.limitMs(limits) ? 'broken' : 'wait'
  }
  if (!isTrue) return 'broken'
  const isOver = times.sinceAct >= step.untilMs(limits) && times.sinceClaim >= step.forMs(limits)
  return isOver ? 'ok' : 'wait'
}

/**
 * Play a scene up to the first claim that fails. Rejects with the signal's reason when interrupted.
 * @returns every claim that was checked
 */
export const play = async (
  scene: Scene,
  stage: Stage,
  seams: Seams,
): Promise<readonly ClaimResult[]> => {
  const { clock, audience, signal } = seams
  const results: ClaimResult[] = []
  let actedAt = clock.now()

  const judge = async (step: Claim): Promise<ClaimResult> => {
    const startedAt = clock.now()
    for (;;) {
      signal.throwIfAborted()
      const snapshot = await stage.look()
      audience.see(snapshot)
      const now = clock.now()
      const times = { sinceAct: now - actedAt, sinceClaim: now - startedAt }
      const isTrue = stage.trouble() === undefined && step.holds({ snapshot, stage })
      const verdict = settle(step, isTrue, times, stage.limits)
      const isHopeless = stage.trouble() !== undefined
      if (verdict !== 'wait' || isHopeless) {
        const { kind, claim } = step
        return {
          scene: scene.name,
          claim,
          kind,
          ok: verdict === 'ok',
          ms: Math.round(times.sinceAct),
        }
      }
      await wait(clock, seams.lookPeriodMs, signal)
    }
  }

  audience.scene(scene)
  stage.mark()
  for (const step of scene.steps(scene.targets(stage.names), stage.names)) {
    signal.throwIfAborted()
    if (step.kind === 'act') {
      audience.act(step.what)
      stage.mark()
      actedAt = clock.now()
      await step.act(stage)
      continue
    }
    const result = await judge(step)
    results.push(result)
    audience.claim(result)
    if (!result.ok) break
  }
  return results
}
