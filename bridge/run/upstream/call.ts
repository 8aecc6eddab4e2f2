// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { KubeStatus } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import type { NodeChecks } from '../../hub/checked-sends.js'
import type { LocationCache } from '../../model/location/location-cache.js'
import type { Message } from '../../model/message/message.js'
import type { Resource } from '../../model/resource/resource.js'
import type { Handler, UpstreamRoute } from '../../model/route/upstream.js'
import type { Downstream } from '../ports.js'
import type { AgentApi } from '../agents/agent-api.js'
import type { Watches } from '../agents/watch-desk.js'
import type { SharedReads } from './shared-reads.js'

/** A request of an edge. */
export interface Request {
  readonly node: NodeName
  readonly message: Message
  readonly route: UpstreamRoute
  /** Undefined when it names no object. */
  readonly resource: Resource | undefined
  /** Clock ms. */
  readonly arrivedAt: number
  /** The same by the apiserver's clock, epoch ms, never ahead of it; undefined when that clock is unknown. */
  readonly servedAt: number | undefined
}

/** The outcome of a request. */
export type Result =
  | { readonly kind: 'object'; readonly object: JsonMap }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'done' }
  /** A request of an agent succeeded; `body` is the Kubernetes API's answer as JSON. */
  | { readonly kind: 'approved'; readonly body: string | undefined }
  /** Watches of an agent that are refused, by the edge's ids for them. */
  | { readonly kind: 'watches'; readonly failed: JsonMap }
  | { readonly kind: 'refused'; readonly refusal: KubeStatus }

export interface ExecutorSeams extends NodeChecks {
  readonly client: ResourceClient
  readonly clock: Clock
  readonly locations: LocationCache
  readonly agents: AgentApi
  readonly watches: Watches
  readonly downstream: Pick<Downstream, 'answering' | 'leaseSeen' | 'podUnknown'>
  /** Checked right before each write. */
  readonly guard: WriteGuard
  /** Aborts when the program ends. */
  readonly signal: AbortSignal
}

/** A request that is being carried out. */
export interface Call extends ExecutorSeams {
  /** For objects that many nodes may read at the same time. */
  readonly reads: SharedReads
  readonly node: NodeName
  readonly handler: Handler
  readonly resource: Resource
  /** The object, patch or options in the message; empty when it has none. */
  readonly content: JsonMap
  readonly message: Message
  readonly servedAt: number | undefined
}

/** A refusal with the reason that is sent to the edge. */
export const refused = (status: number, reason: string, message: string): Result => ({
  kind: 'refused',
  refusal: { status, reason, message },
})
