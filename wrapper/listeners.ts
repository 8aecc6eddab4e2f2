// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener } from 'node:http'
import { isLoopback } from '../core/loopback.js'
import { Refusal, statusBody } from '../kube/server/status.js'
import {
  listen,
  type Listener,
  type Listening,
  type ListenLimits,
  type ListenSeams,
} from '../net/listen.js'
import { byUser, trustedUsers } from '../net/socket-users.js'
import type { ListenAddress } from '../options/kinds.js'
import { asksForTunnel } from './proxy/headers.js'

/**
 * For kube-proxy and other clients of this node; it takes a handful of connections. A client that does not read has the
 * kernel keep up to 4 MB for it (`net.ipv4.tcp_wmem`), which counts as this pod's memory, and a large object beside it: what
 * strangers may have open must fit the pod. Members are root, as kube-proxy is, and our own user.
 */
const CLIENT_LIMITS: ListenLimits = {
  total: 64,
  strangers: 16,
  perStranger: 16,
  perMember: 64,
  keepAliveForStrangers: true,
  /** Tokens and impersonation may be long: 64 KiB of headers and the request's line. */
  headerBytes: 72 << 10,
  headerMs: 10_000,
  bodyMs: 30_000,
  /** An upload may take as long as it likes while it goes on, and an answer too: watches, logs. */
  bodyRule: 'progress',
  idleMs: 120_000,
  closeMs: 1_000,
}

/** For the operator, who sends no bodies. */
const STATUS_LIMITS: ListenLimits = {
  ...CLIENT_LIMITS,
  total: 16,
  strangers: 8,
  perStranger: 8,
  perMember: 16,
  headerBytes: 16 << 10,
  bodyRule: 'whole',
}

const FORBIDDEN = `${JSON.stringify(
  statusBody(new Refusal(403, 'Forbidden', 'forbidden host: name 127.0.0.1 or localhost')),
)}\n`

/** For a page whose name was rebound to this machine. */
const forbidHost: RequestListener = (_request, response) =>
  void response.writeHead(403, { 'Content-Type': 'application/json' }).end(FORBIDDEN)

type Answering = Pick<Listening, 'handle' | 'upgrade' | 'tls'>

const open = (
  { host, port }: ListenAddress,
  answering: Answering,
  limits: ListenLimits,
  seams: ListenSeams,
): Promise<Listener> => {
  const { clock } = seams
  // Over TLS a client shows who it is, and may call a machine of many names by any of them.
  const isGuarded = answering.tls === undefined || isLoopback(host)
  const forbidden = isGuarded ? forbidHost : undefined
  const sources = byUser(trustedUsers(), { clock })
  const asksForUpgrade = ({ rawHeaders }: IncomingMessage): boolean => asksForTunnel(rawHeaders)
  return listen(
    { address: host, port, ...answering, asksForUpgrade, forbidden, limits, sources },
    seams,
  )
}

/** Open what kube-proxy asks. @throws ListenError */
export const openForClients = (
  at: ListenAddress,
  answering: Answering,
  seams: ListenSeams,
): Promise<Listener> => open(at, answering, CLIENT_LIMITS, seams)

/** Open what the operator asks. @throws ListenError */
export const openForStatus = (
  at: ListenAddress,
  handle: RequestListener,
  seams: ListenSeams,
): Promise<Listener> => open(at, { handle }, STATUS_LIMITS, seams)
