// SPDX-License-Identifier: Apache-2.0
import type { ListenLimits, ServerTls } from '../../net/listen.js'
import type { SessionLimits } from './session.js'

/** Where edges connect to, and what they are held to. */
export interface HubOptions {
  readonly address: string
  /** 0: any free port. @default KubeEdge's is 10000 */
  readonly port: number
  /** The authority signs the certificates of nodes. */
  readonly tls: ServerTls
  readonly limits?: Partial<HubLimits>
}

export interface HubLimits {
  readonly session: SessionLimits
  readonly listen: ListenLimits
  /** Nodes that may be connected at the same time. */
  readonly nodes: number
  /** One frame; a longer one ends the connection. */
  readonly frameBytes: number
  /** All frames of which a part has arrived. */
  readonly partBytes: number
}

export const HUB_LIMITS: HubLimits = {
  session: {
    keepaliveMs: 30_000,
    pingMs: 10_000,
    writeMs: 60_000,
    unreadBytes: 1 << 20,
    intake: { perSecond: 200, burst: 1_000 },
  },
  listen: {
    // Who is not yet a node; a site's edges may share one address and come back together.
    ...{ total: 2_048, strangers: 2_048, perStranger: 512, perMember: 512 },
    ...{ keepAliveForStrangers: false, headerBytes: 8 << 10, headerMs: 10_000 },
    ...{ bodyMs: 10_000, bodyRule: 'whole', idleMs: 10_000, closeMs: 2_000 },
    // At most so many wait as are served within `headerMs`.
    handshakes: {
      all: { perSecond: 200, burst: 200 },
      perSource: { perSecond: 100, burst: 100 },
    },
  },
  nodes: 5_000,
  frameBytes: 16 << 20,
  partBytes: 64 << 20,
}
