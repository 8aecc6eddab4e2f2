// SPDX-License-Identifier: Apache-2.0
import { sameJson } from '../../core/json.js'
import type { Grid } from '../model/grid.js'
import type { Drift } from '../model/drift.js'
import { driftOf } from '../model/drift.js'
import type { Readings } from '../model/decide.js'
import type { LiveChild } from '../model/live.js'
import type { Naming } from '../model/name.js'
import { nameChildren, planGrid, type GridPlan } from '../model/plan.js'
import type { Child } from '../model/child.js'
import { rolloutOf } from '../model/rollout.js'
import { takeoverPatch } from '../model/takeover.js'
import type { GridRecord } from './grid-record.js'
import { CompactChild } from './compact-child.js'
import type { Tables } from './tables.js'

type PlannerTables = Pick<Tables, 'unitsOf' | 'rivalsOf' | 'namesHeldFrom'>

interface Kept {
  readonly revision: string
  readonly units: readonly string[]
  readonly names: string
  readonly plan: GridPlan
}

interface Read {
  readonly body: string
  readonly drift: Drift | undefined
}

const textOf = (namings: readonly Naming[]): string =>
  namings.map(naming => (naming.ok ? naming.name : `!${naming.trouble}`)).join('\n')

/** The plan with the previous plan's child objects where they are equal, so that values cached for them stay valid. */
const withSameChildren = (plan: GridPlan, before: GridPlan | undefined): GridPlan => {
  const known = new Map(before?.children.map(child => [`${child.kind} ${child.name}`, child]))
  const children = plan.children.map(child => {
    const same = known.get(`${child.kind} ${child.name}`)
    return same !== undefined && sameJson(same, child) ? same : child
  })
  return { ...plan, children }
}

/**
 * Plans of grids and comparisons of their children, cached: a thousand children that become ready are not rendered and
 * compared a thousand times.
 */
export class Planner {
  readonly #tables: PlannerTables
  readonly #kept = new Map<string, Kept>()
  readonly #read = new WeakMap<Child, Read>()

  constructor(tables: PlannerTables) {
    this.#tables = tables
  }

  /** The same object as before while nothing that it depends on has changed. */
  planOf({ key, revision }: GridRecord, grid: Grid): GridPlan {
    const units = this.#tables.unitsOf(grid.source)
    const rivals = this.#tables.rivalsOf(grid)
    const placed = { grid, units }
    const held = this.#tables.namesHeldFrom(grid)
    const namings = nameChildren(placed, rivals, held)
    const names = textOf(namings)
    const kept = this.#kept.get(key)
    if (kept?.revision === revision && kept.units === units && kept.names === names)
      return kept.plan
    const plan = withSameChildren(planGrid(placed, namings), kept?.plan)
    this.#kept.set(key, { revision, units, names, plan })
    return plan
  }

  forget(key: string): void {
    this.#kept.delete(key)
  }

  readonly readings: Readings = {
    drift: (child, live) => this.#drift(child, live),
    rollout: live => (live instanceof CompactChild ? live.rollout : undefined) ?? rolloutOf(live),
    takeover: live => (live instanceof CompactChild ? live.takeover : takeoverPatch(live)),
  }

  #drift(child: Child, live: LiveChild): Drift | undefined {
    if (!(live instanceof CompactChild)) return driftOf(child.object, live)
    const known = this.#read.get(child)
    if (known?.body === live.body) return known.drift
    const drift = driftOf(child.object, live)
    this.#read.set(child, { body: live.body, drift })
    return drift
  }
}
