// SPDX-License-Identifier: Apache-2.0
// The player: walks through a cell's steps while everything is watched.
import { systemClock, sleep } from '../../core/clock.js'
import type { NodeObject } from '../../sandbox/node-object.js'
import { type Asked, isForbidden, isNodeWrite } from './audit.js'
import {
  type Cell,
  type Claim,
  type Evidence,
  isBroken,
  type Limits,
  type Moment,
  type Played,
  type Roles,
  type Step,
  type Stretch,
  zoneOf,
} from './cell.js'
import type { Lab } from './lab.js'
import type { NodeState, View } from './observer.js'
import { FairTime } from './slowness.js'
import { type NodeTraffic, trafficBetween, type ZoneReading } from './zone-meter.js'

const LOOK_MS = 150
const LONG_MS = 1_000
const ALWAYS = 'all the while nobody who is well is marked or called down, and no call is denied'

const sameState = (a: NodeState, b: NodeState): boolean =>
  (Object.keys(b) as (keyof NodeState)[]).every(key => a[key] === b[key])

const markOf = (node: NodeObject | undefined): boolean =>
  node?.metadata.annotations?.['nodeunhealth'] === 'yes'

type Claimed = Exclude<Step, { kind: 'fault' }>

/** A slow machine is given time for what must come true; what is watched or measured goes by the clock. */
const isOverTime = (step: Claimed, at: { sinceMs: number; spentMs: number }): boolean => {
  if (step.kind === 'becomes') return at.spentMs > step.withinMs
  return at.sinceMs > (step.kind === 'stays' ? step.forMs : step.withinMs)
}

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
  readonly #begunFrom: number
  #actedWall = Date.now()
  #heardFrom: number
  #broken: string | undefined
  readonly #trafficFrom: ZoneReading | undefined
  #faultsOfOther = 0
  /** Since the last fault. */
  readonly #patience = new FairTime()

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
    this.#begunFrom = lab.observer.asked.length
    this.#heardFrom = this.#begunFrom
    this.#trafficFrom = lab.meter?.reading
    lab.observer.onNode = (now, before) => this.#hear(now, before)
  }

  async run(limits: Limits): Promise<void> {
    for (const step of this.#cell.steps(this.#roles, limits)) {
      this.#signal.throwIfAborted()
      if (step.kind === 'fault') {
        this.#actedWall = Date.now()
        this.#actedAt = performance.now()
        this.#note('fault', '', step.what)
        await this.#watchWhile(step.do(this.#lab))
        // What takes long has its effect when it is over.
        if (performance.now() - this.#actedAt > LONG_MS) this.#actedAt = performance.now()
        this.#patience.restart(this.#actedAt)
      } else if (!(await this.#judge(step))) break
    }
    this.#lab.observer.onNode = () => undefined
    if (this.#broken === undefined)
      this.#claims.push({ claim: ALWAYS, kind: 'always', ok: true, ms: this.#now })
  }

  result(seed: number): Played {
    const { name: cell, shows } = this.#cell
    const zone = zoneOf(this.#lab.settings)
    const ok = !this.#claims.some(isBroken)
    return {
      ...{ zone, cell, shows, seed, ok, ms: Math.round(this.#now) },
      claims: this.#claims,
      moments: this.#moments.toSorted((a, b) => a.at - b.at),
      stretches: this.#stretches,
      notes: [...this.#ownNotes, ...this.#patience.notes],
      lanes: this.#cell.lanes?.(this.#roles, this.#lab, this.#startedAt) ?? [],
      units: this.#cell.units?.(this.#roles, this.#lab, this.#startedAt) ?? [],
      traffic: this.#traffic,
      logs: ok ? [] : this.#logs(),
    }
  }

  get #ownNotes(): readonly string[] {
    const notes = this.#cell.notes?.(this.#roles, this.#lab) ?? []
    const count = this.#faultsOfOther
    return count === 0
      ? notes
      : [...notes, `the other version asked for what no apiserver has, ${count} times`]
  }

  get #traffic(): readonly NodeTraffic[] {
    const { meter } = this.#lab
    if (meter === undefined || this.#trafficFrom === undefined) return []
    return trafficBetween(this.#trafficFrom, meter.reading, this.#now / 1_000)
  }

  get #now(): number {
    return performance.now() - this.#startedAt
  }

  /** What is done may take its time; nothing goes unseen meanwhile. */
  async #watchWhile(work: Promise<unknown>): Promise<void> {
    const busy = new Set([work])
    const done = work.finally(() => busy.clear())
    while (busy.size > 0) {
      await Promise.race([done, sleep(systemClock, LOOK_MS, this.#signal)])
      if (busy.size > 0) await this.#look()
    }
    await done
  }

  async #judge(step: Claimed): Promise<boolean> {
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
      const spentMs = this.#patience.spentAt(performance.now())
      const isOver = isOverTime(step, { sinceMs: since, spentMs })
      if (isTrue !== (kind === 'stays') || isOver) {
        const one = { claim, kind, ok: isTrue, ms: Math.round(since) }
        this.#claims.push(one)
        this.#note(isBroken(one) ? 'broken' : 'claim', '', isTrue ? claim : `not: ${claim}`)
        return !isBroken(one)
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
    // The log may tell of a write from before the fault after it.
    const asked = observer.asked.slice(this.#begunFrom)
    const allWrites = asked.filter(isNodeWrite)
    return {
      view,
      lab: this.#lab,
      asked,
      writes: allWrites.filter(({ wall }) => wall >= this.#actedWall),
      allWrites,
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
    const { observer } = this.#lab
    if (observer.isFaultOfOther(asked)) {
      this.#faultsOfOther++
      return
    }
    if (isForbidden(asked) && asked.wall >= observer.warmSince) {
      this.#break(
        `denied (${asked.code}): ${asked.verb} ${asked.path} by ${asked.by}: ${asked.message}`,
      )
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
    const agents = this.#lab.names.flatMap(name => [
      `agent on ${name}:`,
      ...this.#lab
        .node(name)
        .agentLines(15)
        .map(line => `  ${line}`),
    ])
    return [...agents, ...this.#lab.proxies.proxied.flatMap(node => node.lastLines(15))]
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
    /** So long nothing happens: the fault meets the agents' rounds at any phase. */
    readonly delayMs: number
    readonly signal: AbortSignal
    readonly trouble: () => string | undefined
  },
): Promise<Played> => {
  const play = new Play(cell, lab, how.roles, how)
  await sleep(systemClock, how.delayMs, how.signal)
  await play.run(how.limits)
  return play.result(how.seed)
}
