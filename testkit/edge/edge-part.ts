// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { Random } from '../../core/random.js'
import type { Ask } from './requests.js'
import type { EdgeStore } from './store.js'

/** An edge's periods and limits, as recorded; tests may shorten them. All in milliseconds but the counts. */
export const EDGE_TIMES = {
  keepaliveMs: 15_000,
  /** An unanswered `membership/detail` is repeated. */
  membershipMs: 60_000,
  leaseMs: 10_000,
  /** A Lease is renewed up to this share of its period later. */
  leaseJitter: 0.03,
  /** The first attempt to register; doubled up to the longest. */
  registerMs: 100,
  longestRegisterMs: 7_000,
  /** How often an edge looks at its Node as the store has it; what is not so there it tells at once. */
  nodeLookMs: 10_000,
  /** Node status goes up that often although nothing changed. */
  nodeStatusMs: 300_000,
  requestMs: 60_000,
  /** After a lost connection, and after five dials in vain. */
  reconnectMs: 30_000,
  redialMs: 5_000,
  dials: 5,
  /** What arrives and is not yet stored. */
  inbox: 100,
  storeMs: 0.65,
  sendsPerSecond: 30,
  sendBurst: 60,
  /** From a pod's arrival to its first status, from its mounts to Running, from its deletion to its end. */
  podAdmitMs: 150,
  podStartMs: 500,
  podStopMs: 200,
  /** First wait before a mount that failed is tried again; doubled up to the longest. */
  mountRetryMs: 500,
  longestMountRetryMs: 122_000,
}

/** Periods and limits of an edge. */
export type EdgeTimes = Readonly<typeof EDGE_TIMES>

/** What happened to an edge. */
export type EdgeEvent =
  | { readonly kind: 'connected' }
  | { readonly kind: 'refused'; readonly reason: string }
  /** It noticed that the connection is broken, which may be long after it broke. */
  | { readonly kind: 'disconnected' }
  | { readonly kind: 'registered' }
  /** A round trip of its Lease; `code` 200 when it was written. */
  | { readonly kind: 'lease'; readonly ms: number; readonly code: number }
  | { readonly kind: 'pod'; readonly resource: string; readonly phase: string }
  /** The process ended by a panic, as edgecore does on an empty answer to its registration. */
  | { readonly kind: 'panicked'; readonly reason: string }

/** What the parts of an edge share. */
export interface EdgePart {
  readonly node: string
  readonly ip: string
  readonly times: EdgeTimes
  readonly clock: Clock
  readonly random: Random
  readonly store: EdgeStore
  readonly ask: Ask
  /** Aborts when the process ends. */
  readonly signal: AbortSignal
  readonly emit: (event: EdgeEvent) => void
}

/** Where an edge keeps its own Node. */
export const nodeResource = (node: string): string => `null/node/${node}`
