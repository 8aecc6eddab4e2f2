// SPDX-License-Identifier: Apache-2.0
// Where the two halves of a running bridge meet: upstream does what edges ask, downstream sends them objects.
import type { ControllerParts } from '../../controller/program.js'
import type { Clock } from '../../core/clock.js'
import type { NodeName } from '../../core/ids.js'
import type { JsonMap } from '../../core/json.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { WriteGuard } from '../../kube/client/write.js'
import type { Metric } from '../../net/metrics-text.js'
import type { NodeLink } from '../hub/hub.js'
import type { EndReason } from '../hub/session.js'
import type { LocationCache } from '../model/location/location-cache.js'
import type { Message } from '../model/message/message.js'
import type { Resource } from '../model/resource/resource.js'

/** What is sent to edges, what they hold, and the Leases of those that are not heard. None of its methods may throw. */
export interface Downstream {
  /** Edges are refused until all of them have listed: before, nobody knows whose a pod is. */
  readonly informers: ControllerParts['informers']
  /** Whether the cluster has a Node of that name; false until they are listed. */
  hasNode(node: NodeName): boolean
  /** A node is connected. The end of an earlier connection was reported before. */
  connected(link: NodeLink): void
  /** `response` or `error` of an edge, to whichever message its parent names: an answer of upstream's may be one. */
  acknowledged(link: NodeLink, message: Message): void
  ended(link: NodeLink, why: EndReason): void
  /**
   * An object leaves as the answer to a query: the edge will hold it. Called before it leaves. One without a uid stands in
   * for an object that does not exist and that no pod must have.
   * @param resource what was asked for
   */
  answering(resource: Resource, object: JsonMap): void
  /**
   * An edge reported about a pod of which nobody knows: it may run one that is gone, and that no record has.
   * @param uid that of the pod, by the edge's word
   */
  podUnknown(pod: Resource, uid: string): void
  /** The Lease of a node as the apiserver has it now, read or written for the node: it was heard. */
  leaseSeen(node: NodeName, lease: JsonMap): void
  /**
   * Its work of one term, over informers that are synced. Connections are reported in terms alone, after this was called:
   * each term's end is theirs, and those that outlive it begin anew with the next one. Ends soon after the signal aborts.
   */
  lead(term: AbortSignal): Promise<void>
  /** For `/status`. */
  readonly status: object
  readonly metrics: readonly Metric[]
  /** For `/explain?node=`: what was sent to the node, what waits and why. */
  explain(node: NodeName): object
}

/** What downstream gets of the program. */
export interface DownstreamSeams {
  readonly client: ResourceClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Asked right before each write: false when another bridge leads. */
  readonly guard: WriteGuard
  /** Whose pods are where. Downstream's watch of pods fills it; rights read it. */
  readonly locations: LocationCache
}
