// SPDX-License-Identifier: Apache-2.0
// The facts that doctor gathers, before it concludes anything.
import type { StatusView } from '../agent/http/status-view.js'

/** An answer, or the reason why there is none, in words. */
export type Asked<T> =
  | { readonly ok: true; readonly value: T }
  /** @param status the HTTP status, where the apiserver refused it */
  | { readonly ok: false; readonly reason: string; readonly status?: number }

/** Something that the agent must be allowed to do, as RBAC spells it. */
export interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
}

/** The result of requests to a peer's agent. */
export interface PeerProbe {
  readonly name: string
  readonly address: string
  /** The HTTP status of the answer to a short request; any status will do. */
  readonly short: Asked<number>
  /** The same for a request of several full packets; not tried after the short one failed. */
  readonly long: Asked<number> | 'timeout' | undefined
}

/** Everything that was gathered. */
export interface DoctorFacts {
  readonly url: string
  readonly agent: Asked<StatusView>
  /** How far this clock is ahead of the apiserver's, in milliseconds; null when it does not say. */
  readonly api: Asked<{ readonly aheadMs: number | null }>
  /** The user name under which the apiserver knows us. */
  readonly account: Asked<string>
  readonly rights: readonly { readonly right: Right; readonly allowed: Asked<boolean> }[]
  /** The members of the zone according to the present Nodes and ConfigMaps. */
  readonly members: Asked<readonly string[]>
  readonly peers: readonly PeerProbe[]
  /** The listener of `--metrics-address`, if the options have one. */
  readonly metrics:
    { readonly url: string; readonly port: number; readonly answer: Asked<number> } | undefined
  /** The agent's ports; below, the kernel's range of ports for outgoing connections, and the reserved ports. */
  readonly ports: readonly number[]
  readonly ephemeral: Asked<{
    readonly from: number
    readonly to: number
    readonly reserved: string
  }>
  readonly link: Asked<{ readonly name: string; readonly mtu: number }>
  readonly kubelet: Asked<number>
  readonly kubeletUrl: string
  readonly namespace: string
  readonly keySecret: string
}
