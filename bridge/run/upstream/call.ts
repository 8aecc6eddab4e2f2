// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { KubeStatus } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import type { LocationCache } from '../../model/location/location-cache.js'
import type { Message } from '../../model/message/message.js'
import type { Resource } from '../../model/resource/resource.js'
import type { Handler, UpstreamRoute } from '../../model/route/upstream.js'
import type { Downstream } from '../ports.js'
import type { AgentApi } from '../agents/agent-api.js'
import type { Watches } from '../agents/watch-desk.js'
import type { SharedReads } from './shared-reads.js'

/** What an edge asked. */
export interface Request {
  readonly node: NodeName
  readonly message: Message
  readonly route: UpstreamRoute
  /** Undefined where it is about no object. */
  readonly resource: Resource | undefined
  /** Clock ms. */
  readonly arrivedAt: number
  /** The same by the apiserver's clock, epoch ms, never ahead of it; undefined while that is not known. */
  readonly servedAt: number | undefined
}

/** What came of a request. */
export type Result =
  | { readonly kind: 'object'; readonly object: JsonMap }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'done' }
  /** A request of an agent, done; `body` is the answer of the Kubernetes API in JSON. */
  | { readonly kind: 'approved'; readonly body: string | undefined }
  /** Watches of an agent that are not kept, by the edge's names for them. */
  | { readonly kind: 'watches'; readonly failed: JsonMap }
  | { readonly kind: 'refused'; readonly refusal: KubeStatus }

export interface ExecutorSeams {
  readonly client: ResourceClient
  readonly clock: Clock
  readonly locations: LocationCache
  readonly agents: AgentApi
  readonly watches: Watches
  readonly downstream: Pick<Downstream, 'answering' | 'leaseSeen' | 'podUnknown'>
  /** Asked right before each write. */
  readonly guard: WriteGuard
  /** Aborts when the program ends. */
  readonly signal: AbortSignal
}

/** One request while it is carried out. */
export interface Call extends ExecutorSeams {
  /** For objects that many nodes may ask for at the same time. */
  readonly reads: SharedReads
  readonly node: NodeName
  readonly handler: Handler
  readonly resource: Resource
  /** The object, patch or options of the message; empty for what has none. */
  readonly content: JsonMap
  readonly message: Message
  readonly servedAt: number | undefined
}

/** It is not done; the reason, which is sent to the edge. */
export const refused = (status: number, reason: string, message: string): Result => ({
  kind: 'refused',
  refusal: { status, reason, message },
})
