// SPDX-License-Identifier: Apache-2.0
// What doctor found out, before anything is concluded from it.
import type { StatusView } from '../agent/http/status-view.js'

/** An answer, or in words why there is none. */
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

/** What one TCP connection to a peer's agent showed. */
export interface PeerProbe {
  readonly name: string
  readonly address: string
  /** The HTTP status of an answer to a short request; any will do. */
  readonly short: Asked<number>
  /** The same with one that needs several full packets; not tried after a short one failed. */
  readonly long: Asked<number> | 'timeout' | undefined
}

/** Everything that was asked. */
export interface DoctorFacts {
  readonly url: string
  readonly agent: Asked<StatusView>
  /** How far this clock is ahead of the apiserver's, in milliseconds; null when it does not say. */
  readonly api: Asked<{ readonly aheadMs: number | null }>
  /** The user's name, as the apiserver has it. */
  readonly account: Asked<string>
  readonly rights: readonly { readonly right: Right; readonly allowed: Asked<boolean> }[]
  /** Who is in the zone by the present Nodes and ConfigMaps. */
  readonly members: Asked<readonly string[]>
  readonly peers: readonly PeerProbe[]
  /** The listener for metrics alone, as the options have it. */
  readonly metrics:
    { readonly url: string; readonly port: number; readonly answer: Asked<number> } | undefined
  /** The agent's ports, from which range the kernel takes those of outgoing connections, and which of these it spares. */
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
