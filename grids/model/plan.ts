// SPDX-License-Identifier: Apache-2.0
import { childKindOf, type ChildKind, type Grid } from './grid.js'
import { assignNames, type NameHolder, type Naming, type NameWish } from './name.js'
import { renderGrid, SERVICE_SUFFIX, type NameOf, type Rendering } from './render.js'
import { unitsOf } from './units.js'

/** One grid with its units, and what it wants to exist there. */
export interface GridPlan extends Rendering {
  readonly grid: Grid
  readonly units: readonly string[]
}

/** The children of a grid that need a name. */
const wishesOf = (grid: Grid, units: readonly string[]): readonly NameWish[] => {
  const wish = (kind: ChildKind, suffix: string): NameWish => ({ kind, grid, suffix })
  if (grid.kind === 'ServiceGrid') return [wish('Service', SERVICE_SUFFIX)]
  return units.flatMap(unit => [
    wish(childKindOf[grid.kind], unit),
    ...(grid.hasHeadlessServices ? [wish('Service', unit)] : []),
  ])
}

/**
 * What all grids of a cluster want to exist on these nodes. Grids are looked at together, since their children's names may
 * meet. Grids that are being deleted want nothing.
 */
export const planGrids = (
  grids: readonly Grid[],
  nodes: readonly { readonly labels: Readonly<Record<string, string>> }[],
  held: ReadonlyMap<string, NameHolder> = new Map(),
): readonly GridPlan[] => {
  const living = grids.filter(({ isDeleting }) => !isDeleting)
  const drafts = living.map(grid => {
    const units = unitsOf(grid.source, nodes)
    return { grid, units, wishes: wishesOf(grid, units) }
  })
  const namings = assignNames(
    drafts.flatMap(({ wishes }) => wishes),
    held,
  )
  let next = 0
  return drafts.map(({ grid, units, wishes }) => {
    const names = new Map<string, Naming>()
    for (const { kind, suffix } of wishes) names.set(`${kind} ${suffix}`, namings[next++]!)
    const nameOf: NameOf = (kind, suffix) => names.get(`${kind} ${suffix}`)!
    return { grid, units, ...renderGrid(grid, units, nameOf) }
  })
}
