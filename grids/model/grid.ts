// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../core/json.js'
import type { PatchOperation } from '../../core/json-patch.js'

/** A JSON object that nobody changes. */
export type Json = Readonly<JsonMap>

/** Group and version of the grids. */
export const GRID_API = 'superedge.io/v1'

export type GridKind = 'ServiceGrid' | 'DeploymentGrid' | 'StatefulSetGrid'

/** What a grid's children are. */
export type ChildKind = 'Service' | 'Deployment' | 'StatefulSet'

/** Where a grid's units come from. */
export type UnitSource =
  /** The values of a node label; a NodeGroup of SuperEdge writes its own name as the key, and the unit's as the value. */
  | { readonly by: 'label-value'; readonly key: string }
  /**
   * NodeUnits of SuperEdge: node labels whose *key* is the unit and whose value is `nodeunits.superedge.io`.
   * `names` undefined: all there are.
   */
  | { readonly by: 'node-unit'; readonly names: readonly string[] | undefined }

/** Patches on the template of some units. */
export interface Override {
  /** Undefined: of every unit. */
  readonly units?: readonly string[] | undefined
  /** Paths are inside the template; `{{unit}}` in the text of a value is the unit's name. */
  readonly patches: readonly PatchOperation[]
}

interface GridBase {
  readonly namespace: string
  readonly name: string
  /** Undefined for a grid that no apiserver has seen: then its children get no owner. */
  readonly uid: string | undefined
  readonly generation: number
  /** RFC 3339; undefined as `uid` is. */
  readonly createdAt: string | undefined
  readonly isDeleting: boolean
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly source: UnitSource
}

/** One Service, whose traffic stays in the unit that it comes from. Frozen all the way down. */
export interface ServiceGrid extends GridBase {
  readonly kind: 'ServiceGrid'
  /** A Service's spec. */
  readonly template: Json
  /** `spec.trafficDistribution` of the Service: a preference for clusters without the wrapper. */
  readonly trafficDistribution: string | undefined
}

/** A workload for every unit. Frozen all the way down. */
export interface WorkloadGrid extends GridBase {
  readonly kind: 'DeploymentGrid' | 'StatefulSetGrid'
  /** The spec of a Deployment or a StatefulSet. */
  readonly template: Json
  /** Others, by name, for units that try something first. */
  readonly templatePool: ReadonlyMap<string, Json>
  /** Unit to the name of its template. */
  readonly templates: ReadonlyMap<string, string>
  /** Of units that `templates` does not name; `default` is `template`. */
  readonly defaultTemplateName: string
  readonly overrides: readonly Override[]
  /** A StatefulSetGrid's: a headless Service for every unit. */
  readonly hasHeadlessServices: boolean
}

export type Grid = ServiceGrid | WorkloadGrid

/** As logs and errors name a grid: `DeploymentGrid default/web`. */
export const gridText = ({
  kind,
  namespace,
  name,
}: Pick<Grid, 'kind' | 'namespace' | 'name'>): string => `${kind} ${namespace}/${name}`

/** The kind of the children that run in a unit, or are the grid's Service. */
export const childKindOf: Readonly<Record<GridKind, ChildKind>> = {
  ServiceGrid: 'Service',
  DeploymentGrid: 'Deployment',
  StatefulSetGrid: 'StatefulSet',
}
