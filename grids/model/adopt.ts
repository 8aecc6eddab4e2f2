// SPDX-License-Identifier: Apache-2.0
import type { Grid } from './grid.js'
import { unitOfLive, type LiveChild } from './live.js'
import { nameKey } from './name.js'
import type { GridPlan } from './plan.js'
import type { Child } from './child.js'
import { GRID_LABEL } from './marks.js'

/** Who owns the object with a wanted child's name. */
export type Claim =
  /** No object has the name. */
  | { readonly kind: 'free' }
  /** This grid controls it. */
  | { readonly kind: 'ours'; readonly live: LiveChild }
  /** Nobody controls it and its labels name this grid: created by SuperEdge, or by an earlier grid of this name. */
  | { readonly kind: 'adoptable'; readonly live: LiveChild }
  /** It is being deleted; then the name is free. */
  | { readonly kind: 'going'; readonly live: LiveChild }
  /** It belongs to somebody else: never written, never deleted. */
  | { readonly kind: 'taken'; readonly live: LiveChild; readonly by: string }

const isOwn = ({ uid }: Grid, { controller }: LiveChild): boolean =>
  uid !== undefined && controller?.uid === uid

/** Who owns the object with a wanted child's name. One that another controller owns is never ours, whatever its labels say. */
export const claimOf = (grid: Grid, live: LiveChild | undefined): Claim => {
  if (live === undefined) return { kind: 'free' }
  const { controller, labels, isDeleting } = live
  if (controller !== undefined && !isOwn(grid, live))
    return { kind: 'taken', live, by: `${controller.kind} ${controller.name} controls it` }
  if (controller === undefined && labels[GRID_LABEL] !== grid.name)
    return {
      kind: 'taken',
      live,
      by: `nobody controls it, and its label ${GRID_LABEL} does not say ${grid.name}`,
    }
  if (isDeleting) return { kind: 'going', live }
  return { kind: controller === undefined ? 'adoptable' : 'ours', live }
}

/** Existing children of a grid besides the wanted ones. */
export interface Inventory {
  readonly claims: readonly { readonly child: Child; readonly claim: Claim }[]
  /** Children of existing units that are no longer wanted, and whose unit has all its wanted children. */
  readonly surplus: readonly LiveChild[]
  /** Children of units without nodes, by unit; the guard decides about them. */
  readonly gone: ReadonlyMap<string, readonly LiveChild[]>
}

/**
 * Compare what a grid wants with what exists. Only objects that the grid controls may be deleted. A unit that could not be
 * rendered keeps its children, and so does a child whose unit is unknown.
 * @param lives all objects of the children's kinds in the grid's namespace, or at least those that name or own it
 */
export const takeInventory = (plan: GridPlan, lives: readonly LiveChild[]): Inventory => {
  const { grid, units, children, failures } = plan
  const byName = new Map(lives.map(live => [nameKey(live.kind, live.namespace, live.name), live]))
  const wanted = new Set<LiveChild>()
  const claims = children.map(child => {
    const live = byName.get(nameKey(child.kind, grid.namespace, child.name))
    if (live !== undefined) wanted.add(live)
    return { child, claim: claimOf(grid, live) }
  })
  const present = new Set(units)
  const failed = new Set(failures.map(({ unit }) => unit))
  const surplus: LiveChild[] = []
  const gone = new Map<string, LiveChild[]>()
  for (const live of lives) {
    if (wanted.has(live) || live.isDeleting || !isOwn(grid, live)) continue
    const unit = unitOfLive(grid, live)
    if (unit !== undefined && !present.has(unit)) gone.set(unit, [...(gone.get(unit) ?? []), live])
    else if (isReplaced(grid, unit) && !failed.has(unit)) surplus.push(live)
  }
  return { claims, surplus, gone }
}

/** Whether something else can replace an unwanted child. A workload without a unit is left alone. */
const isReplaced = ({ kind }: Grid, unit: string | undefined): boolean =>
  kind === 'ServiceGrid' || unit !== undefined
