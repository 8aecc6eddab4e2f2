// SPDX-License-Identifier: Apache-2.0

/** Label of a child: its grid's name. SuperEdge's. */
export const GRID_LABEL = 'superedge.io/grid-selector'
/** Label of a child, or annotation where the key has a domain: its grid's `gridUniqKey`. SuperEdge's. */
export const KEY_LABEL = 'superedge.io/grid-uniq-key'
/** Label of a workload, and of pods behind a headless Service: their unit. */
export const UNIT_LABEL = 'edge-health/unit'
/** Value of the node label whose key is a NodeUnit that the node is in. */
export const NODE_UNIT_VALUE = 'nodeunits.superedge.io'
/** Annotation of a Service that the wrapper obeys: a JSON list of node label keys. */
export const TOPOLOGY_ANNOTATION = 'topologyKeys'
/** The label by which Kubernetes itself knows zones. */
export const ZONE_LABEL = 'topology.kubernetes.io/zone'
/** A node is alone with its value of this label. */
export const HOSTNAME_LABEL = 'kubernetes.io/hostname'
/** Annotation of a grid: `unmanaged` leaves `spec.replicas` of its children to others, an autoscaler for one. */
export const REPLICAS_ANNOTATION = 'edge-health/replicas'
/** Annotation of a grid: the token of a hold, to let its units go. */
export const CONFIRM_ANNOTATION = 'edge-health/confirm-removal'
/** Annotation of a workload: since when its unit is gone, RFC 3339. */
export const GONE_ANNOTATION = 'edge-health/unit-gone-since'
/** Writes of ours, in `metadata.managedFields`. */
export const MANAGER = 'edge-health-grids'
/** Who takes the replicas over when we let go of them: a field that nobody owns any more would be reset. */
export const REPLICAS_MANAGER = 'edge-health-grids-replicas'
/** Writes of SuperEdge's controller, there. */
export const SUPEREDGE_MANAGER = 'application-grid-controller'
