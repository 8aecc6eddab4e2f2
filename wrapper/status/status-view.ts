// SPDX-License-Identifier: Apache-2.0
// The JSON of `/status` and `/explain`: what `edge-health wrapper status` and `explain` read. Instants are ISO 8601 of
// the wrapper's wall clock, lengths of time are seconds; null means no value.

/** One resource that is served. */
export interface ResourceView {
  readonly resource: string
  /** `none`: not known yet; `absent`: the apiserver does not have it; `disk`: from before this start. */
  readonly source: 'none' | 'absent' | 'disk' | 'api'
  readonly objects: number
  /** The apiserver cannot be asked about it now, so what is served may be old. */
  readonly isStale: boolean
  /** Time since the apiserver last answered or sent an event; for a list from disk, since it was written. */
  readonly ageSeconds: number | null
  /** Full lists since the start. */
  readonly lists: number
  readonly watchers: number
  readonly trouble: string | null
}

/** The health of nodes, by the agent. */
export interface HealthView {
  readonly state: 'off' | 'waiting' | 'fresh' | 'last-known' | 'expired'
  readonly source: 'none' | 'push' | 'poll'
  readonly ageSeconds: number | null
  readonly nodes: number
  readonly dead: readonly string[]
  readonly connects: number
  readonly trouble: string | null
}

/** The nodes that share this node's value of a label that topology keys name. */
export interface NeighboursView {
  readonly label: string
  readonly value: string
  /** How many share it, this node among them; null: not known yet. */
  readonly nodes: number | null
  /** Few nodes are watched, many are polled every two minutes. */
  readonly how: 'watched' | 'polled'
  readonly trouble: string | null
}

/** `GET /status`. */
export interface WrapperStatusView {
  readonly version: string
  readonly at: string
  readonly uptimeSeconds: number
  readonly node: string
  /** Set when the cluster has no Node of this name: then services with topology have no endpoints here. */
  readonly nodeTrouble: string | null
  /** Set when the kubeconfig has come to name the wrapper as the apiserver: the last good one is used until a restart. */
  readonly apiserverTrouble: string | null
  readonly ready: { readonly isReady: boolean; readonly reason: string }
  readonly resources: readonly ResourceView[]
  readonly neighbours: readonly NeighboursView[]
  readonly health: HealthView
  /**
   * Services whose annotation `topologyKeys` cannot be read: the last valid keys are used, or none where it is
   * empty.
   */
  readonly malformed: readonly string[]
  readonly requests: {
    readonly gets: number
    readonly lists: number
    readonly watches: number
    readonly refused: number
    readonly passed: number
    readonly upgraded: number
    /** Answered 503, because the apiserver could not be reached. */
    readonly unreachable: number
  }
  readonly watchEvents: {
    readonly written: number
    readonly encoded: number
    /** Watches that were ended because their client was too slow. */
    readonly overtaken: number
    /** Watches that were ended because an object could not be encoded. */
    readonly failed: number
  }
  readonly events: {
    readonly waiting: number
    readonly bytes: number
    readonly accepted: number
    readonly sent: number
    readonly dropped: number
    readonly refused: number
  }
  /** Connections that were closed to make room for others, by listener. */
  readonly connectionsEvicted: { readonly clients: number; readonly status: number }
  readonly disk: { readonly writes: number; readonly trouble: string | null }
}

/** One endpoint and the decision about it. */
export interface EndpointDecision {
  /** `namespace/name` of the slice or the Endpoints object. */
  readonly object: string
  readonly address: string
  readonly node: string | null
  readonly isKept: boolean
  readonly reason: string
}

/** `GET /explain?service=NAMESPACE/NAME`. */
export interface ServiceView {
  readonly version: string
  readonly at: string
  readonly node: string
  readonly service: string
  /** Whether the Service itself is known. */
  readonly isKnown: boolean
  readonly topologyKeys: readonly string[]
  /** The error in the annotation. */
  readonly topologyTrouble: string | null
  readonly health: HealthView
  readonly slices: readonly EndpointDecision[]
  readonly endpoints: readonly EndpointDecision[]
}
