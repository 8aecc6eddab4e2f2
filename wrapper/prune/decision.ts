// SPDX-License-Identifier: Apache-2.0

export type KeepReason =
  | 'kept'
  /** It runs on this node, which is in its own topology and does not believe ill of itself. */
  | 'kept-own-node'
  /** The object does not say where it runs. */
  | 'kept-no-node'
  /** Nobody has said anything about the health of its node. */
  | 'kept-unknown-node'
  /** Its node was dead when we last heard; that is too long ago. */
  | 'kept-stale-health'
  /** Its node is dead, and without such ones a port of the service would have no endpoint to send traffic to. */
  | 'kept-last-of-port'
  /** It stands for the whole object: its annotations name it as this node's way to the apiserver. */
  | 'local-endpoint'

export type CutReason =
  /** Its node has no topology value in common with this node. */
  | 'no-topology-match'
  /** The service asks for topology and this node itself is not in the list of nodes. */
  | 'own-node-not-listed'
  /** Its node is not normal, as this node sees it. */
  | 'node-dead'
  /** The object's annotations name an address of this node instead. */
  | 'replaced-by-local'

/** Whether an endpoint is kept, and why. */
export type Decision =
  | { readonly keep: true; readonly reason: KeepReason }
  | { readonly keep: false; readonly reason: CutReason }
