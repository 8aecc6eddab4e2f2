// SPDX-License-Identifier: Apache-2.0
import type { ListenLimits, ServerTls } from '../../net/listen.js'
import type { SessionLimits } from './session.js'

/** Where edges connect, and their limits. */
export interface HubOptions {
  readonly address: string
  /** 0: any free port. @default KubeEdge's is 10000 */
  readonly port: number
  /** Its CA is the authority that signs the nodes' certificates. */
  readonly tls: ServerTls
  readonly limits?: Partial<HubLimits>
}

export interface HubLimits {
  readonly session: SessionLimits
  readonly listen: ListenLimits
  /** Connected nodes at a time. */
  readonly nodes: number
  /** Largest frame; a longer one ends the connection. */
  readonly frameBytes: number
  /** Bytes held of frames that have not arrived completely, of all nodes. */
  readonly partBytes: number
}

export const HUB_LIMITS: HubLimits = {
  session: {
    keepaliveMs: 30_000,
    pingMs: 10_000,
    writeMs: 60_000,
    unreadBytes: 2 << 20,
    intake: { perSecond: 200, burst: 1_000 },
  },
  listen: {
    // Connections that are not a node's yet count as strangers; all edges of a site may share an address and
    // reconnect together.
    ...{ total: 2_048, strangers: 2_048, perStranger: 512, perMember: 512 },
    ...{ keepAliveForStrangers: false, headerBytes: 8 << 10, headerMs: 10_000 },
    ...{ bodyMs: 10_000, bodyRule: 'whole', idleMs: 10_000, closeMs: 2_000 },
    // Only as many may wait as can be served within `headerMs`.
    handshakes: {
      all: { perSecond: 200, burst: 200 },
      perSource: { perSecond: 100, burst: 100 },
    },
  },
  nodes: 5_000,
  // The apiserver takes requests of 3 MiB, which an agent's frame carries as text with escapes.
  frameBytes: 8 << 20,
  partBytes: 64 << 20,
}
