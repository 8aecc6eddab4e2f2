// SPDX-License-Identifier: Apache-2.0
// A chaos cell as data, and the player that walks through it while everything is watched.
import { systemClock, sleep } from '../../core/clock.js'
import type { NodeObject } from '../../sandbox/node-object.js'
import { type Asked, isForbidden, isNodeWrite } from './audit.js'
import type { Lab } from './lab.js'
import type { NodeState, View } from './observer.js'
import type { LabOptions } from './options.js'

/** How long things may take before a claim counts as broken, in ms: what is promised, with room for a small machine. */
export interface Limits {
  /** A change shows in every /localinfo. */
  readonly seenMs: number
  /** A change is written to the apiserver. */
  readonly writtenMs: number
  /** After healing every /localinfo is right. */
  readonly healedMs: number
  /** The control plane's patience, to the end of its next round. */
  readonly graceMs: number
  /** How long "nothing more happens" is watched. */
  readonly quietMs: number
}

export const limitsFor = ({ profile, graceMs, nodes }: LabOptions): Limits => {
  const isFast = profile === 'fast'
  const busyMs = nodes * 200
  return {
    seenMs: (isFast ? 5_000 : 12_000) + busyMs,
    writtenMs: (isFast ? 9_000 : 25_000) + busyMs,
    healedMs: 15_000 + busyMs,
    graceMs: graceMs + Math.min(5_000, graceMs / 10) + 3_000,
    quietMs: isFast ? 3_000 : 12_000,
  }
}

/** What a claim may look at. */
export interface Evidence {
  readonly view: View
  readonly lab: Lab
  /** Changes of Nodes by agents since the last fault, by the audit log. */
  readonly writes: readonly Asked[]
  readonly state: (name: string) => NodeState
}

export type Step =
  /** Something is done to the zone. */
  | { readonly kind: 'fault'; readonly what: string; do(lab: Lab): Promise<unknown> }
  /** Must come true within this time of the last fault. */
  | {
      readonly kind: 'becomes'
      readonly claim: string
      readonly withinMs: number
      holds(evidence: Evidence): boolean
    }
  /** Must be true now and stay so for this long. */
  | {
      readonly kind: 'stays'
      readonly claim: string
      readonly forMs: number
      holds(evidence: Evidence): boolean
    }

/** Who plays which part: names in an order that the seed drew. */
export type Roles = readonly string[]

export interface Cell {
  readonly name: string
  readonly shows: string
  /** A zone must have this many nodes for it. */
  readonly least: number
  /** Those whom the zone may condemn; everybody else must never be marked, and never be touched by a minority. */
  mayMark(roles: Roles): readonly string[]
  /** Those who must call each other up all the time. */
  sound(roles: Roles): readonly string[]
  steps(roles: Roles, limits: Limits): readonly Step[]
}

/** How a claim came out. */
export interface Claim {
  readonly claim: string
  readonly kind: 'becomes' | 'stays' | 'always'
  readonly ok: boolean
  /** From the last fault until it was true; how long it stayed true; or when it broke. */
  readonly ms: number
}

/** Something to show on the timeline. */
export interface Moment {
  /** Since the cell began, in ms. */
  readonly at: number
  readonly kind: 'fault' | 'claim' | 'write' | 'node' | 'broken'
  readonly node: string
  readonly text: string
}

/** One stretch of a node's life during which nothing about it changed. */
export interface Stretch extends NodeState {
  readonly from: number
}

export interface Played {
  readonly cell: string
  readonly shows: string
  readonly seed: number
  readonly ok: boolean
  readonly ms: number
  readonly claims: readonly Claim[]
  readonly moments: readonly Moment[]
  readonly stretches: Readonly<Record<string, readonly Stretch[]>>
  /** The last lines of those concerned, when it failed. */
  readonly logs: readonly string[]
}

const LOOK_MS = 150
const ALWAYS = 'all the while nobody who is well is marked or called down, and no call is denied'

const sameState = (a: NodeState, b: NodeState): boolean =>
  (Object.keys(b) as (keyof NodeState)[]).every(key => a[key] === b[key])

const markOf = (node: NodeObject | undefined): boolean =>
  node?.metadata.annotations?.['nodeunhealth'] === 'yes'

/** One cell while it is played. */
class Play {
  readonly #cell: Cell
  readonly #lab: Lab
  readonly #roles: Roles
  readonly #signal: AbortSignal
  readonly #trouble: () => string | undefined
  readonly #startedAt = performance.now()
  readonly #startedWall = Date.now()
  readonly #claims: Claim[] = []
  readonly #moments: Moment[] = []
  readonly #stretches: Record<string, Stretch[]> = {}
  #actedAt = performance.now()
  #askedFrom: number
  #heardFrom: number
  #broken: string | undefined

  constructor(
    cell: Cell,
    lab: Lab,
    roles: Roles,
    rules: { signal: AbortSignal; trouble: () => string | undefined },
  ) {
    this.#cell = cell
    this.#lab = lab
    this.#roles = roles
    this.#signal = rules.signal
    this.#trouble = rules.trouble
    this.#askedFrom = lab.observer.asked.length
    this.#heardFrom = this.#askedFrom
    lab.observer.onNode = (now, before) => this.#hear(now, before)
  }

  async run(limits: Limits): Promise<void> {
    for (const step of this.#cell.steps(this.#roles, limits)) {
      this.#signal.throwIfAborted()
      if (step.kind === 'fault') {
        this.#askedFrom = this.#lab.observer.asked.length
        this.#actedAt = performance.now()
        this.#note('fault', '', step.what)
        await step.do(this.#lab)
      } else if (!(await this.#judge(step))) break
    }
    this.#lab.observer.onNode = () => undefined
    if (this.#broken === undefined)
      this.#claims.push({ claim: ALWAYS, kind: 'always', ok: true, ms: this.#now })
  }

  result(seed: number): Played {
    const { name: cell, shows } = this.#cell
    const ok = this.#claims.every(claim => claim.ok)
    return {
      ...{ cell, shows, seed, ok, ms: Math.round(this.#now) },
      claims: this.#claims,
      moments: this.#moments.toSorted((a, b) => a.at - b.at),
      stretches: this.#stretches,
      logs: ok ? [] : this.#logs(),
    }
  }

  get #now(): number {
    return performance.now() - this.#startedAt
  }

  async #judge(step: Exclude<Step, { kind: 'fault' }>): Promise<boolean> {
    const { claim, kind } = step
    const startedAt = performance.now()
    for (;;) {
      const evidence = await this.#look()
      const sinceAct = performance.now() - this.#actedAt
      const since = kind === 'stays' ? performance.now() - startedAt : sinceAct
      if (this.#broken !== undefined) {
        this.#claims.push({ claim: this.#broken, kind: 'always', ok: false, ms: sinceAct })
        return false
      }
      const isTrue = step.holds(evidence)
      const isOver = since > (kind === 'stays' ? step.forMs : step.withinMs)
      const verdict = kind === 'stays' ? (isTrue ? isOver : false) : isTrue
      const isSettled = kind === 'stays' ? !isTrue || isOver : isTrue || isOver
      if (isSettled) {
        this.#claims.push({ claim, kind, ok: verdict, ms: Math.round(since) })
        this.#note(verdict ? 'claim' : 'broken', '', claim)
        return verdict
      }
      await sleep(systemClock, LOOK_MS, this.#signal)
      this.#signal.throwIfAborted()
    }
  }

  async #look(): Promise<Evidence> {
    const { observer } = this.#lab
    const view = await observer.look()
    for (const one of observer.asked.slice(this.#heardFrom)) this.#hearAsked(one)
    this.#heardFrom = observer.asked.length
    const at = Math.round(this.#now)
    for (const [name, state] of view.states) {
      const own = (this.#stretches[name] ??= [])
      const last = own.at(-1)
      if (last === undefined || !sameState(last, state)) own.push({ from: at, ...state })
    }
    this.#checkSound(view)
    const trouble = this.#trouble()
    if (trouble !== undefined) this.#break(trouble)
    return {
      view,
      lab: this.#lab,
      writes: observer.asked.slice(this.#askedFrom).filter(isNodeWrite),
      state: name => view.states.get(name)!,
    }
  }

  #checkSound(view: View): void {
    const sound = new Set(this.#cell.sound(this.#roles))
    for (const by of view.nodes) {
      if (!sound.has(by.name)) continue
      for (const [name, isUp] of by.localinfo ?? [])
        if (!isUp && name !== by.name && sound.has(name))
          this.#break(`${by.name} calls ${name} down, which is well`)
    }
  }

  #hearAsked(asked: Asked): void {
    const at = Math.round(asked.wall - this.#startedWall)
    if (isForbidden(asked)) {
      this.#break(`denied (${asked.code}): ${asked.verb} ${asked.path} by ${asked.by}`)
      return
    }
    if (isNodeWrite(asked)) {
      const text = `${asked.verb} ${asked.resource} by ${asked.by}`
      this.#moments.push({ at, kind: 'write', node: asked.name, text })
    }
  }

  #hear(now: NodeObject, before: NodeObject | undefined): void {
    const { name } = now.metadata
    if (markOf(now) === markOf(before)) return
    this.#note('node', name, markOf(now) ? 'marked nodeunhealth' : 'mark taken off')
    if (markOf(now) && !this.#cell.mayMark(this.#roles).includes(name))
      this.#break(`${name} is marked nodeunhealth, and is well`)
  }

  #note(kind: Moment['kind'], node: string, text: string): void {
    this.#moments.push({ at: Math.round(this.#now), kind, node, text })
  }

  #break(what: string): void {
    if (this.#broken !== undefined) return
    this.#broken = what
    this.#note('broken', '', what)
  }

  #logs(): readonly string[] {
    return this.#lab.names.flatMap(name => [
      `agent on ${name}:`,
      ...this.#lab
        .node(name)
        .agentLines(15)
        .map(line => `  ${line}`),
    ])
  }
}

/** Play a cell on a zone in which all is well. */
export const playCell = async (
  cell: Cell,
  lab: Lab,
  how: {
    readonly roles: Roles
    readonly seed: number
    readonly limits: Limits
    readonly signal: AbortSignal
    readonly trouble: () => string | undefined
  },
): Promise<Played> => {
  const play = new Play(cell, lab, how.roles, how)
  await play.run(how.limits)
  return play.result(how.seed)
}
