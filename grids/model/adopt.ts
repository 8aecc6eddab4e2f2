// SPDX-License-Identifier: Apache-2.0
import type { Grid } from './grid.js'
import { unitOfLive, type LiveChild } from './live.js'
import { nameKey } from './name.js'
import type { GridPlan } from './plan.js'
import type { Child } from './render.js'
import { GRID_LABEL } from './words.js'

/** Whose an object is that has the name of a wanted child. */
export type Claim =
  /** Nobody has the name. */
  | { readonly kind: 'free' }
  /** We control it. */
  | { readonly kind: 'ours'; readonly live: LiveChild }
  /** Nobody controls it, and it says that it is this grid's: SuperEdge's, or left over from a grid of this name. */
  | { readonly kind: 'adoptable'; readonly live: LiveChild }
  /** It goes away; then the name is free. */
  | { readonly kind: 'going'; readonly live: LiveChild }
  /** Somebody else's: never written, never deleted. */
  | { readonly kind: 'taken'; readonly live: LiveChild; readonly by: string }

const isOwn = ({ uid }: Grid, { controller }: LiveChild): boolean =>
  uid !== undefined && controller?.uid === uid

/** Whose is the object that has a wanted child's name? Its labels alone give it to nobody. */
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

/** What there is of a grid, beside what is wanted. */
export interface Inventory {
  readonly claims: readonly { readonly child: Child; readonly claim: Claim }[]
  /** Ours, of units that are there and have all their children: not wanted any more. */
  readonly surplus: readonly LiveChild[]
  /** Ours, of units that no node forms, by unit: the guard decides about them. */
  readonly gone: ReadonlyMap<string, readonly LiveChild[]>
}

/**
 * Compare what a grid wants with what there is. Only what we control may go. A unit that could not be rendered keeps what
 * it has, and so does a child whose unit is unknown.
 * @param lives All objects of the children's kinds in the grid's namespace, or at least those that name or own it.
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

/** May something else stand for a child that is not wanted? A workload of no unit is nobody's to judge. */
const isReplaced = ({ kind }: Grid, unit: string | undefined): boolean =>
  kind === 'ServiceGrid' || unit !== undefined
