// SPDX-License-Identifier: Apache-2.0
import { isMap } from '../../core/json.js'
import type { PatchOperation } from '../../core/json-patch.js'
import { takeInventory, type Claim, type Inventory } from './adopt.js'
import { driftOf, type Drift } from './drift.js'
import type { Grid, Json } from './grid.js'
import { guardUnits, type Hold } from './guard.js'
import { goneSinceOf, unitOfLive, type LiveChild, type ManagedFields } from './live.js'
import type { GridPlan } from './plan.js'
import type { Child } from './render.js'
import { rolloutOf, type Rollout } from './rollout.js'
import type { ChildState, UnitFailure } from './status.js'
import { takeoverPatch } from './takeover.js'
import { templateKeyOf } from './template.js'
import { CONFIRM_ANNOTATION, MANAGER, SUPEREDGE_MANAGER } from './words.js'

/** What a child's object is before it is applied. */
export type Target =
  | { readonly kind: 'new' }
  /** We control it. */
  | { readonly kind: 'ours'; readonly live: LiveChild }
  /** Nobody does, and it says that it is this grid's. */
  | { readonly kind: 'adopted'; readonly live: LiveChild }

/** One child to be applied, and what must be done before. */
export interface ApplyOperation {
  readonly kind: 'apply'
  readonly child: Child
  readonly target: Target
  /** Why; undefined for a new one. */
  readonly drift: Drift | undefined
  /** Children of one key differ in their unit alone. Undefined: it is the only one of its kind. */
  readonly templateKey: string | undefined
  /** Makes SuperEdge's account of the object ours. */
  readonly takeover: readonly PatchOperation[] | undefined
  /** So many replicas are handed over before we let go of the number; undefined: there is nothing to hand over. */
  readonly handOver: number | undefined
}

/** What is to be done for a grid, each by itself and in any order. */
export type Operation =
  | ApplyOperation
  /** Write down since when the unit is gone, epoch ms; undefined: take that off again, the unit is back. */
  | { readonly kind: 'mark'; readonly live: LiveChild; readonly since: number | undefined }
  | {
      readonly kind: 'delete'
      readonly live: LiveChild
      readonly unit: string | undefined
      /** Its unit has no nodes any more, or another child stands for it. */
      readonly why: 'unit-gone' | 'replaced'
    }

export interface Facts {
  readonly plan: GridPlan
  /** At least all objects of the children's kinds that name or own the grid, or have a wanted child's name. */
  readonly lives: readonly LiveChild[]
  /** Epoch ms. */
  readonly now: number
  readonly graceMs: number
  /** Units whose children went a moment ago. @default none */
  readonly removed?: ReadonlySet<string> | undefined
  /** The units that the grid's confirmation named when it was first understood. */
  readonly agreed?: ReadonlyMap<string, number> | undefined
  /** @default the model's own */
  readonly readings?: Readings
}

/** What is read off a child; who reads the same child often may remember it. */
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
  /** Living children that are ours, without headless Services. */
  readonly states: readonly ChildState[]
  readonly failures: readonly UnitFailure[]
  readonly hold: Hold | undefined
  /** Units that are gone and have children. */
  readonly gone: readonly string[]
  /** The units that the grid's confirmation names; undefined when it confirms nothing of what is gone. */
  readonly agreed: ReadonlyMap<string, number> | undefined
  /** Epoch ms when to decide anew though nothing changes. */
  readonly nextAt: number | undefined
}

const ownsReplicas = ({ fields }: ManagedFields): boolean => {
  const spec = fields['f:spec']
  return isMap(spec) && Object.hasOwn(spec, 'f:replicas')
}

/** Whom we take the place of, and we ourselves. */
const isOurs = ({ manager, operation, subresource }: ManagedFields): boolean =>
  subresource === '' &&
  ((manager === MANAGER && operation === 'Apply') || manager === SUPEREDGE_MANAGER)

/** A number that we own and let go would become 1, so another manager takes it first. */
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

/** What becomes of one wanted child. */
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
    // It would count for the next time that the unit goes.
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

/** Since when a unit is gone, as far as one of its children says. The earliest mark counts. */
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

/** What is not wanted goes when nothing is wanted in its place, or that is there. */
const isReplaced = (grid: Grid, claims: Inventory['claims'], live: LiveChild): boolean => {
  const unit = unitOfLive(grid, live)
  const next = claims.find(({ child }) => child.kind === live.kind && child.unit === unit)
  return next === undefined || next.claim.kind === 'ours'
}

/** What is to be done for a grid, out of what is wanted and what there is; and how it stands. */
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
