// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { parseWith } from '../../core/parse.js'
import type { ResourceName, ResourceType } from '../../kube/client/resource.js'
import { GRID_API, type ChildKind, type GridKind } from '../model/grid.js'

const [GROUP = '', VERSION = ''] = GRID_API.split('/')

/** The resource of each kind of grid. */
export const GRID_RESOURCES: Readonly<Record<GridKind, ResourceName>> = {
  ServiceGrid: { group: GROUP, version: VERSION, resource: 'servicegrids' },
  DeploymentGrid: { group: GROUP, version: VERSION, resource: 'deploymentgrids' },
  StatefulSetGrid: { group: GROUP, version: VERSION, resource: 'statefulsetgrids' },
}

/** The resource of each kind of children. */
export const CHILD_RESOURCES: Readonly<Record<ChildKind, ResourceName>> = {
  Service: { group: '', version: 'v1', resource: 'services' },
  Deployment: { group: 'apps', version: 'v1', resource: 'deployments' },
  StatefulSet: { group: 'apps', version: 'v1', resource: 'statefulsets' },
}

/** An object's `apiVersion`: `apps/v1`. */
export const apiVersionOf = (kind: ChildKind): string => {
  const { group, version } = CHILD_RESOURCES[kind]
  return group === '' ? version : `${group}/${version}`
}

export const NODES: ResourceName = { group: '', version: 'v1', resource: 'nodes' }

export const gridKinds = Object.keys(GRID_RESOURCES) as readonly GridKind[]
export const childKinds = Object.keys(CHILD_RESOURCES) as readonly ChildKind[]

/** What is needed of a write's result. */
export interface Written {
  readonly uid: string
  /** '' for a dry run that would create an object. */
  readonly resourceVersion: string
  /** Managers that own fields other than the status. */
  readonly managers: readonly string[]
}

const written = v.object({
  metadata: v.object({
    uid: v.nullish(v.string(), ''),
    resourceVersion: v.nullish(v.string(), ''),
    managedFields: v.nullish(
      v.array(
        v.object({ manager: v.optional(v.string(), ''), subresource: v.optional(v.string(), '') }),
      ),
      [],
    ),
  }),
})

const parseWritten = (raw: unknown): Written => {
  const { uid, resourceVersion, managedFields } = parseWith(written, 'answer', raw).metadata
  const managers = managedFields.flatMap(({ manager, subresource }) =>
    subresource === '' ? manager : [],
  )
  return { uid, resourceVersion, managers }
}

/** For writes: the result is not kept, since the watch reports it. */
export const writtenType = (resource: ResourceName): ResourceType<Written> => ({
  ...resource,
  parse: parseWritten,
})
