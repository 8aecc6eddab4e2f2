// SPDX-License-Identifier: Apache-2.0
import { objectOf, type Decision, type Operation } from '../grids/model/decide.js'
import type { Child } from '../grids/model/child.js'
import type { ChildState } from '../grids/model/status.js'
import type { Judged } from '../grids/run/snapshot.js'
import type { CliContext, ExitCode } from './cli-context.js'
import { clean, table, type Paint } from '../core/text.js'
import { paintFor } from './format.js'
import { pick, withGrids, type ClusterFlags } from './grids-look.js'
import { hasTrouble, holdView, verbOf } from './grids-words.js'

const heldText = (judged: Judged): string => {
  const hold = holdView(judged)
  if (hold === undefined) return ''
  const unsaid = `${hold.units.length} of ${hold.total} units have no node; condition Held will say how to confirm the removal`
  return `${clean(`held: ${hold.message ?? unsaid}`)}\n`
}

interface UnitView {
  readonly unit: string
  readonly wanted: string
  readonly found: string
  readonly why: string
}

const podsText = (rollout: ChildState['rollout']): string => {
  if (rollout === undefined) return ''
  if (rollout.isReady) return ', ready'
  return rollout.isUpdated ? ', updated' : ', not ready'
}

const foundText = (state: ChildState | undefined, operation: Operation | undefined): string => {
  if (operation?.kind === 'apply' && operation.target.kind === 'new') return 'nothing'
  if (state === undefined) return 'not recognized as ours'
  return `${state.isApplied ? 'as wanted' : 'differs'}${podsText(state.rollout)}`
}

const childView = ({ kind, name, unit }: Child, decision: Decision): UnitView => {
  const state = decision.states.find(each => each.name === name)
  const operation = decision.operations.find(
    each => each.kind === 'apply' && each.child.kind === kind && each.child.name === name,
  )
  const failure = decision.failures.find(each => each.unit === unit)
  const doing = operation === undefined ? '' : verbOf(operation)
  return {
    unit: unit ?? '(all)',
    wanted: `${kind} ${name}`,
    found: foundText(state, operation),
    why: failure === undefined ? doing : `${failure.reason}: ${failure.message}`,
  }
}

const unitsView = ({ record, plan, decision }: Judged): readonly UnitView[] => {
  if (plan === undefined || decision === undefined) return []
  const rows = plan.children.map(child => childView(child, decision))
  const unrendered = plan.failures.map(({ unit, reason, message }): UnitView => ({
    unit: unit ?? '(all)',
    ...{ wanted: '–', found: 'left as it is', why: `${reason}: ${message}` },
  }))
  const leaving = decision.operations.flatMap((operation): readonly UnitView[] =>
    operation.kind === 'apply'
      ? []
      : [
          {
            unit: operation.live.labels['edge-health/unit'] ?? record.name,
            ...{ wanted: '–', found: objectOf(operation), why: verbOf(operation) },
          },
        ],
  )
  return [...rows, ...unrendered, ...leaving]
}

const explainText = (judged: Judged, paint: Paint): string => {
  const { record, plan, decision } = judged
  const title = paint('bold', clean(record.key))
  if (!record.reading.ok) return `${title} is invalid: ${clean(record.reading.trouble)}\n`
  if (record.isDeleting || plan === undefined || decision === undefined)
    return `${title} is being deleted, and its children with it\n`
  const { source } = plan.grid
  const by =
    source.by === 'label-value'
      ? `values of the node label ${source.key}`
      : `NodeUnits${source.names === undefined ? '' : ` ${source.names.join(', ')}`}`
  const rows = unitsView(judged).map(({ unit, wanted, found, why }) => [unit, wanted, found, why])
  return `${title}: ${plan.units.length} units, ${clean(by)}\n${heldText(judged)}${table([['UNIT', 'WANTED', 'FOUND', 'WHY, OR WHAT IS DONE'], ...rows], paint)}`
}

/** `grids explain`. */
export const runExplain = async (
  grid: string,
  flags: ClusterFlags,
  context: CliContext,
): Promise<ExitCode> => {
  const chosen = await withGrids(flags, context, all => pick(all, grid, flags))
  const paint = paintFor(context, context.stdout)
  const views = chosen.map(judged => ({
    grid: judged.record.key,
    invalid: judged.record.reading.ok ? undefined : judged.record.reading.trouble,
    units: unitsView(judged),
    hold: holdView(judged),
  }))
  context.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify(views, null, 2)}\n`
      : chosen.map(judged => explainText(judged, paint)).join('\n'),
  )
  return chosen.some(hasTrouble) ? 1 : 0
}
