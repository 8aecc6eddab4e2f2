// SPDX-License-Identifier: Apache-2.0

export type KeepReason =
  | 'kept'
  /** It runs on this node, which is within its own topology and never counts as dead for itself. */
  | 'kept-own-node'
  /** The object does not say on which node it runs. */
  | 'kept-no-node'
  /** Nothing was reported about the health of its node. */
  | 'kept-unknown-node'
  /** The last report said that its node is dead, but the report is too old. */
  | 'kept-stale-health'
  /** Its node is dead, and without the endpoints of dead nodes a port of the service would have none. */
  | 'kept-last-of-port'
  /** It replaces all endpoints: the object's annotations name it as this node's address of the apiserver. */
  | 'local-endpoint'

export type CutReason =
  /** Its node has no topology value in common with this node. */
  | 'no-topology-match'
  /** The service has topology keys, and this node itself is not in the list of nodes. */
  | 'own-node-not-listed'
  /** Its node is reported dead. */
  | 'node-dead'
  /** The object's annotations name an address of this node instead. */
  | 'replaced-by-local'

/** Whether an endpoint is kept, and why. */
export type Decision =
  | { readonly keep: true; readonly reason: KeepReason }
  | { readonly keep: false; readonly reason: CutReason }
