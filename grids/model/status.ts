// SPDX-License-Identifier: Apache-2.0
import { isMap, sameJson } from '../../core/json.js'
import type { Grid, Json } from './grid.js'
import type { Hold } from './guard.js'
import type { Rollout } from './rollout.js'
import { CONFIRM_ANNOTATION } from './marks.js'

/** What is wrong with a unit, or with the grid's Service (`unit` undefined). */
export interface UnitFailure {
  readonly unit: string | undefined
  /** CamelCase, for machines. */
  readonly reason: string
  readonly message: string
}

/** A child, as far as the status depends on it. */
export interface ChildState {
  readonly unit: string | undefined
  readonly name: string
  /** It is as rendered, without drift. */
  readonly isApplied: boolean
  /** Undefined for a Service. */
  readonly rollout: Rollout | undefined
}

export interface StatusQuestion {
  readonly grid: Grid
  readonly units: readonly string[]
  /** Existing children of the grid, without headless Services. */
  readonly children: readonly ChildState[]
  readonly failures: readonly UnitFailure[]
  readonly hold: Hold | undefined
}

const MAX_FAILURES = 20
/** With more units `status.states` is omitted: readers of SuperEdge's format would take a part for all. */
const MAX_STATES = 200
const MAX_MESSAGE = 1024

interface Condition {
  readonly type: 'Ready' | 'Progressing' | 'Held'
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** The apiserver would store another character for half of one, and the status would never be what it should. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

const cut = (text: string): string =>
  (text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE - 1)}…` : text).replace(HALF, '?')

const condition = (
  type: Condition['type'],
  isTrue: boolean,
  reason: string,
  message: string,
): Condition => ({ type, status: isTrue ? 'True' : 'False', reason, message: cut(message) })

const heldCondition = (hold: Hold | undefined): Condition => {
  if (hold === undefined) return condition('Held', false, 'NothingHeld', '')
  const { reason, units, total, token } = hold
  const names = `${units.slice(0, 10).join(', ')}${units.length > 10 ? ', …' : ''}`
  const which = `${units.length} of ${total} units have no node: ${names}`
  return condition(
    'Held',
    true,
    reason,
    `${which}; to delete their children, set the annotation ${CONFIRM_ANNOTATION}: "${token}"`,
  )
}

interface Counts {
  readonly desired: number
  readonly current: number
  readonly updated: number
  readonly ready: number
  readonly failed: number
}

const countOf = ({ grid, units, children, failures }: StatusQuestion): Counts => {
  const isService = grid.kind === 'ServiceGrid'
  const wanted = new Set(units)
  const own = isService ? children : children.filter(({ unit }) => wanted.has(unit!))
  const updated = own.filter(({ isApplied, rollout }) => isApplied && (rollout?.isUpdated ?? true))
  return {
    desired: isService ? 1 : units.length,
    current: own.length,
    updated: updated.length,
    // Replicas of an older template serve too.
    ready: own.filter(({ isApplied, rollout }) => rollout?.isReady ?? isApplied).length,
    failed: new Set(failures.map(({ unit }) => unit)).size,
  }
}

const readyCondition = ({ grid, failures }: StatusQuestion, counts: Counts): Condition => {
  const { desired, ready, failed } = counts
  const [first] = failures
  if (first !== undefined) {
    const where = first.unit === undefined ? 'the Service' : `unit ${first.unit}`
    return condition(
      'Ready',
      false,
      first.reason,
      `${failed} of ${desired} failed; ${where}: ${first.message}`,
    )
  }
  if (desired === 0)
    return condition('Ready', false, 'NoUnits', 'no node is in a unit of this grid')
  const isReady = ready === desired
  if (grid.kind === 'ServiceGrid')
    return condition(
      'Ready',
      isReady,
      isReady ? 'Applied' : 'NotApplied',
      isReady ? '' : 'the Service is not yet as wanted',
    )
  return condition(
    'Ready',
    isReady,
    isReady ? 'AllUnitsReady' : 'UnitsNotReady',
    `${ready} of ${desired} units are ready`,
  )
}

const progressing = ({ desired, updated, failed }: Counts): Condition => {
  const left = Math.max(0, desired - updated - failed)
  return left === 0
    ? condition('Progressing', false, failed === 0 ? 'Complete' : 'Stopped', '')
    : condition('Progressing', true, 'RollingOut', `${left} of ${desired} are not updated yet`)
}

interface OldStatus extends Json {
  readonly conditions?: readonly (Partial<Condition> & { readonly lastTransitionTime?: string })[]
}

/** Conditions with `lastTransitionTime`, which changes only with the status. */
const dated = (
  conditions: readonly Condition[],
  previous: Json,
  at: string,
  generation: number,
): readonly Json[] =>
  conditions.map(condition => {
    const old = (previous as OldStatus).conditions?.find(({ type }) => type === condition.type)
    const time = old?.status === condition.status ? old.lastTransitionTime : undefined
    return { ...condition, observedGeneration: generation, lastTransitionTime: time ?? at }
  })

const changed = (previous: Json, next: Json): Json | undefined =>
  sameJson(previous, next) ? undefined : next

const statesOf = ({ units, children }: StatusQuestion): Json => {
  if (units.length > MAX_STATES) return {}
  const wanted = new Set(units)
  const pairs = children.flatMap(({ unit, rollout }) =>
    unit !== undefined && wanted.has(unit) && rollout !== undefined
      ? [[unit, rollout.state] as const]
      : [],
  )
  return { states: Object.fromEntries(pairs) }
}

const failuresOf = ({ failures }: StatusQuestion): Json => {
  const byUnit = new Map(failures.map(failure => [failure.unit ?? '', failure]))
  const first = [...byUnit].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MAX_FAILURES)
  return {
    failures: first.map(([unit, { reason, message }]) => ({ unit, reason, message: cut(message) })),
  }
}

/**
 * A grid's next status; undefined when it would be the same and need not be written.
 * @param previous the present status; `{}` for none
 * @param at the present time, RFC 3339 in whole seconds, as conditions have it
 */
export const nextStatus = (
  question: StatusQuestion,
  previous: Json,
  at: string,
): Json | undefined => {
  const { grid, children, hold } = question
  const counts = countOf(question)
  const conditions = [readyCondition(question, counts), progressing(counts), heldCondition(hold)]
  const service = children.find(({ unit }) => unit === undefined)
  const kind: Json =
    grid.kind === 'ServiceGrid'
      ? service === undefined
        ? {}
        : { service: service.name }
      : { units: counts, ...statesOf(question) }
  return changed(previous, {
    observedGeneration: grid.generation,
    conditions: dated(conditions, previous, at, grid.generation),
    ...failuresOf(question),
    ...kind,
  })
}

/** The status's message about units that are held; undefined when none are. */
export const heldMessage = ({ conditions }: Json): string | undefined => {
  if (!Array.isArray(conditions)) return undefined
  const held = (conditions as readonly unknown[]).find(
    each => isMap(each) && each['type'] === 'Held' && each['status'] === 'True',
  )
  return isMap(held) ? String(held['message']) : undefined
}

/** The status of a grid that cannot be parsed. What is known of its children stays. */
export const invalidStatus = (
  trouble: { readonly generation: number; readonly message: string },
  previous: Json,
  at: string,
): Json | undefined => {
  const conditions = [
    condition('Ready', false, 'Invalid', trouble.message),
    condition('Progressing', false, 'Stopped', 'the grid is invalid'),
  ]
  const held = (previous as OldStatus).conditions?.filter(({ type }) => type === 'Held') ?? []
  return changed(previous, {
    ...previous,
    observedGeneration: trouble.generation,
    conditions: [...dated(conditions, previous, at, trouble.generation), ...held],
  })
}
