// SPDX-License-Identifier: Apache-2.0
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { TlsMaterial } from './tls-material.js'

/** For all watches and calls together: HTTP/1.1 carries one of them per connection. */
const MAX_SOCKETS = 32

/**
 * A TCP keepalive is sent after this long without a byte, so that a NAT between us and the server does not forget a silent
 * watch, and a server that vanished is noticed. The load balancers of the large clouds forget a silent connection after
 * 240 s and more. Node.js' default is a second, at 104 bytes each.
 */
export const KEEPALIVE_MS = 180_000

/** The agent in use, and what its connections are made with. */
export interface KeptAgent {
  readonly tls: TlsMaterial | undefined
  readonly origin: string
  readonly agent: http.Agent
}

/**
 * An http.Agent that keeps its connections.
 * @param more overrides its defaults
 */
export const makeAgent = (
  tls: TlsMaterial | undefined,
  more: http.AgentOptions = {},
): http.Agent => {
  const kept = { keepAlive: true, keepAliveMsecs: KEEPALIVE_MS, maxSockets: MAX_SOCKETS, ...more }
  if (tls === undefined) return new http.Agent(kept)
  const { secureContext, rejectUnauthorized, servername } = tls
  const name = servername === undefined ? {} : { servername }
  return new https.Agent({ ...kept, secureContext, rejectUnauthorized, ...name })
}

/** Let an agent use connections that are open already, before it opens one. @returns the agent */
export const withSpare = (agent: http.Agent, spare: () => Socket | undefined): http.Agent => {
  const open = agent.createConnection.bind(agent)
  agent.createConnection = (options, done) => spare() ?? open(options, done)
  return agent
}

/** Whether the next request would wait until another one ends. */
export const isBusy = (agent: http.Agent & { readonly totalSocketCount?: number }): boolean =>
  (agent.totalSocketCount ?? 0) >= agent.maxSockets && Object.keys(agent.freeSockets).length === 0

/** Close the connections that nobody uses. */
export const dropIdle = (agent: http.Agent): void => {
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy()
}

/** Stop keeping connections: idle ones close now, busy ones when their call ends. */
export const retire = (agent: http.Agent & { keepAlive?: boolean }): void => {
  agent.keepAlive = false
  dropIdle(agent)
}
