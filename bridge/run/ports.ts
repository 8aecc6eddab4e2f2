// SPDX-License-Identifier: Apache-2.0
// The interface between the halves of a running bridge: upstream carries out edges' requests, downstream sends them
// objects.
import type { ControllerParts } from '../../controller/program.js'
import type { Clock } from '../../core/clock.js'
import type { NodeName } from '../../core/ids.js'
import type { JsonMap } from '../../core/json.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { WriteGuard } from '../../kube/client/write.js'
import type { Metric } from '../../net/metrics-text.js'
import type { NodeLink } from '../hub/node-link.js'
import type { EndReason } from '../hub/session.js'
import type { LocationCache } from '../model/location/location-cache.js'
import type { Message } from '../model/message/message.js'
import type { Resource } from '../model/resource/resource.js'

/**
 * Sends edges their objects, records what they hold, and renews Leases of disconnected ones. None of its methods may throw.
 */
export interface Downstream {
  /** Edges are refused until all of these have synced, since until then it is unknown on which node a pod is. */
  readonly informers: ControllerParts['informers']
  /** Whether the cluster has a Node of this name; false until Nodes are listed. */
  hasNode(node: NodeName): boolean
  /** The uid of the edge node's Node that a connected node was last served as. */
  servedUid(node: NodeName): string | undefined
  /** A node connected. If it had another connection, its end was reported before. */
  connected(link: NodeLink): void
  /** A `response` or `error` of an edge to any message of the bridge, also to an answer by upstream. */
  acknowledged(link: NodeLink, message: Message): void
  ended(link: NodeLink, why: EndReason): void
  /**
   * Called before an object is sent as the answer to a query: the edge will hold it. One without a uid is an empty stand-in
   * for an optional object that does not exist.
   * @param resource what was queried
   */
  answering(resource: Resource, object: JsonMap): void
  /**
   * An edge sent a report about an unknown pod: it may be running a pod that was deleted and is in no record.
   * @param uid as the edge reports it
   */
  podUnknown(pod: Resource, uid: string): void
  /** A node's Lease as just read or written on its behalf: a sign of life. */
  leaseSeen(node: NodeName, lease: JsonMap): void
  /**
   * Downstream's work during one term; its informers have synced. Connections are reported only during a term and after
   * this was called: for downstream they end with the term, and those that outlive it are reported again in the next.
   * Resolves soon after the signal aborts.
   */
  lead(term: AbortSignal): Promise<void>
  /** For `/status`. */
  readonly status: object
  readonly metrics: readonly Metric[]
  /** For `/explain?node=`: what was sent to the node, what is queued and why. */
  explain(node: NodeName): object
}

/** What downstream needs of the program. */
export interface DownstreamSeams {
  readonly client: ResourceClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Checked right before each write: refuses while another bridge leads. */
  readonly guard: WriteGuard
  /** On which node each pod is. Filled by downstream's watch of pods, read by the checks of rights. */
  readonly locations: LocationCache
}
