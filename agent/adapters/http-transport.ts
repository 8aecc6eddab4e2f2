// SPDX-License-Identifier: Apache-2.0
import http, { Agent } from 'node:http'
import { isIPv6 } from 'node:net'
import { Axios, getAdapter, isAxiosError, type AxiosResponse } from 'axios'
import { PeerUnreachableError, reasonOf } from '../../core/errors.js'
import type { Answer, Peer, Route, Transport } from '../ports/transport.js'

const MAX_ANSWER_BYTES = 1 << 20
/** Longer than any exchange period, so that a quiet zone keeps its connections; shorter than a peer's listener waits. */
const IDLE_MS = 110_000

const REQUESTS: Record<Route, { readonly method: string; readonly path: string }> = {
  gossip: { method: 'POST', path: '/v1/gossip' },
  vote: { method: 'POST', path: '/v1/vote' },
  result: { method: 'PUT', path: '/result' },
}

const urlOf = ({ address, port }: Peer, path: string): string =>
  `http://${isIPv6(address) ? `[${address}]` : address}:${port}${path}`

/** axios adds these to every request; each is bytes on a metered radio link, sent for nothing. */
const bareHeaders = {
  Accept: false,
  'Accept-Encoding': false,
  'Content-Type': false,
  'User-Agent': false,
} as const

/** As Node.js sends requests, but without the header for kept connections, which are HTTP/1.1's default. */
const bareTransport = {
  request: (...args: Parameters<typeof http.request>) => {
    const request = http.request(...args)
    request.removeHeader('connection')
    return request
  },
}

/** Without axios' defaults, which nothing here needs and each request would merge anew. */
const makeClient = (agent: Agent): Axios =>
  new Axios({
    adapter: getAdapter('http'),
    httpAgent: agent,
    transport: bareTransport,
    proxy: false,
    maxRedirects: 0,
    maxContentLength: MAX_ANSWER_BYTES,
    maxBodyLength: Infinity,
    responseType: 'arraybuffer',
    decompress: false,
    validateStatus: null,
  })

/** A kept connection that the peer closed while we wrote: nothing was read, so asking again is safe. */
const isStaleConnection = (error: unknown): boolean =>
  isAxiosError(error) &&
  error.code === 'ECONNRESET' &&
  (error.request as { reusedSocket?: boolean } | undefined)?.reusedSocket === true

/** Peers over HTTP/1.1 with kept connections. Ignores proxies from the environment: a peer is next door. */
export const makeHttpTransport = (): Transport => {
  const agent = new Agent({
    keepAlive: true,
    // Closed before a TCP keepalive would be due: Node.js sends one each second otherwise.
    keepAliveMsecs: 2 * IDLE_MS,
    maxSockets: 4,
    maxFreeSockets: 256,
    timeout: IDLE_MS,
  })
  const client = makeClient(agent)

  const once = (
    peer: Peer,
    route: Route,
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<AxiosResponse<Buffer>> => {
    const { method, path } = REQUESTS[route]
    return client.request<Buffer>({
      method,
      url: urlOf(peer, path),
      data: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      headers: bareHeaders,
      signal,
    })
  }
  const twiceAtMost = async (
    ...request: Parameters<typeof once>
  ): Promise<AxiosResponse<Buffer>> => {
    try {
      return await once(...request)
    } catch (error) {
      if (!isStaleConnection(error)) throw error
      return once(...request)
    }
  }
  return {
    send: async (peer, route, body, signal): Promise<Answer> => {
      try {
        const { status, data } = await twiceAtMost(peer, route, body, signal)
        return { status, body: data }
      } catch (error) {
        // axios hides the signal's reason behind its own CanceledError.
        if (signal.aborted) throw signal.reason
        throw new PeerUnreachableError(peer.name, reasonOf(error), { cause: error })
      }
    },
    close: () => agent.destroy(),
  }
}
