// SPDX-License-Identifier: Apache-2.0
import type { Logger } from '../../core/log.js'
import { sameJson } from '../../core/json.js'
import { Informer } from '../../controller/informer.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { parseMetadata } from '../../kube/client/resource.js'
import type { ChildKind, Grid, GridKind, UnitSource } from '../model/grid.js'
import type { LiveChild } from '../model/live.js'
import { nameKey, type NameHolder } from '../model/name.js'
import { areRivals, type GridPlan, type Placed } from '../model/plan.js'
import { makeGridReader, nameHolderOf, type GridRecord } from './grid-record.js'
import { makeChildReader, type CompactChild } from './compact-child.js'
import { sourceKey, UnitCount, type NodeView } from './unit-count.js'
import { CHILD_RESOURCES, childKinds, GRID_RESOURCES, gridKinds, NODES } from './resources.js'

export interface TablesSeams {
  readonly client: Pick<ResourceClient, 'watch'>
  readonly log: Logger
  /** A grid has to be reconciled: it changed, or its units did. */
  readonly onGrid: (key: string) => void
  /** A grid's child changed, or an object with the name of one. */
  readonly onChild: (key: string) => void
}

type Children = Readonly<Record<ChildKind, Informer<CompactChild>>>

/** The kinds of children that a grid may have. */
const kindsOf = (grid: Pick<Grid, 'kind'>): readonly ChildKind[] => {
  switch (grid.kind) {
    case 'ServiceGrid':
      return ['Service']
    case 'DeploymentGrid':
      return ['Deployment']
    case 'StatefulSetGrid':
      return ['StatefulSet', 'Service']
  }
}

/** By what a grid's units are counted; undefined when it cannot be read. */
const keyOf = (grid: GridRecord | undefined): string | undefined =>
  grid?.reading.ok === true ? sourceKey(grid.reading.grid.source) : undefined

/** The objects that grids depend on: Nodes, grids, and all objects that are or could be children. */
export class Tables {
  readonly #seams: TablesSeams
  readonly #nodes: Informer<NodeView>
  readonly #grids: ReadonlyMap<GridKind, Informer<GridRecord>>
  readonly #children: Children
  readonly #byUid = new Map<string, GridRecord>()
  readonly #units = new Map<string, UnitCount>()
  /** Which grid's child is to have a name, by `nameKey`, and the names of each grid. */
  readonly #wanted = new Map<string, GridRecord>()
  readonly #names = new Map<string, readonly string[]>()

  constructor(seams: TablesSeams) {
    this.#seams = seams
    const { client, log } = seams
    this.#nodes = new Informer<NodeView>({
      ...{ client, log, resource: NODES, form: 'metadata' },
      project: raw => ({ labels: parseMetadata(raw).labels }),
      onChange: (_key, before, after) => this.#nodeChanged(before, after),
    })
    this.#grids = new Map(
      gridKinds.map(kind => [
        kind,
        new Informer<GridRecord>({
          ...{ client, log, resource: GRID_RESOURCES[kind], form: 'full' },
          project: makeGridReader(kind),
          onChange: (_key, before, after) => this.#gridChanged(before, after),
        }),
      ]),
    )
    this.#children = Object.fromEntries(
      childKinds.map(kind => [kind, this.#childInformer(kind)]),
    ) as unknown as Children
  }

  /** By name in logs and `/status`. */
  get informers(): Readonly<Record<string, Informer<unknown>>> {
    return Object.fromEntries([
      ['nodes', this.#nodes],
      ...[...this.#grids].map(([kind, informer]) => [GRID_RESOURCES[kind].resource, informer]),
      ...childKinds.map(kind => [CHILD_RESOURCES[kind].resource, this.#children[kind]]),
    ]) as Readonly<Record<string, Informer<unknown>>>
  }

  /** @param key `DeploymentGrid default/web` */
  grid(key: string): GridRecord | undefined {
    const [kind = '', name = ''] = key.split(' ')
    return this.#grids.get(kind as GridKind)?.get(name)
  }

  grids(): readonly GridRecord[] {
    return [...this.#grids.values()].flatMap(informer => informer.list())
  }

  /** The units that have nodes; the same array until it changes. */
  unitsOf(source: UnitSource): readonly string[] {
    const key = sourceKey(source)
    const count = this.#units.get(key) ?? new UnitCount(source, this.#nodes.list())
    this.#units.set(key, count)
    return count.units
  }

  /** Other grids whose children may want the same names. */
  rivalsOf(grid: Grid): readonly Placed[] {
    return this.grids().flatMap(({ uid, isDeleting, reading }) =>
      reading.ok && !isDeleting && uid !== grid.uid && areRivals(grid, reading.grid)
        ? [{ grid: reading.grid, units: this.unitsOf(reading.grid.source) }]
        : [],
    )
  }

  /**
   * Names that existing children of this grid and its rivals have, and those promised to rivals. A rival that is invalid or
   * being deleted wants nothing and still has its children.
   */
  namesHeldFrom(grid: Grid): ReadonlyMap<string, NameHolder> {
    const held = new Map<string, NameHolder>()
    const rivals = this.grids().filter(record => areRivals(grid, record))
    for (const { uid, key } of rivals)
      for (const name of uid === grid.uid ? [] : (this.#names.get(key) ?? []))
        held.set(name, { gridUid: uid, suffix: undefined })
    // After the promises: a child that exists counts more.
    for (const record of rivals)
      for (const kind of childKinds)
        for (const child of this.#children[kind].byIndex('owner', record.uid))
          held.set(nameKey(kind, child.namespace, child.name), nameHolderOf(record, child.labels))
    return held
  }

  /** The existing objects that are a plan's children or have their names. */
  livesFor({ grid, children }: GridPlan): readonly LiveChild[] {
    const found = new Set<LiveChild>()
    for (const kind of kindsOf(grid)) {
      const informer = this.#children[kind]
      for (const child of informer.byIndex('owner', grid.uid ?? '')) found.add(child)
    }
    for (const { kind, name } of children) {
      const named = this.#children[kind].get(`${grid.namespace}/${name}`)
      if (named !== undefined) found.add(named)
    }
    return [...found]
  }

  /**
   * Promise names to this grid's children, so that changes of objects with these names concern this grid, and no two grids
   * get the same name before their children exist.
   * @returns the names that are promised to other grids, by `nameKey`
   */
  want(record: GridRecord, { children }: GridPlan): ReadonlySet<string> {
    this.giveUp(record.key)
    const keys = children.map(({ kind, name }) => nameKey(kind, record.namespace, name))
    const isTaken = (key: string): boolean => this.#wanted.has(key)
    const own = keys.filter(key => !isTaken(key))
    const taken = new Set(keys.filter(isTaken))
    for (const key of own) this.#wanted.set(key, record)
    this.#names.set(record.key, own)
    return taken
  }

  /** Other grids may have the names that were promised to this one, by its key, and that none of its children has. */
  giveUp(grid: string): void {
    for (const name of this.#names.get(grid) ?? []) this.#wanted.delete(name)
    this.#names.delete(grid)
  }

  /** Whether the watch has reported a write. */
  hasReached(kind: ChildKind, version: string): boolean {
    return this.#children[kind].hasReached(version)
  }

  /** Whether the watch has reported a status write. */
  hasReachedGrid(kind: GridKind, version: string): boolean {
    return this.#grids.get(kind)!.hasReached(version)
  }

  #childInformer(kind: ChildKind): Informer<CompactChild> {
    const { client, log } = this.#seams
    return new Informer<CompactChild>({
      ...{ client, log, resource: CHILD_RESOURCES[kind], form: 'full' },
      project: makeChildReader(kind),
      indices: { owner: ({ controller }) => (controller === undefined ? [] : [controller.uid]) },
      onChange: (_key, before, after) => this.#childChanged(kind, before, after),
    })
  }

  #nodeChanged(before: NodeView | undefined, after: NodeView | undefined): void {
    if (sameJson(before?.labels, after?.labels)) return
    const changed = [...this.#units].filter(([, count]) => count.change(before, after))
    const sources = new Set(changed.map(([key]) => key))
    if (sources.size === 0) return
    for (const { key, reading } of this.grids())
      if (reading.ok && sources.has(sourceKey(reading.grid.source))) this.#seams.onGrid(key)
  }

  #gridChanged(before: GridRecord | undefined, after: GridRecord | undefined): void {
    if (before !== undefined && before.uid !== after?.uid) this.#byUid.delete(before.uid)
    if (after === undefined) this.giveUp(before!.key)
    else this.#byUid.set(after.uid, after)
    const source = keyOf(before)
    if (source !== undefined && source !== keyOf(after)) this.#forgetUnits()
    if (before?.revision !== after?.revision) this.#seams.onGrid((after ?? before)!.key)
  }

  /** Units are counted only where a grid asks for them: a grid can be edited any number of times. */
  #forgetUnits(): void {
    const wanted = new Set(this.grids().map(keyOf))
    for (const key of this.#units.keys()) if (!wanted.has(key)) this.#units.delete(key)
  }

  #childChanged(
    kind: ChildKind,
    before: CompactChild | undefined,
    after: CompactChild | undefined,
  ): void {
    const { namespace, name } = (after ?? before)!
    const keys = new Set<string>()
    for (const view of [before, after]) {
      const owner = this.#byUid.get(view?.controller?.uid ?? '')
      if (owner !== undefined) keys.add(owner.key)
    }
    const wanting = this.#wanted.get(nameKey(kind, namespace, name))
    if (wanting !== undefined) keys.add(wanting.key)
    for (const key of keys) this.#seams.onChild(key)
  }
}
