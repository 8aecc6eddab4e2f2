// SPDX-License-Identifier: Apache-2.0
// An apiserver whose watch cache lags behind etcd, as one of several behind an address may. It knows Nodes alone, as rows.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Nodes at one version of the store. */
export interface NodesState {
  readonly version: number
  /** Addresses by name. */
  readonly nodes: Readonly<Record<string, string>>
}

const COLUMNS = [{ name: 'Name', format: 'name' }, { name: 'Internal-IP' }]
const metadataOf = (version: number) => ({ resourceVersion: String(version) })

const isSelected = (name: string, query: URLSearchParams): boolean => {
  const [, one = name] = /metadata\.name=(.*)/.exec(query.get('fieldSelector') ?? '') ?? []
  const [, others = ''] = /hostname notin \((.*)\)/.exec(query.get('labelSelector') ?? '') ?? []
  return one === name && !others.split(',').includes(name)
}

const listOf = ({ version, nodes }: NodesState, query: URLSearchParams) => ({
  kind: 'Table',
  metadata: metadataOf(version),
  columnDefinitions: COLUMNS,
  rows: Object.entries(nodes)
    .filter(([name]) => isSelected(name, query))
    .map(([name, address]) => ({ cells: [name, address] })),
})

/** What an apiserver says whose cache has not reached that version after three seconds. */
const tooLarge = (asked: string, current: number) => ({
  ...{ kind: 'Status', status: 'Failure', code: 504, reason: 'Timeout' },
  message: `Too large resource version: ${asked}, current: ${current}`,
  details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large' }] },
})

class LaggingServer {
  /** What etcd has. */
  store: NodesState = { version: 1, nodes: {} }
  /** What the cache of whoever answers next has; undefined: as much as etcd. */
  cache: NodesState | undefined
  /** Called after each list that was answered. */
  onListed: () => void = () => undefined
  /** How lists are refused; undefined: they are not. */
  refusal: number | undefined
  /** The versions that lists asked for: `0`, `>=7`, or `etcd`. */
  readonly lists: string[] = []
  readonly #watches = new Set<ServerResponse>()
  readonly #server = http.createServer((request, response) => this.#answer(request, response))

  async start(t: Test): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      this.#server.close()
      this.#server.closeAllConnections()
    })
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Watches that are open. */
  get watches(): number {
    return this.#watches.size
  }

  #answer({ url }: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams: query } = new URL(url!, 'http://server')
    const say = (code: number, body: object): void => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const [, name] = /^\/api\/v1\/nodes\/(.+)$/.exec(pathname) ?? []
    if (!pathname.startsWith('/api/v1/nodes')) say(404, { kind: 'Status', code: 404 })
    else if (name !== undefined) say(200, this.#object(name))
    else if (query.get('watch') === 'true') this.#watch(response)
    else {
      say(...this.#list(query))
      this.onListed()
    }
  }

  #object(name: string): object {
    const addresses = [{ type: 'InternalIP', address: this.store.nodes[name] }]
    const metadata = { name, uid: `uid-${name}`, ...metadataOf(this.store.version) }
    return { metadata, status: { addresses } }
  }

  #watch(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    this.#watches.add(response)
    response.on('close', () => this.#watches.delete(response))
  }

  #list(query: URLSearchParams): [code: number, body: object] {
    const asked = query.get('resourceVersion')
    const isAtLeast = query.get('resourceVersionMatch') === 'NotOlderThan'
    const cache = this.cache ?? this.store
    this.lists.push(asked === null ? 'etcd' : isAtLeast ? `>=${asked}` : asked)
    if (this.refusal !== undefined) return [this.refusal, { kind: 'Status', code: this.refusal }]
    if (asked === null) return [200, listOf(this.store, query)]
    if (Number(asked) > cache.version) return [504, tooLarge(asked, cache.version)]
    return [200, listOf(cache, query)]
  }
}

export const startLagging = async (
  t: Test,
): Promise<{ readonly server: LaggingServer; readonly url: string }> => {
  const server = new LaggingServer()
  return { server, url: await server.start(t) }
}
