// SPDX-License-Identifier: Apache-2.0
import { groupBy } from '../../core/group-by.js'
import type { WriteGuard } from '../../kube/client/write.js'
import type { ApplyOperation, Operation } from '../model/decide.js'
import type { UnitFailure } from '../model/status.js'
import type { Counters } from './counters.js'
import type { Executor, Order, Outcome } from './executor.js'
import type { GridMemory } from './grid-memory.js'
import type { GridRecord } from './grid-record.js'

/** For what the operations are carried out. */
interface BatchFor {
  readonly record: GridRecord
  readonly memory: GridMemory
  readonly guard: WriteGuard
  readonly signal: AbortSignal
}

interface BatchSeams {
  readonly executor: Executor
  readonly counters: Counters
  /** The units that nodes form now. */
  readonly unitsNow: () => readonly string[]
}

/** Operations of one grid that wait for a lane. */
const AT_ONCE = 16

type Unavailable = Outcome & { readonly kind: 'unavailable' }

/** What one look at a grid decided, carried out. */
export class Batch {
  readonly #for: BatchFor
  readonly #seams: BatchSeams
  readonly done: Operation[] = []
  readonly failures: UnitFailure[] = []
  /** Operations on objects that are others by now. */
  stale = 0
  /** Nobody can write now: the rest was left. */
  unavailable: Unavailable | undefined
  #isWithheld = false

  constructor(what: BatchFor, seams: BatchSeams) {
    this.#for = what
    this.#seams = seams
  }

  async run(operations: readonly Operation[]): Promise<void> {
    const left = (await this.#checked(operations)).values()
    const work = async (): Promise<void> => {
      for (const operation of left) {
        if (this.#hasEnded) return
        await this.#carryOut(operation)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  get #hasEnded(): boolean {
    return this.unavailable !== undefined || this.#isWithheld || this.#for.signal.aborted
  }

  /** Ask once about each template before many children are made of it; those that are refused are left out. */
  async #checked(operations: readonly Operation[]): Promise<readonly Operation[]> {
    const { memory, record } = this.#for
    const byTemplate = groupBy(operations, operation =>
      operation.kind === 'apply' ? operation.templateKey : undefined,
    )
    const refused = new Set<Operation>()
    for (const [key, group] of byTemplate) {
      if (key === undefined || group.length === 1) continue
      const id = `${record.revision} ${key}`
      if (memory.checked.has(id)) continue
      const refusal = await this.#check(group as readonly ApplyOperation[])
      if (refusal === undefined && !this.#hasEnded) memory.checked.add(id)
      if (refusal === undefined) continue
      for (const operation of group as readonly ApplyOperation[]) {
        refused.add(operation)
        this.#refuse(operation, refusal)
      }
    }
    return operations.filter(operation => !refused.has(operation))
  }

  /** A dry run of the first child about which something can be said. */
  async #check(
    group: readonly ApplyOperation[],
  ): Promise<(Outcome & { readonly kind: 'refused' }) | undefined> {
    for (const operation of group) {
      const order = { ...this.#orderOf(operation), isDryRun: true }
      const outcome = await this.#try(operation, order)
      this.#seams.counters.writes.add(`dry-run ${outcome.kind}`)
      if (outcome.kind === 'refused' && outcome.reason === 'Refused') return outcome
      if (outcome.kind === 'unavailable') this.unavailable = outcome
      if (outcome.kind === 'withheld') this.#isWithheld = true
      if (outcome.kind === 'done' || this.#hasEnded) return undefined
    }
    return undefined
  }

  async #carryOut(operation: Operation): Promise<void> {
    const { memory } = this.#for
    const { counters } = this.#seams
    const outcome = await this.#try(operation, this.#orderOf(operation))
    counters.writes.add(`${operation.kind} ${outcome.kind}`)
    switch (outcome.kind) {
      case 'done':
        this.done.push(operation)
        if (operation.kind === 'apply') this.#applied(operation)
        if (outcome.version !== undefined) memory.wrote(kindOf(operation), outcome.version)
        return
      case 'refused':
        if (operation.kind === 'apply') this.#refuse(operation, outcome)
        else this.#failed(operation, outcome.message)
        return
      case 'stale':
        this.stale++
        return
      case 'withheld':
        // A unit that came or went is no reason to leave the others.
        this.#isWithheld ||= this.#for.guard() !== undefined
        return
      case 'unavailable':
        this.unavailable ??= outcome
    }
  }

  /** Nothing is sent, and no connection asked for, when it is known to be in vain. */
  async #try(operation: Operation, order: Order): Promise<Outcome> {
    const reason = order.guard()
    if (reason !== undefined) return { kind: 'withheld', message: reason }
    return this.#seams.executor.run(operation, order)
  }

  #orderOf(operation: Operation): Order {
    const { guard, signal } = this.#for
    return { signal, guard: () => guard() ?? this.#unitTrouble(operation) }
  }

  /** A unit that is there again keeps its children, and one that went gets none. */
  #unitTrouble(operation: Operation): string | undefined {
    if (operation.kind === 'mark') return undefined
    const unit = operation.kind === 'apply' ? operation.child.unit : operation.unit
    if (unit === undefined) return undefined
    const isThere = this.#seams.unitsNow().includes(unit)
    if (isThere === (operation.kind === 'apply')) return undefined
    return isThere ? 'its unit has nodes again' : 'its unit has no nodes any more'
  }

  #applied({ child, drift, target }: ApplyOperation): void {
    this.#for.memory.accepted(child)
    const cause = target.kind === 'new' ? 'missing' : (drift?.cause ?? 'taken-over')
    this.#seams.counters.drift.add(cause)
  }

  #refuse({ child }: ApplyOperation, outcome: Outcome & { readonly kind: 'refused' }): void {
    const failure = { unit: child.unit, reason: outcome.reason, message: outcome.message }
    this.failures.push(failure)
    this.#for.memory.refused(child, failure)
  }

  #failed(operation: Operation, message: string): void {
    const unit = operation.kind === 'delete' ? operation.unit : undefined
    this.failures.push({ unit, reason: 'Refused', message })
    this.stale++
  }
}

const kindOf = (operation: Operation) =>
  operation.kind === 'apply' ? operation.child.kind : operation.live.kind
