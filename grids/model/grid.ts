// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../core/json.js'
import type { PatchOperation } from '../../core/json-patch.js'

/** An immutable JSON object. */
export type Json = Readonly<JsonMap>

/** Group and version of the grids. */
export const GRID_API = 'superedge.io/v1'

export type GridKind = 'ServiceGrid' | 'DeploymentGrid' | 'StatefulSetGrid'

/** What a grid's children are. */
export type ChildKind = 'Service' | 'Deployment' | 'StatefulSet'

/** What the units of a grid are. */
export type UnitSource =
  /** The values of a node label. For a NodeGroup of SuperEdge the key is the group's name and the value the unit's. */
  | { readonly by: 'label-value'; readonly key: string }
  /**
   * NodeUnits of SuperEdge: node labels whose *key* is the unit and whose value is `nodeunits.superedge.io`. `names`
   * undefined: all of them.
   */
  | { readonly by: 'node-unit'; readonly names: readonly string[] | undefined }

/** Patches on the template of some units. */
export interface Override {
  /** Undefined: all units. */
  readonly units?: readonly string[] | undefined
  /** Paths are relative to the template; `{{unit}}` in text values is replaced by the unit's name. */
  readonly patches: readonly PatchOperation[]
}

interface GridBase {
  readonly namespace: string
  readonly name: string
  /** Undefined for a grid that is in no cluster; its children then have no owner. */
  readonly uid: string | undefined
  readonly generation: number
  /** RFC 3339; undefined as `uid` is. */
  readonly createdAt: string | undefined
  readonly isDeleting: boolean
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly source: UnitSource
}

/** One Service whose traffic stays within the client's unit. Deeply frozen. */
export interface ServiceGrid extends GridBase {
  readonly kind: 'ServiceGrid'
  /** A Service's spec. */
  readonly template: Json
  /** `spec.trafficDistribution` of the Service: a preference for clusters without the wrapper. */
  readonly trafficDistribution: string | undefined
}

/** One workload per unit. Deeply frozen. */
export interface WorkloadGrid extends GridBase {
  readonly kind: 'DeploymentGrid' | 'StatefulSetGrid'
  /** The spec of a Deployment or a StatefulSet. */
  readonly template: Json
  /** More templates, by name, to try something in some units first. */
  readonly templatePool: ReadonlyMap<string, Json>
  /** Name of the template, by unit. */
  readonly templates: ReadonlyMap<string, string>
  /** For units that are not in `templates`; `default` is `template`. */
  readonly defaultTemplateName: string
  readonly overrides: readonly Override[]
  /** StatefulSetGrid only: create a headless Service per unit. */
  readonly hasHeadlessServices: boolean
}

export type Grid = ServiceGrid | WorkloadGrid

/** A grid's name in logs and errors: `DeploymentGrid default/web`. */
export const gridText = ({
  kind,
  namespace,
  name,
}: Pick<Grid, 'kind' | 'namespace' | 'name'>): string => `${kind} ${namespace}/${name}`

/** The kind of the unit's workload, or of the grid's Service. */
export const childKindOf: Readonly<Record<GridKind, ChildKind>> = {
  ServiceGrid: 'Service',
  DeploymentGrid: 'Deployment',
  StatefulSetGrid: 'StatefulSet',
}
