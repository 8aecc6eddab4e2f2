// SPDX-License-Identifier: Apache-2.0
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ListenError } from '../../core/errors.js'
import { Api, type ApiOptions } from './api.js'
import type { RecordedRequest } from './recorded-request.js'
import type { Cut } from './link.js'
import type { Store } from './store.js'

export type { ApiOptions } from './api.js'
export type { RecordedRequest } from './recorded-request.js'

/** A running embedded API. */
export interface ApiServer {
  /** `http://127.0.0.1:40123`, without a slash at the end. */
  readonly url: string
  readonly port: number
  /** The objects, for looking and for provoking: `store.forgetHistory()` makes every open version too old. */
  readonly store: Store
  /** The last requests, oldest first; at most 10 000. */
  readonly requests: readonly RecordedRequest[]
  /** Make a client known. The same name gets the same token again. @returns its bearer token. */
  addClient(name: string): string
  /**
   * Break one client's way to the API. `refused`: its connections are reset, and so is every new one that shows its
   * token. `silent`: its streams stall, its requests are accepted and not answered until the link heals.
   * @throws InvalidInputError for a name that `addClient` has not seen.
   */
  cutLink(client: string, how: Cut): void
  /** Mend it; held requests are carried out and stalled streams go on. */
  healLink(client: string): void
  /** Ends all connections. May be called twice. */
  stop(): Promise<void>
}

const listen = (server: Server, host: string, port: number): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    server.once('error', cause =>
      reject(new ListenError(`${host}:${port}`, cause.message, { cause })),
    )
    server.listen(port, host, () => resolve(server.address() as AddressInfo))
  })

const urlOf = ({ address, family, port }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`

/**
 * Run an embedded Kubernetes API: the real protocol, in memory, for the kinds that edge-health uses.
 * @throws ListenError when the address is taken.
 */
export const startApi = async (options: ApiOptions): Promise<ApiServer> => {
  const api = new Api(options)
  const server = createServer((request, response) => void api.serve(request, response))
  const address = await listen(server, options.host, options.port)
  const stop = (): Promise<void> =>
    new Promise(resolve => {
      api.endWatches()
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return {
    url: urlOf(address),
    port: address.port,
    store: api.store,
    requests: api.requests,
    addClient: name => api.addClient(name),
    cutLink: (client, how) => api.link(client).cut(how),
    healLink: client => api.link(client).heal(),
    stop,
  }
}
