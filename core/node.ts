// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from './ids.js'

/** As in the Kubernetes API. */
export interface Taint {
  readonly key: string
  readonly value?: string | undefined
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
  readonly timeAdded?: string | undefined
}

/** As in the Kubernetes API. */
export interface NodeCondition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly lastTransitionTime?: string | undefined
  readonly lastHeartbeatTime?: string | undefined
}

/** A Kubernetes Node, cut down to what the agent uses. Frozen. */
export interface NodeView {
  readonly name: NodeName
  readonly uid: string
  readonly resourceVersion: string
  readonly labels: Readonly<Record<string, string>>
  /** Only `nodeunhealth` and keys that start with `edge-health/`. */
  readonly annotations: Readonly<Record<string, string>>
  /** In the API's order: JSON patches name taints by their place. */
  readonly taints: readonly Taint[]
  /** InternalIPs in the API's order; the first one is the node's address. */
  readonly internalIPs: readonly string[]
  /** Only `Ready` and `PeerHealth`. */
  readonly conditions: readonly NodeCondition[]
  /** `spec.unschedulable`: cordoned. @default false */
  readonly isCordoned?: boolean | undefined
}
