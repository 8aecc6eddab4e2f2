// SPDX-License-Identifier: Apache-2.0
import { isMap } from '../../core/json.js'
import type { PatchOperation } from '../../core/json-patch.js'
import { takeInventory, type Claim, type Inventory } from './adopt.js'
import { driftOf, type Drift } from './drift.js'
import type { Grid, Json } from './grid.js'
import { guardUnits, type Hold } from './guard.js'
import { goneSinceOf, unitOfLive, type LiveChild, type ManagedFields } from './live.js'
import type { GridPlan } from './plan.js'
import type { Child } from './child.js'
import { rolloutOf, type Rollout } from './rollout.js'
import type { ChildState, UnitFailure } from './status.js'
import { takeoverPatch } from './takeover.js'
import { templateKeyOf } from './template.js'
import { CONFIRM_ANNOTATION, MANAGER, SUPEREDGE_MANAGER } from './marks.js'

/** The object that an apply starts from. */
export type Target =
  | { readonly kind: 'new' }
  /** The grid controls it. */
  | { readonly kind: 'ours'; readonly live: LiveChild }
  /** Nobody controls it and its labels name this grid. */
  | { readonly kind: 'adopted'; readonly live: LiveChild }

/** A child to apply, and what has to be done before. */
export interface ApplyOperation {
  readonly kind: 'apply'
  readonly child: Child
  readonly target: Target
  /** Why it is applied; undefined for a new one. */
  readonly drift: Drift | undefined
  /** Children with the same key differ only in their unit. Undefined when no other child is like it. */
  readonly templateKey: string | undefined
  /** Transfers SuperEdge's managed fields to us. */
  readonly takeover: readonly PatchOperation[] | undefined
  /**
   * Replicas to hand to another field manager before we stop setting them; undefined when there is nothing to hand over.
   */
  readonly handOver: number | undefined
}

/** A change to make for a grid. Operations are independent and may run in any order. */
export type Operation =
  | ApplyOperation
  /** Note on a child since when its unit is gone, epoch ms; undefined removes the note, since the unit is back. */
  | { readonly kind: 'mark'; readonly live: LiveChild; readonly since: number | undefined }
  | {
      readonly kind: 'delete'
      readonly live: LiveChild
      readonly unit: string | undefined
      /** Its unit has no nodes any more, or another child replaces it. */
      readonly why: 'unit-gone' | 'replaced'
    }

/** The child of an operation: `Deployment web-north`. */
export const objectOf = (operation: Operation): string =>
  operation.kind === 'apply'
    ? `${operation.child.kind} ${operation.child.name}`
    : `${operation.live.kind} ${operation.live.name}`

export interface Facts {
  readonly plan: GridPlan
  /** At least all objects of the children's kinds that name or are owned by the grid, or have a wanted child's name. */
  readonly lives: readonly LiveChild[]
  /** Epoch ms. */
  readonly now: number
  readonly graceMs: number
  /** Units whose children were deleted lately. @default none */
  readonly removed?: ReadonlySet<string> | undefined
  /** The units that the grid's confirmation named when it was first read. */
  readonly agreed?: ReadonlyMap<string, number> | undefined
  /** @default computed anew */
  readonly readings?: Readings
}

/** Values computed from a child; a caller that compares often may cache them. */
export interface Readings {
  drift(child: Child, live: LiveChild): Drift | undefined
  rollout(live: LiveChild): Rollout
  takeover(live: LiveChild): readonly PatchOperation[] | undefined
}

const modelReadings: Readings = {
  drift: (child, live) => driftOf(child.object, live),
  rollout: rolloutOf,
  takeover: takeoverPatch,
}

export interface Decision {
  readonly operations: readonly Operation[]
  /** Existing children of the grid, without headless Services. */
  readonly states: readonly ChildState[]
  readonly failures: readonly UnitFailure[]
  readonly hold: Hold | undefined
  /** Units that are gone and still have children. */
  readonly gone: readonly string[]
  /** The units that the grid's confirmation names; undefined when it names none that are gone. */
  readonly agreed: ReadonlyMap<string, number> | undefined
  /** When to decide again even if nothing changes, epoch ms. */
  readonly nextAt: number | undefined
}

const ownsReplicas = ({ fields }: ManagedFields): boolean => {
  const spec = fields['f:spec']
  return isMap(spec) && Object.hasOwn(spec, 'f:replicas')
}

/** Written by us, or by SuperEdge's controller, which we succeed. */
const isOurs = ({ manager, operation, subresource }: ManagedFields): boolean =>
  subresource === '' &&
  ((manager === MANAGER && operation === 'Apply') || manager === SUPEREDGE_MANAGER)

/**
 * If we just stopped setting a number that we own, the apiserver would reset it to 1, so another field manager takes it
 * first.
 */
const handOverOf = (child: Child, live: LiveChild): number | undefined => {
  const wanted = child.object['spec'] as Json
  if (child.kind === 'Service' || Object.hasOwn(wanted, 'replicas')) return undefined
  const { replicas } = live.spec
  const isHeld = live.managedFields.some(entry => isOurs(entry) && ownsReplicas(entry))
  return isHeld && typeof replicas === 'number' ? replicas : undefined
}

const templateKey = (grid: Grid, { kind, unit }: Child): string | undefined =>
  grid.kind === 'ServiceGrid' || kind === 'Service' || unit === undefined
    ? undefined
    : templateKeyOf(grid, unit)

const applyOf = (
  grid: Grid,
  child: Child,
  target: Target,
  more: Pick<ApplyOperation, 'drift' | 'takeover'>,
): ApplyOperation => ({
  kind: 'apply',
  child,
  target,
  templateKey: templateKey(grid, child),
  handOver: target.kind === 'new' ? undefined : handOverOf(child, target.live),
  ...more,
})

/** The decision about one wanted child. */
interface Judged {
  readonly operations: readonly Operation[]
  readonly state?: ChildState
  readonly failure?: UnitFailure
}

const isHeadless = (grid: Grid, { kind }: Child): boolean =>
  kind === 'Service' && grid.kind !== 'ServiceGrid'

const judgeOurs = (grid: Grid, child: Child, live: LiveChild, readings: Readings): Judged => {
  const [drift, takeover] = [readings.drift(child, live), readings.takeover(live)]
  const isRight = drift === undefined && takeover === undefined
  const operations: Operation[] = [
    ...(isRight ? [] : [applyOf(grid, child, { kind: 'ours', live }, { drift, takeover })]),
    // A leftover note would count the next time the unit is gone.
    ...(goneSinceOf(live) === undefined ? [] : [{ kind: 'mark', live, since: undefined } as const]),
  ]
  if (isHeadless(grid, child)) return { operations }
  const { unit, name, kind } = child
  const rollout = kind === 'Service' ? undefined : readings.rollout(live)
  return { operations, state: { unit, name, isApplied: drift === undefined, rollout } }
}

const judge = (grid: Grid, child: Child, claim: Claim, readings: Readings): Judged => {
  switch (claim.kind) {
    case 'free': {
      const unseen = { drift: undefined, takeover: undefined }
      return { operations: [applyOf(grid, child, { kind: 'new' }, unseen)] }
    }
    case 'ours':
      return judgeOurs(grid, child, claim.live, readings)
    case 'adoptable': {
      const { live } = claim
      const seen = { drift: readings.drift(child, live), takeover: readings.takeover(live) }
      return { operations: [applyOf(grid, child, { kind: 'adopted', live }, seen)] }
    }
    case 'going':
      return { operations: [] }
    case 'taken': {
      const message = `${child.kind} ${child.name} is somebody else's: ${claim.by}`
      return { operations: [], failure: { unit: child.unit, reason: 'NameTaken', message } }
    }
  }
}

/** Since when a unit is gone, by the notes on its children; the earliest counts. */
const sinceOf = (lives: readonly LiveChild[]): number | undefined => {
  const times = lives.flatMap(live => goneSinceOf(live) ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}

const goneOperations = (
  gone: ReadonlyMap<string, readonly LiveChild[]>,
  { remove, waiting }: ReturnType<typeof guardUnits>,
): readonly Operation[] => [
  ...remove.flatMap(unit =>
    gone.get(unit)!.map(live => ({ kind: 'delete', live, unit, why: 'unit-gone' }) as const),
  ),
  ...[...waiting].flatMap(([unit, since]) =>
    gone
      .get(unit)!
      .filter(live => goneSinceOf(live) === undefined)
      .map(live => ({ kind: 'mark', live, since }) as const),
  ),
]

/** An unwanted child may be deleted when nothing is wanted in its place, or its replacement exists. */
const isReplaced = (grid: Grid, claims: Inventory['claims'], live: LiveChild): boolean => {
  const unit = unitOfLive(grid, live)
  const next = claims.find(({ child }) => child.kind === live.kind && child.unit === unit)
  return next === undefined || next.claim.kind === 'ours'
}

/** What to do for a grid, from what it wants and what exists, and the resulting state. */
export const decideGrid = (facts: Facts): Decision => {
  const { plan, lives, now, graceMs } = facts
  const { grid, units } = plan
  const { readings = modelReadings } = facts
  const { claims, surplus, gone } = takeInventory(plan, lives)
  const judged = claims.map(({ child, claim }) => judge(grid, child, claim, readings))
  const guarded = guardUnits({
    present: units,
    gone: new Map([...gone].map(([unit, lives]) => [unit, sinceOf(lives)])),
    confirmed: grid.annotations[CONFIRM_ANNOTATION],
    ...{ now, graceMs, removed: facts.removed, agreed: facts.agreed },
  })
  return {
    operations: [
      ...judged.flatMap(({ operations }) => operations),
      ...surplus
        .filter(live => isReplaced(grid, claims, live))
        .map(live => ({ kind: 'delete', live, unit: undefined, why: 'replaced' }) as const),
      ...goneOperations(gone, guarded),
    ],
    states: judged.flatMap(({ state }) => state ?? []),
    failures: [...plan.failures, ...judged.flatMap(({ failure }) => failure ?? [])],
    hold: guarded.hold,
    gone: [...gone.keys()],
    agreed: guarded.agreed,
    nextAt: guarded.nextAt,
  }
}
