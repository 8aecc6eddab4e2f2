// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, reasonOf } from '../../core/errors.js'
import type { Clock } from '../../core/clock.js'
import { groupBy } from '../../core/group-by.js'
import type { WriteGuard } from '../../kube/client/write.js'
import type { ApplyOperation, Operation } from '../model/decide.js'
import type { UnitFailure } from '../model/status.js'
import { UNIT_LABEL } from '../model/marks.js'
import type { Counters } from './counters.js'
import type { Executor, Order } from './executor.js'
import type { Outcome } from './outcome.js'
import type { GridMemory } from './grid-memory.js'
import type { GridRecord } from './grid-record.js'

/** The grid whose operations are carried out, and its guard. */
interface BatchFor {
  readonly record: GridRecord
  readonly memory: GridMemory
  readonly guard: WriteGuard
  readonly signal: AbortSignal
}

interface BatchSeams {
  readonly executor: Pick<Executor, 'run'>
  readonly clock: Clock
  readonly counters: Counters
  /** The units that have nodes now, by the watch. */
  readonly unitsNow: () => readonly string[]
  /** The same, read from the server. Rejects as ResourceClient.list does. */
  readonly readUnits: (signal: AbortSignal) => Promise<ReadonlySet<string>>
  /** Whether, with these units present, so many are gone that nothing may be deleted without a confirmation. */
  readonly areTooManyGone: (present: ReadonlySet<string>) => boolean
}

/** Queued operations of one grid. */
const AT_ONCE = 16

/** For how long Nodes that were read from the server count as present; writes may be queued for minutes. */
const NODES_FRESH_MS = 10_000

/** After so many failures of the server in a row, it is taken to fail for everything. */
const MANY_FAILURES = 3

type Unavailable = Outcome & { readonly kind: 'unavailable' }
type Refused = Outcome & { readonly kind: 'refused' }

/** What dry runs showed of the children of one template. */
interface TemplateCheck {
  readonly refusals: ReadonlyMap<Operation, Refused>
  /** So the template itself is taken to be refused. */
  readonly areAllRefused: boolean
}

/** Carries out what one reconciliation of a grid decided. */
export class Batch {
  readonly #for: BatchFor
  readonly #seams: BatchSeams
  readonly done: Operation[] = []
  readonly failures: UnitFailure[] = []
  /** Operations whose objects have changed since the decision. */
  stale = 0
  /** The server cannot be written to now: the remaining operations were skipped. */
  unavailable: Unavailable | undefined
  /** The guard was against it: the remaining operations were skipped. */
  isWithheld = false
  /** `Clock.now` when Nodes were last read from the server. */
  #askedAt = -Infinity
  #failuresInARow = 0

  constructor(what: BatchFor, seams: BatchSeams) {
    this.#for = what
    this.#seams = seams
  }

  async run(operations: readonly Operation[]): Promise<void> {
    const all = await this.#checked(operations)
    const isOfGone = (operation: Operation): boolean =>
      operation.kind === 'delete' && operation.why === 'unit-gone'
    await this.#carryOutAll(all.filter(operation => !isOfGone(operation)))
    await this.#carryOutAll(await this.#stillGone(all.filter(isOfGone)))
  }

  /** The watch of Nodes may lag, so read Nodes from the server before anything of a unit is deleted. */
  async #stillGone(operations: readonly Operation[]): Promise<readonly Operation[]> {
    if (operations.length === 0 || this.#hasEnded) return []
    const { signal } = this.#for
    try {
      const { clock, readUnits, areTooManyGone } = this.#seams
      this.#askedAt = clock.now()
      const units = await readUnits(signal)
      const left = areTooManyGone(units)
        ? []
        : operations.filter(operation => !units.has(unitOf(operation) ?? ''))
      this.stale += operations.length - left.length
      return left
    } catch (error) {
      const retryAfterMs = error instanceof KubeStatusError ? error.retryAfterMs : undefined
      const message = `Nodes could not be asked for: ${reasonOf(error)}`
      if (!signal.aborted) this.unavailable = { kind: 'unavailable', message, retryAfterMs }
      return []
    }
  }

  async #carryOutAll(operations: readonly Operation[]): Promise<void> {
    const left = operations.values()
    const work = async (): Promise<void> => {
      for (const operation of left) {
        if (this.#hasEnded) return
        await this.#carryOut(operation)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  get #hasEnded(): boolean {
    return this.unavailable !== undefined || this.isWithheld || this.#for.signal.aborted
  }

  /** Check each template by dry runs before many children are made from it; refused children, and those of refused templates, are left out. */
  async #checked(operations: readonly Operation[]): Promise<readonly Operation[]> {
    const { memory, record } = this.#for
    const byTemplate = groupBy(operations, operation =>
      operation.kind === 'apply' ? operation.templateKey : undefined,
    )
    const refused = new Set<Operation>()
    for (const [key, group] of byTemplate) {
      if (key === undefined || group.length === 1) continue
      const checked = memory.checked(record.revision)
      if (checked.has(key)) continue
      const { refusals, areAllRefused } = await this.#check(group as readonly ApplyOperation[])
      if (!areAllRefused && !this.#hasEnded) checked.add(key)
      const ofTemplate = areAllRefused ? [...refusals.values()].at(-1) : undefined
      for (const operation of group) {
        const refusal = refusals.get(operation) ?? ofTemplate
        if (refusal === undefined) continue
        refused.add(operation)
        this.#refuse(operation, refusal)
      }
    }
    return operations.filter(operation => !refused.has(operation))
  }

  /** Dry runs of the first children until one is accepted: a refusal may be about one child, or about the template. */
  async #check(group: readonly ApplyOperation[]): Promise<TemplateCheck> {
    const refusals = new Map<Operation, Refused>()
    const tried = group.slice(0, MANY_FAILURES)
    for (const operation of tried) {
      const order = { ...this.#orderOf(operation), isDryRun: true }
      const outcome = await this.#try(operation, order)
      this.#seams.counters.writes.add(`dry-run ${outcome.kind}`)
      // A webhook without support for dry runs makes them fail with 400, which says nothing about the template: let each
      // child be tried.
      if (outcome.kind === 'refused' && outcome.status === 400) break
      if (outcome.kind === 'refused' && outcome.reason === 'Refused')
        refusals.set(operation, outcome)
      if (outcome.kind === 'unavailable' && !this.#isItsOwn(outcome)) this.#end(operation, outcome)
      if (outcome.kind === 'withheld') this.isWithheld = true
      if (outcome.kind === 'done' || this.#hasEnded) break
    }
    return { refusals, areAllRefused: refusals.size === tried.length }
  }

  async #carryOut(operation: Operation): Promise<void> {
    const { memory } = this.#for
    const { counters } = this.#seams
    const outcome = await this.#try(operation, this.#orderOf(operation))
    counters.writes.add(`${operation.kind} ${outcome.kind}`)
    switch (outcome.kind) {
      case 'done':
        this.done.push(operation)
        this.#failuresInARow = 0
        if (operation.kind === 'apply') this.#applied(operation, outcome.version)
        else memory.done(operation)
        if (outcome.version !== undefined) memory.wrote(kindOf(operation), outcome.version)
        return
      case 'refused':
        this.#refuse(operation, outcome)
        return
      case 'stale':
        this.stale++
        return
      case 'withheld':
        // Withheld because of its own unit: that does not concern the others.
        this.isWithheld ||= this.#for.guard() !== undefined
        this.stale++
        return
      case 'unavailable':
        if (this.#isItsOwn(outcome))
          this.#refuse(operation, { reason: 'ServerError', message: outcome.message })
        else this.#end(operation, outcome)
    }
  }

  /** Skip what remains. A server that answers with an error may still take a status, which then says why. */
  #end(operation: Operation, outcome: Unavailable): void {
    this.unavailable ??= outcome
    if (outcome.isPerhapsItsOwn !== true) return
    const { message } = outcome
    this.failures.push({ unit: unitOf(operation), reason: 'ServerError', message })
  }

  /** Whether a failure may concern one child only; then the others are tried. */
  #isItsOwn({ isPerhapsItsOwn = false }: Unavailable): boolean {
    return isPerhapsItsOwn && ++this.#failuresInARow < MANY_FAILURES
  }

  /** Send nothing, and use no connection, when it is known to fail. */
  async #try(operation: Operation, order: Order): Promise<Outcome> {
    const reason = order.guard()
    if (reason !== undefined) return { kind: 'withheld', message: reason }
    return this.#seams.executor.run(operation, order)
  }

  #orderOf(operation: Operation): Order {
    const { guard, signal } = this.#for
    return { signal, guard: () => guard() ?? this.#unitTrouble(operation) }
  }

  /** A unit that has nodes again keeps its children, and one that is gone gets no new ones. */
  #unitTrouble(operation: Operation): string | undefined {
    if (operation.kind === 'mark') return undefined
    const unit = unitOf(operation)
    if (unit === undefined) return undefined
    const isThere = this.#seams.unitsNow().includes(unit)
    if (isThere === (operation.kind === 'apply'))
      return isThere || this.#seams.clock.now() - this.#askedAt <= NODES_FRESH_MS
        ? undefined
        : 'Nodes were asked for too long ago'
    return isThere ? 'its unit has nodes again' : 'its unit has no nodes any more'
  }

  #applied(operation: ApplyOperation, version: string | undefined): void {
    const { drift, target } = operation
    this.#for.memory.applied(operation, version)
    const cause = target.kind === 'new' ? 'missing' : (drift?.cause ?? 'taken-over')
    this.#seams.counters.drift.add(cause)
  }

  #refuse(operation: Operation, { reason, message }: Omit<UnitFailure, 'unit'>): void {
    const failure = { unit: unitOf(operation), reason, message }
    this.failures.push(failure)
    this.#for.memory.refused(operation, failure)
  }
}

const unitOf = (operation: Operation): string | undefined => {
  switch (operation.kind) {
    case 'apply':
      return operation.child.unit
    case 'delete':
      return operation.unit
    case 'mark':
      return operation.live.labels[UNIT_LABEL]
  }
}

const kindOf = (operation: Operation) =>
  operation.kind === 'apply' ? operation.child.kind : operation.live.kind
