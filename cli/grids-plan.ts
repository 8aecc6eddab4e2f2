// SPDX-License-Identifier: Apache-2.0
import { stringify } from 'yaml'
import { changesOf, type FieldChange } from '../grids/model/difference.js'
import { objectOf, type Operation } from '../grids/model/decide.js'
import type { UnitFailure } from '../grids/model/status.js'
import { DryRunner, type ServerVerdict } from '../grids/run/dry-run.js'
import type { Judged } from '../grids/run/snapshot.js'
import { Exit, type CliContext, type ExitCode } from './cli-context.js'
import { clean, type Paint } from '../core/text.js'
import { paintFor } from './format.js'
import { pick, withGrids, type ClusterFlags } from './grids-look.js'
import { hasTrouble, holdView, verbOf } from './grids-words.js'

const valueText = (value: unknown): string => (value === undefined ? '–' : JSON.stringify(value))

const changeLines = (changes: readonly FieldChange[], paint: Paint): readonly string[] =>
  changes.flatMap(({ path, before, after }) => [
    ...(before === undefined ? [] : [paint('red', clean(`  - ${path}: ${valueText(before)}`))]),
    ...(after === undefined ? [] : [paint('green', clean(`  + ${path}: ${valueText(after)}`))]),
  ])

const newLines = (operation: Operation, paint: Paint): readonly string[] => {
  if (operation.kind !== 'apply' || operation.target.kind !== 'new') return []
  const text = stringify(operation.child.object, { lineWidth: 0, aliasDuplicateObjects: false })
  return text
    .trimEnd()
    .split('\n')
    .map(line => paint('green', `  + ${clean(line)}`))
}

const operationView = (operation: Operation): Readonly<Record<string, unknown>> => ({
  object: objectOf(operation),
  does: operation.kind,
  unit: operation.kind === 'apply' ? operation.child.unit : undefined,
  what: verbOf(operation),
  changes: changesOf(operation),
  ...(operation.kind === 'apply' && operation.target.kind === 'new'
    ? { creates: operation.child.object }
    : {}),
})

/** A grid, what would be written for it, and the apiserver's answers to dry runs. */
interface Planned {
  readonly judged: Judged
  readonly verdict: ServerVerdict
}

const NOTHING_ASKED: ServerVerdict = { refusals: [], unchecked: undefined }

const failuresOf = ({ judged: { decision }, verdict }: Planned): readonly UnitFailure[] => [
  ...(decision?.failures ?? []),
  ...verdict.refusals,
]

const planView = (planned: Planned): Readonly<Record<string, unknown>> => {
  const { judged, verdict } = planned
  const { record, decision } = judged
  return {
    grid: record.key,
    invalid: record.reading.ok ? undefined : record.reading.trouble,
    operations: decision?.operations.map(operationView) ?? [],
    failures: failuresOf(planned),
    unchecked: verdict.unchecked,
    hold: holdView(judged),
  }
}

const troubleLines = (planned: Planned, paint: Paint): readonly string[] => {
  const { record, decision } = planned.judged
  const { unchecked } = planned.verdict
  const hold = decision?.hold
  return [
    ...(record.reading.ok ? [] : [paint('red', `invalid: ${clean(record.reading.trouble)}`)]),
    ...failuresOf(planned).map(({ unit, reason, message }) =>
      paint('red', clean(`${unit === undefined ? '' : `unit ${unit}: `}${reason}: ${message}`)),
    ),
    ...(unchecked === undefined
      ? []
      : [paint('yellow', clean(`not checked by the apiserver, only compared here: ${unchecked}`))]),
    ...(hold === undefined
      ? []
      : [paint('yellow', `held: ${hold.units.length} of ${hold.total} units have no node`)]),
  ]
}

const planText = (planned: Planned, paint: Paint): string => {
  const { record, decision } = planned.judged
  const operations = decision?.operations ?? []
  const count = record.isDeleting
    ? 'is being deleted, and its children with it'
    : operations.length === 0
      ? 'nothing to write'
      : `${operations.length} ${operations.length === 1 ? 'write' : 'writes'}`
  const writes = operations.flatMap(operation => [
    clean(`${objectOf(operation)}: ${verbOf(operation)}`),
    ...changeLines(changesOf(operation), paint),
    ...newLines(operation, paint),
  ])
  const title = `${paint('bold', clean(record.key))}: ${count}`
  return `${[title, ...troubleLines(planned, paint), ...writes].join('\n')}\n`
}

/** `grids plan`. */
export const runPlan = async (
  grid: string | undefined,
  flags: ClusterFlags & { readonly all?: boolean },
  context: CliContext,
): Promise<ExitCode> => {
  if ((grid === undefined) === (flags.all !== true))
    throw new Exit(2, 'GRID or --all must be given, and not both')
  const all = await withGrids(flags, context, async (known, client) => {
    const chosen = grid === undefined ? known : pick(known, grid, flags)
    const runner = new DryRunner(client, context.clock)
    const planned = async (judged: Judged): Promise<Planned> => {
      const { decision } = judged
      if (decision === undefined) return { judged, verdict: NOTHING_ASKED }
      return { judged, verdict: await runner.verdictOn(decision, context.signal) }
    }
    return Promise.all(chosen.map(planned))
  })
  const paint = paintFor(context, context.stdout)
  context.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify(all.map(planView), null, 2)}\n`
      : all.map(planned => planText(planned, paint)).join('\n'),
  )
  if (all.some(({ judged, verdict }) => hasTrouble(judged) || verdict.refusals.length > 0)) return 1
  return all.some(({ judged }) => (judged.decision?.operations.length ?? 0) > 0) ? 3 : 0
}
