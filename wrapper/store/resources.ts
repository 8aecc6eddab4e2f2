// SPDX-License-Identifier: Apache-2.0
import type { Kind } from '../wire/kinds.js'

/** The resources that the wrapper keeps, by their names in paths. */
export type Resource = 'nodes' | 'services' | 'endpoints' | 'endpointslices' | 'servicecidrs'

/** How the API serves a resource. */
export interface Row {
  readonly resource: Resource
  readonly kind: Kind
  readonly group: string
  /** The version that is kept. */
  readonly version: string
  readonly isNamespaced: boolean
  /** Path of the list at the apiserver. */
  readonly path: string
  /** Fields that selectors may name, apart from name and namespace. */
  readonly fields: readonly string[]
}

export const ROWS: Readonly<Record<Resource, Row>> = {
  nodes: {
    resource: 'nodes',
    kind: 'Node',
    group: '',
    version: 'v1',
    isNamespaced: false,
    path: '/api/v1/nodes',
    fields: ['spec.unschedulable'],
  },
  services: {
    resource: 'services',
    kind: 'Service',
    group: '',
    version: 'v1',
    isNamespaced: true,
    path: '/api/v1/services',
    fields: ['spec.clusterIP', 'spec.type'],
  },
  endpoints: {
    resource: 'endpoints',
    kind: 'Endpoints',
    group: '',
    version: 'v1',
    isNamespaced: true,
    path: '/api/v1/endpoints',
    fields: [],
  },
  endpointslices: {
    resource: 'endpointslices',
    kind: 'EndpointSlice',
    group: 'discovery.k8s.io',
    version: 'v1',
    isNamespaced: true,
    path: '/apis/discovery.k8s.io/v1/endpointslices',
    fields: [],
  },
  servicecidrs: {
    resource: 'servicecidrs',
    kind: 'ServiceCIDR',
    group: 'networking.k8s.io',
    version: 'v1',
    isNamespaced: false,
    path: '/apis/networking.k8s.io/v1/servicecidrs',
    fields: [],
  },
}

export const RESOURCES = Object.keys(ROWS) as readonly Resource[]
