// SPDX-License-Identifier: Apache-2.0
import type { Attempt, CheckPlugin, ProbeResult, Target } from '../../core/check.js'
import type { Clock } from '../../core/clock.js'

/** What one attempt meets: nothing, or a result after so many milliseconds. */
export type Scene = 'silence' | { readonly afterMs: number; readonly result: ProbeResult }

export const answer = (afterMs = 1): Scene => ({ afterMs, result: { kind: 'success' } })
export const refusal = (reason = 'connection refused', afterMs = 1): Scene => ({
  afterMs,
  result: { kind: 'failure', reason },
})
export const trouble = (reason = 'EMFILE', afterMs = 1): Scene => ({
  afterMs,
  result: { kind: 'unknown', reason },
})

/** One attempt as the plugin saw it. */
export interface Seen {
  readonly at: number
  readonly target: Target
  readonly reuse: boolean
}

/** A plugin whose answers a test writes; it knows which attempts are still open. */
export class ScriptedPlugin implements CheckPlugin {
  readonly name: string
  readonly weight: number
  readonly reachesNode = true
  readonly seen: Seen[] = []
  /** Attempts that have no answer yet and were not aborted. */
  open = 0
  readonly #clock: Clock
  readonly #script: (target: Target, count: number) => Scene

  /** `count` is how many attempts that target had before. */
  constructor(
    clock: Clock,
    script: (target: Target, count: number) => Scene,
    { name = 'probe', weight = 1_000_000 } = {},
  ) {
    this.name = name
    this.weight = weight
    this.#clock = clock
    this.#script = script
  }

  /** When the attempts against one target began. */
  timesOf(name: string): number[] {
    return this.seen.filter(({ target }) => target.name === name).map(({ at }) => at)
  }

  probe(target: Target, { signal, reuse }: Attempt): Promise<ProbeResult> {
    const count = this.timesOf(target.name).length
    this.seen.push({ at: this.#clock.now(), target, reuse })
    this.open++
    const scene = this.#script(target, count)
    return new Promise(resolve => {
      const end = (result: ProbeResult): void => {
        cancel()
        signal.removeEventListener('abort', cut)
        this.open--
        resolve(result)
      }
      const cut = (): void => end({ kind: 'failure', reason: 'no answer' })
      const cancel =
        scene === 'silence'
          ? () => undefined
          : this.#clock.after(scene.afterMs, () => end(scene.result))
      signal.addEventListener('abort', cut, { once: true })
    })
  }
}
