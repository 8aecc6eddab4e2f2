// SPDX-License-Identifier: Apache-2.0

/** SuperEdge's annotation of a condemned node; its value is always `yes`. */
export const UNHEALTHY_ANNOTATION = 'nodeunhealth'
/** Why the node carries our marks, in words. */
export const REASON_ANNOTATION = 'edge-health/reason'
/** Label of a node that the peers vouch for; its value is always `true`. Unlike annotations, labels can be used in selectors. */
export const VOUCHED_LABEL = 'edge-health/vouched'
/** Set by an operator, RFC 3339: until then the node is judged and marked as usual, but nobody is alerted. */
export const MAINTENANCE_ANNOTATION = 'edge-health/maintenance-until'
/** The NodeCondition that says what the peers see. */
export const PEER_HEALTH = 'PeerHealth'
/** Keys with this prefix are ours, even if the options no longer name them. */
export const OWN_PREFIX = 'edge-health/'
/** Whether an agent reads this annotation of other nodes' Nodes; the bridge sends edges no others. */
export const isReadAnnotation = (key: string): boolean =>
  key === UNHEALTHY_ANNOTATION || key.startsWith(OWN_PREFIX)
/** The same for conditions, by type. */
export const isReadCondition = (type: unknown): boolean => type === 'Ready' || type === PEER_HEALTH
/** The taint that keeps new pods away from a node that is cut off, unless the options name another one. */
export const CUT_TAINT = 'edge-health/cloud-link-cut'
/** The control plane's taints for a node that it does not hear from, and for one that reports that it is not ready. */
export const UNREACHABLE_TAINT = 'node.kubernetes.io/unreachable'
export const NOT_READY_TAINT = 'node.kubernetes.io/not-ready'
