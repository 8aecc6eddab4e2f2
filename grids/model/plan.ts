// SPDX-License-Identifier: Apache-2.0
import { childKindOf, type ChildKind, type Grid } from './grid.js'
import { assignNames, type NameHolder, type Naming, type NameRequest } from './name.js'
import { renderGrid, SERVICE_SUFFIX, type NameOf, type Rendering } from './render.js'
import { unitsOf } from './units.js'

/** One grid with its units, and the children that it wants. */
export interface GridPlan extends Rendering {
  readonly grid: Grid
  readonly units: readonly string[]
}

/** A grid and its units that have nodes. */
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

/**
 * Whether children of two grids may want the same name. Names are `<grid>-…`, so one grid's name must be a prefix of the
 * other's.
 */
export const areRivals = (
  a: Pick<Grid, 'namespace' | 'name'>,
  b: Pick<Grid, 'namespace' | 'name'>,
): boolean =>
  a.namespace === b.namespace &&
  (`${a.name}-`.startsWith(`${b.name}-`) || `${b.name}-`.startsWith(`${a.name}-`))

/**
 * A name for each child of a grid, in the order that `planGrid` expects.
 * @param rivals other grids whose children may want the same names
 * @param held names of existing children of grids, by `nameKey`
 */
export const nameChildren = (
  placed: Placed,
  rivals: readonly Placed[],
  held: ReadonlyMap<string, NameHolder>,
): readonly Naming[] => {
  const own = requestsOf(placed)
  return assignNames([...own, ...rivals.flatMap(requestsOf)], held).slice(0, own.length)
}

/** What a grid wants under these names. */
export const planGrid = (placed: Placed, namings: readonly Naming[]): GridPlan => {
  const { grid, units } = placed
  const names = new Map(
    requestsOf(placed).map(({ kind, suffix }, at) => [`${kind} ${suffix}`, namings[at]!]),
  )
  const nameOf: NameOf = (kind, suffix) => names.get(`${kind} ${suffix}`)!
  return { grid, units, ...renderGrid(grid, units, nameOf) }
}

/**
 * What all grids of a cluster want on these nodes. They are planned together, since their children's names may collide.
 * Grids that are being deleted want nothing.
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
