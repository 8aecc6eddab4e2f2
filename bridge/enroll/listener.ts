// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../core/random.js'
import { listen, type Listener, type ListenLimits } from '../../net/listen.js'
import { byAddress } from '../../net/sources.js'
import { enrolRoutes, type EnrolSeams } from './routes.js'
import type { KeyPair } from './signer.js'

/** Anybody may connect, with requests of a few hundred bytes; all edges of a site may share one address. */
const LIMITS: ListenLimits = {
  ...{ total: 256, strangers: 256, perStranger: 64, perMember: 64 },
  ...{ keepAliveForStrangers: false, headerBytes: 8 << 10, headerMs: 10_000 },
  ...{ bodyMs: 10_000, bodyRule: 'whole', idleMs: 10_000, closeMs: 2_000 },
  handshakes: { all: { perSecond: 100, burst: 100 }, perSource: { perSecond: 50, burst: 50 } },
}

/** Where edges get their certificates. */
export interface EnrolOptions {
  readonly address: string
  /** 0: any free port. KubeEdge's is 10002. */
  readonly port: number
  readonly server: KeyPair
}

/** Listen for edges that need a certificate. @throws ListenError */
export const openEnrolment = (
  { address, port, server }: EnrolOptions,
  seams: EnrolSeams & { readonly random: Random; readonly signal: AbortSignal },
): Promise<Listener> =>
  listen(
    {
      ...{ address, port, limits: LIMITS, sources: byAddress(() => false) },
      // A new edge has no client certificate yet, and one whose certificate has expired uses a token again.
      tls: { ca: seams.signer.ca, ...server, areClientsUnknown: true },
      handle: enrolRoutes(seams),
    },
    seams,
  )
