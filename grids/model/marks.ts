// SPDX-License-Identifier: Apache-2.0

/** SuperEdge's label of a child: its grid's name. */
export const GRID_LABEL = 'superedge.io/grid-selector'
/** SuperEdge's label of a child, or an annotation when the key has a domain: its grid's `gridUniqKey`. */
export const KEY_LABEL = 'superedge.io/grid-uniq-key'
/** Label of a workload, and of pods behind a headless Service: their unit. */
export const UNIT_LABEL = 'edge-health/unit'
/** Value of the node label whose key is a NodeUnit of the node. */
export const NODE_UNIT_VALUE = 'nodeunits.superedge.io'
/** Annotation of a Service, read by the wrapper: a JSON list of node label keys. */
export const TOPOLOGY_ANNOTATION = 'topologyKeys'
/** Kubernetes' own label for zones. */
export const ZONE_LABEL = 'topology.kubernetes.io/zone'
/** Unique for each node. */
export const HOSTNAME_LABEL = 'kubernetes.io/hostname'
/** Annotation of a grid: `unmanaged` leaves `spec.replicas` of its children to others, such as an autoscaler. */
export const REPLICAS_ANNOTATION = 'edge-health/replicas'
/** Annotation of a grid: the token of a hold, to confirm the removal of its units. */
export const CONFIRM_ANNOTATION = 'edge-health/confirm-removal'
/** Annotation of a workload: since when its unit is gone, RFC 3339. */
export const GONE_ANNOTATION = 'edge-health/unit-gone-since'
/** Our field manager. */
export const MANAGER = 'edge-health-grids'
/** Field manager that takes over the replicas when we stop setting them: without an owner the field would be reset. */
export const REPLICAS_MANAGER = 'edge-health-grids-replicas'
/** Field manager of SuperEdge's controller. */
export const SUPEREDGE_MANAGER = 'application-grid-controller'
