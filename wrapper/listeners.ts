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
import type { ListenAddress } from '../options/kinds.js'
import { asksForTunnel } from './proxy/headers.js'

/**
 * For kube-proxy and other clients of this node, a handful of connections. For a client that does not read, the kernel
 * buffers up to 4 MB (`net.ipv4.tcp_wmem`) in this pod's memory, so the limit for strangers must fit the pod. Members are
 * the clients that run as root, as kube-proxy does, or as our own user.
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
  /** An upload may take any time while it makes progress, and a response too: watches, logs. */
  bodyRule: 'progress',
  idleMs: 120_000,
  closeMs: 1_000,
}

/** For operators, who send no bodies. */
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

/** The answer to a web page that uses DNS rebinding. */
const forbidHost: RequestListener = (_request, response) =>
  void response.writeHead(403, { 'Content-Type': 'application/json' }).end(FORBIDDEN)

type Answering = Pick<Listening, 'handle' | 'upgrade' | 'tls' | 'sources'>

const open = (
  { host, port }: ListenAddress,
  answering: Answering,
  limits: ListenLimits,
  seams: ListenSeams,
): Promise<Listener> => {
  // TLS clients are authenticated, and may use any of this machine's names.
  const isGuarded = answering.tls === undefined || isLoopback(host)
  const forbidden = isGuarded ? forbidHost : undefined
  const asksForUpgrade = ({ rawHeaders }: IncomingMessage): boolean => asksForTunnel(rawHeaders)
  return listen({ address: host, port, ...answering, asksForUpgrade, forbidden, limits }, seams)
}

/**
 * Open the listener for kube-proxy and other clients.
 * @throws ListenError
 */
export const openForClients = (
  at: ListenAddress,
  answering: Answering,
  seams: ListenSeams,
): Promise<Listener> => open(at, answering, CLIENT_LIMITS, seams)

/**
 * Open the listener for operators.
 * @throws ListenError
 */
export const openForStatus = (
  at: ListenAddress,
  answering: Answering,
  seams: ListenSeams,
): Promise<Listener> => open(at, answering, STATUS_LIMITS, seams)
