// SPDX-License-Identifier: Apache-2.0
import { childKindOf, type ChildKind, type Grid } from './grid.js'
import { assignNames, type NameHolder, type Naming, type NameRequest } from './name.js'
import { renderGrid, SERVICE_SUFFIX, type NameOf, type Rendering } from './render.js'
import { unitsOf } from './units.js'

/** One grid with its units, and what it wants to exist there. */
export interface GridPlan extends Rendering {
  readonly grid: Grid
  readonly units: readonly string[]
}

/** A grid and the units that nodes form for it. */
export interface Placed {
  readonly grid: Grid
  readonly units: readonly string[]
}

/** The children of a grid that need a name. */
const requestsOf = ({ grid, units }: Placed): readonly NameRequest[] => {
  const request = (kind: ChildKind, suffix: string): NameRequest => ({ kind, grid, suffix })
  if (grid.kind === 'ServiceGrid') return [request('Service', SERVICE_SUFFIX)]
  return units.flatMap(unit => [
    request(childKindOf[grid.kind], unit),
    ...(grid.hasHeadlessServices ? [request('Service', unit)] : []),
  ])
}

/** May children of these two grids want one name? They are `<grid>-…`, so one grid's name begins the other's. */
export const areRivals = (a: Grid, b: Grid): boolean =>
  a.namespace === b.namespace &&
  (`${a.name}-`.startsWith(`${b.name}-`) || `${b.name}-`.startsWith(`${a.name}-`))

/**
 * A name for each child of a grid, in the order in which `planGrid` takes them.
 * @param rivals Other living grids whose children may want the same names.
 * @param held Names of living children of grids that exist, by `nameKey`.
 */
export const nameChildren = (
  placed: Placed,
  rivals: readonly Placed[],
  held: ReadonlyMap<string, NameHolder>,
): readonly Naming[] => {
  const own = requestsOf(placed)
  return assignNames([...own, ...rivals.flatMap(requestsOf)], held).slice(0, own.length)
}

/** What a grid wants to exist under these names. */
export const planGrid = (placed: Placed, namings: readonly Naming[]): GridPlan => {
  const { grid, units } = placed
  const names = new Map(
    requestsOf(placed).map(({ kind, suffix }, at) => [`${kind} ${suffix}`, namings[at]!]),
  )
  const nameOf: NameOf = (kind, suffix) => names.get(`${kind} ${suffix}`)!
  return { grid, units, ...renderGrid(grid, units, nameOf) }
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
  const placed = grids
    .filter(({ isDeleting }) => !isDeleting)
    .map(grid => ({ grid, units: unitsOf(grid.source, nodes) }))
  const all = assignNames(placed.flatMap(requestsOf), held)
  let next = 0
  return placed.map(each => {
    const count = requestsOf(each).length
    next += count
    return planGrid(each, all.slice(next - count, next))
  })
}
