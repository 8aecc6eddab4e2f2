// SPDX-License-Identifier: Apache-2.0
import type { ByteLimits } from '../../net/byte-budget.js'
import type { ListenLimits } from '../../net/listen.js'

const TIMES = {
  headerBytes: 8 << 10,
  headerMs: 2_000,
  bodyMs: 10_000,
  bodyRule: 'whole',
  /** Longer than any exchange period, so that a quiet zone keeps its connections. */
  idleMs: 120_000,
  closeMs: 2_000,
} as const

/**
 * For peers. In a mass event every member of a large zone may have something to say at once; a peer keeps up to four
 * connections, and may have just restarted. Strangers have what is left, a few each, one answer per connection.
 */
export const PEER_LIMITS: ListenLimits = {
  ...TIMES,
  total: 1_024,
  strangers: 128,
  perStranger: 8,
  perMember: 16,
  keepAliveForStrangers: false,
}

/** For programs of the own node. Members are root and our own user. */
export const LOCAL_LIMITS: ListenLimits = {
  ...TIMES,
  total: 128,
  strangers: 96,
  perStranger: 96,
  perMember: 128,
  keepAliveForStrangers: true,
}

/** For `/metrics` off the node: a few collectors. All are strangers; nobody sends a body. */
export const METRICS_LIMITS: ListenLimits = {
  ...TIMES,
  headerBytes: 4 << 10,
  bodyMs: 2_000,
  total: 16,
  strangers: 16,
  perStranger: 4,
  perMember: 4,
  keepAliveForStrangers: true,
}

/** For bodies of peers' messages: the pod has 100 MiB, and most of that is in use. */
export const PEER_BYTES: ByteLimits = {
  total: 16 << 20,
  perSource: 2 << 20,
  reserved: 12 << 20,
}
