// SPDX-License-Identifier: Apache-2.0
import type { Decision, Operation } from '../model/decide.js'
import { nameKey } from '../model/name.js'
import type { UnitFailure } from '../model/status.js'
import type { GridMemory } from './grid-memory.js'
import type { GridRecord } from './grid-record.js'

/** Which operations of a decision are carried out now, and why the others are not. */
interface DueOperations {
  readonly operations: readonly Operation[]
  /** Those of the decision, and one for each operation that cannot be done. */
  readonly failures: readonly UnitFailure[]
  /** Time until the first of those left out for a while is due; undefined when there is none. */
  readonly waitMs: number | undefined
}

const promiseTrouble = (
  { namespace }: GridRecord,
  operation: Operation,
  promised: ReadonlySet<string>,
): UnitFailure | undefined => {
  if (operation.kind !== 'apply') return undefined
  const { kind, name, unit } = operation.child
  return promised.has(nameKey(kind, namespace, name))
    ? { unit, reason: 'NameTaken', message: `${kind} ${name} is another grid's child` }
    : undefined
}

/**
 * Leave out operations whose name belongs to another grid's child, operations that failed a moment ago, and deletions for
 * units that have not been gone for long enough.
 * @param promised names of other grids' children
 */
export const dueOperations = (
  decision: Decision,
  { record, memory }: { readonly record: GridRecord; readonly memory: GridMemory },
  promised: ReadonlySet<string>,
): DueOperations => {
  const more: UnitFailure[] = []
  const waits: number[] = []
  const operations = decision.operations.filter(operation => {
    const trouble = memory.troubleOf(operation)
    const failure = promiseTrouble(record, operation, promised) ?? trouble?.failure
    // It may be due before the pass ends, and then nothing else would have it tried.
    if (trouble !== undefined) waits.push(trouble.leftMs)
    if (failure !== undefined) more.push(failure)
    const isOfGone = operation.kind === 'delete' && operation.why === 'unit-gone'
    const waitMs = isOfGone ? memory.goneUnits.leftMs(operation.unit!, decision) : 0
    if (waitMs > 0) waits.push(waitMs)
    return failure === undefined && waitMs === 0
  })
  const waitMs = waits.length === 0 ? undefined : Math.min(...waits)
  return { operations, failures: [...decision.failures, ...more], waitMs }
}
