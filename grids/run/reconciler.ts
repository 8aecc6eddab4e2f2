// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { EventRecorder } from '../../controller/event-recorder.js'
import type { WorkResult } from '../../controller/work-queue.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { WriteGuard } from '../../kube/client/write.js'
import { decideGrid, type Decision } from '../model/decide.js'
import type { Grid } from '../model/grid.js'
import { goneAtOnce } from '../model/guard.js'
import { unitOfLive, type LiveChild } from '../model/live.js'
import type { GridPlan } from '../model/plan.js'
import {
  heldMessage,
  invalidStatus,
  nextStatus,
  type ChildState,
  type UnitFailure,
} from '../model/status.js'
import { statesAfter } from './after-writes.js'
import { Batch } from './batch.js'
import type { Counters } from './counters.js'
import { dueOperations } from './due-operations.js'
import { Executor } from './executor.js'
import { GridMemory } from './grid-memory.js'
import type { GridRecord } from './grid-record.js'
import type { WriteLimiter } from './write-limiter.js'
import { Planner } from './planner.js'
import { readUnits } from './read-units.js'
import { DOUBT_MS, resultOf, resultOfStatus, SEEN_MS } from './result.js'
import { StatusWriter, type StatusResult } from './status-writer.js'
import type { Tables } from './tables.js'
import { GridEvents } from './grid-events.js'

export interface ReconcilerSeams {
  readonly client: Pick<
    ResourceClient,
    'apply' | 'patch' | 'delete' | 'list' | 'serverTime' | 'storeTrouble'
  >
  readonly clock: Clock
  readonly log: Logger
  readonly tables: Tables
  readonly events: Pick<EventRecorder, 'record'>
  readonly limiter: WriteLimiter
  readonly counters: Counters
  /** Why nothing may be written now; undefined when it may. */
  readonly guard: WriteGuard
}

export interface ReconcilerOptions {
  /** How long a unit must be gone before its children are deleted. */
  readonly graceMs: number
}

/** With more operations than this, a status is written before they begin too, since they take a while. */
const MANY = 32

/** A grid as of its last reconciliation, for metrics. */
export interface GridState {
  /** Of the grid's spec, as the apiserver counts. */
  readonly generation: number
  readonly isHeld: boolean
  readonly isInvalid: boolean
  readonly failed: number
}

/** What one reconciliation of a grid has at hand. */
interface Pass {
  readonly record: GridRecord
  readonly memory: GridMemory
  readonly guard: WriteGuard
  readonly signal: AbortSignal
}

/** Makes a grid's children what the grid wants, and writes the grid's status. */
export class Reconciler {
  readonly #seams: ReconcilerSeams
  readonly #options: ReconcilerOptions
  readonly #planner: Planner
  readonly #executor: Executor
  readonly #status: StatusWriter
  readonly #gridEvents: GridEvents
  readonly #memories = new Map<string, GridMemory>()
  readonly #states = new Map<string, GridState>()

  constructor(options: ReconcilerOptions, seams: ReconcilerSeams) {
    this.#options = options
    this.#seams = seams
    this.#planner = new Planner(seams.tables)
    this.#executor = new Executor(seams)
    this.#status = new StatusWriter(seams)
    this.#gridEvents = new GridEvents(seams.events)
  }

  get states(): readonly GridState[] {
    return [...this.#states.values()]
  }

  stateOf(key: string): GridState | undefined {
    return this.#states.get(key)
  }

  /** Reconcile one grid once. */
  async reconcile(key: string, signal: AbortSignal): Promise<WorkResult> {
    const { clock, counters } = this.#seams
    const startedAt = clock.now()
    const result = await this.#reconcile(key, signal)
    counters.durations.add((clock.now() - startedAt) / 1_000)
    counters.reconciles.add(result.kind)
    return result
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult> {
    const { tables } = this.#seams
    const record = tables.grid(key)
    if (record === undefined) {
      this.#forget(key)
      return { kind: 'done' }
    }
    const { reading, isDeleting } = record
    const memory = this.#memoryOf(record)
    // The tables may be from another store.
    if (this.#seams.client.storeTrouble() !== undefined) return { kind: 'done', againMs: DOUBT_MS }
    if (!memory.isSettled((kind, version) => tables.hasReached(kind, version)))
      return { kind: 'done', againMs: SEEN_MS }
    if (isDeleting || !reading.ok) tables.giveUp(key)
    // The garbage collector deletes its children.
    if (isDeleting) return { kind: 'done' }
    const pass = { record, memory, signal, guard: this.#guardOf(record) }
    if (!reading.ok) return this.#invalid(pass, reading.trouble)
    return this.#valid(pass, reading.grid)
  }

  async #valid(pass: Pass, grid: Grid): Promise<WorkResult> {
    const { tables } = this.#seams
    const { record, memory } = pass
    memory.tidy()
    const plan = this.#planner.planOf(record, grid)
    const promised = tables.want(record, plan)
    const { graceMs } = this.#options
    const { goneUnits } = memory
    const { removed, agreed } = goneUnits
    const lives = tables.livesFor(plan)
    const decision = decideGrid({
      ...{ plan, lives, now: this.#now() },
      ...{ graceMs, removed, agreed, readings: this.#planner.readings },
    })
    goneUnits.look(decision, graceMs, heldMessage(record.status) !== undefined)
    const { operations, failures, waitMs } = dueOperations(decision, pass, promised)
    const stands = { plan, decision, states: decision.states, failures, waitMs }
    // A retry would say for a moment that nothing is wrong.
    const { generation } = record
    const last = this.#states.get(record.key)
    const isRetry = last?.generation === generation && last.failed > 0
    if (operations.length > MANY && !isRetry) await this.#writeStatus(pass, stands)
    const batch = new Batch(pass, {
      executor: this.#executor,
      ...{ counters: this.#seams.counters, clock: this.#seams.clock },
      areTooManyGone: present =>
        decision.agreed === undefined &&
        goneAtOnce(unitsWithChildren(grid, lives), present, goneUnits.removed).areTooMany,
      unitsNow: () => tables.unitsOf(grid.source),
      readUnits: signal => readUnits(this.#seams.client, grid.source, signal),
    })
    await batch.run(operations)
    for (const operation of batch.done)
      if (operation.kind === 'delete' && operation.unit !== undefined && !decision.agreed)
        goneUnits.went(operation.unit)
    this.#gridEvents.done(record, batch.done)
    const after = {
      ...stands,
      states: statesAfter(decision.states, batch.done),
      failures: [...failures, ...batch.failures],
    }
    const isHeld = decision.hold !== undefined
    const failed = after.failures.length
    this.#states.set(record.key, { generation, isHeld, isInvalid: false, failed })
    this.#gridEvents.failures(record, memory, after.failures)
    this.#gridEvents.held(record, memory, decision.hold)
    const written = await this.#writeStatus(pass, after)
    const isSettled = memory.isSettled((kind, version) => tables.hasReached(kind, version))
    return resultOf({ batch, written, memory, decision, waitMs, isSettled, now: this.#now() })
  }

  /** Epoch ms by the server's clock where known: times in a status must make sense to the next leader. */
  #now(): number {
    const { client, clock } = this.#seams
    return client.serverTime() ?? clock.wall()
  }

  async #invalid(pass: Pass, trouble: string): Promise<WorkResult> {
    const { record, memory, guard, signal } = pass
    const { generation } = record
    this.#states.set(record.key, { generation, isHeld: false, isInvalid: true, failed: 0 })
    const failure = { unit: undefined, reason: 'Invalid', message: trouble }
    this.#gridEvents.failures(record, memory, [failure])
    const written = await this.#status.write(
      record,
      memory,
      (previous, at) => invalidStatus({ generation, message: trouble }, previous, at),
      { guard, signal },
    )
    return resultOfStatus(written)
  }

  #writeStatus({ record, memory, guard, signal }: Pass, stands: Stands): Promise<StatusResult> {
    const { plan, decision, states, failures } = stands
    const { grid, units } = plan
    const question = { grid, units, children: states, failures, hold: decision.hold }
    return this.#status.write(
      record,
      memory,
      (previous, at) => nextStatus(question, previous, at),
      {
        guard,
        signal,
      },
    )
  }

  #memoryOf({ key, uid }: GridRecord): GridMemory {
    const known = this.#memories.get(key)
    if (known?.uid === uid) return known
    const memory = new GridMemory(this.#seams.clock, uid)
    this.#memories.set(key, memory)
    return memory
  }

  #forget(key: string): void {
    this.#memories.delete(key)
    this.#states.delete(key)
    this.#planner.forget(key)
  }

  #guardOf({ key, revision }: GridRecord): WriteGuard {
    const { guard, tables } = this.#seams
    return () =>
      guard() ??
      (tables.grid(key)?.revision === revision
        ? undefined
        : 'the grid has changed since the decision')
  }
}

/** Units that have children of this grid; a unit may occur several times. */
const unitsWithChildren = (grid: Grid, lives: readonly LiveChild[]): readonly string[] =>
  lives.flatMap(live => (live.controller?.uid === grid.uid ? (unitOfLive(grid, live) ?? []) : []))

/** What a grid's status is made from. */
interface Stands {
  readonly plan: GridPlan
  readonly decision: Decision
  readonly states: readonly ChildState[]
  readonly failures: readonly UnitFailure[]
  /** Time until the first deferred deletion; undefined when there is none. */
  readonly waitMs: number | undefined
}
