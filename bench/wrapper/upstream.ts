// SPDX-License-Identifier: Apache-2.0
// An apiserver that knows four resources and speaks protobuf alone, as fast as the bench wants changes.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as proto from './proto.js'

export const RESOURCES = ['nodes', 'services', 'endpoints', 'endpointslices'] as const
export type Resource = (typeof RESOURCES)[number]

const ROWS: Readonly<Record<Resource | 'servicecidrs', readonly [path: string, kind: string]>> = {
  nodes: ['/api/v1/nodes', 'Node'],
  services: ['/api/v1/services', 'Service'],
  endpoints: ['/api/v1/endpoints', 'Endpoints'],
  endpointslices: ['/apis/discovery.k8s.io/v1/endpointslices', 'EndpointSlice'],
  servicecidrs: ['/apis/networking.k8s.io/v1/servicecidrs', 'ServiceCIDR'],
}

const apiVersionOf = (path: string): string =>
  path.replace(/^\/apis?\//, '').replace(/\/[^/]+$/, '')

/** Where a resource is listed. */
export const pathOf = (resource: Resource): string => ROWS[resource][0]

/** An object at its latest version; makes its bytes for a version and a count of changes. */
type Make = (version: number, n: number) => Buffer

interface Held {
  readonly raw: Buffer
  readonly n: number
}

interface Past {
  readonly version: number
  readonly frame: Buffer
}

const KEPT = 20_000
const PROTOBUF = 'application/vnd.kubernetes.protobuf'

class Shelf {
  readonly apiVersion: string
  readonly kind: string
  readonly held = new Map<string, Held>()
  /** How often a name changed, also while it was not there. */
  readonly changes = new Map<string, number>()
  readonly past: Past[] = []
  readonly watchers = new Set<ServerResponse>()

  constructor([path, kind]: readonly [string, string]) {
    this.apiVersion = apiVersionOf(path)
    this.kind = kind
  }

  frame(type: string, raw: Buffer): Buffer {
    return proto.frame(type, proto.envelope(this.apiVersion, this.kind, raw))
  }
}

export class Upstream {
  readonly #server: Server
  readonly #shelves = new Map(Object.entries(ROWS).map(([name, row]) => [name, new Shelf(row)]))
  readonly #beats: NodeJS.Timeout
  #version = 1_000

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
    this.#server.keepAliveTimeout = 60_000
    this.#beats = setInterval(() => this.#bookmark(), 5_000)
  }

  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    clearInterval(this.#beats)
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  /** Add or change one object. */
  put(resource: Resource, name: string, make: Make): void {
    const shelf = this.#shelf(resource)
    const version = ++this.#version
    const n = (shelf.changes.get(name) ?? 0) + 1
    const raw = make(version, n)
    const type = shelf.held.has(name) ? 'MODIFIED' : 'ADDED'
    shelf.changes.set(name, n)
    shelf.held.set(name, { raw, n })
    this.#notify(shelf, type, raw)
  }

  /** Its going counts as a change, too; what is told is its last state, at the version of its going. */
  remove(resource: Resource, name: string, make: Make): void {
    const shelf = this.#shelf(resource)
    const held = shelf.held.get(name)
    if (held === undefined) return
    shelf.changes.set(name, held.n + 1)
    shelf.held.delete(name)
    this.#notify(shelf, 'DELETED', make(++this.#version, held.n))
  }

  has(resource: Resource, name: string): boolean {
    return this.#shelf(resource).held.has(name)
  }

  /** What everybody should hold in the end: name → how often it changed. */
  state(resource: Resource): ReadonlyMap<string, number> {
    return new Map([...this.#shelf(resource).held].map(([name, { n }]) => [name, n]))
  }

  /** The version of the last change. */
  latest(resource: Resource): number {
    return this.#shelf(resource).past.at(-1)?.version ?? 0
  }

  /** Those who watch have not taken all that was written. */
  get isBehind(): boolean {
    return [...this.#shelves.values()].some(({ watchers }) =>
      [...watchers].some(watcher => watcher.writableNeedDrain),
    )
  }

  #shelf(resource: string): Shelf {
    return this.#shelves.get(resource)!
  }

  #notify(shelf: Shelf, type: string, raw: Buffer): void {
    const frame = shelf.frame(type, raw)
    shelf.past.push({ version: this.#version, frame })
    if (shelf.past.length > 2 * KEPT) shelf.past.splice(0, KEPT)
    for (const watcher of shelf.watchers) watcher.write(frame)
  }

  #bookmark(): void {
    for (const shelf of this.#shelves.values())
      for (const watcher of shelf.watchers) watcher.write(this.#bookmarkOf(shelf, false))
  }

  #bookmarkOf(shelf: Shelf, isInitialEnd: boolean): Buffer {
    const annotations: Record<string, string> = isInitialEnd
      ? { 'k8s.io/initial-events-end': 'true' }
      : {}
    const identity = { name: '', namespace: '', labels: {}, annotations, version: this.#version }
    const raw = shelf.kind === 'Service' ? proto.service(identity, '') : proto.slice(identity, [])
    return shelf.frame('BOOKMARK', raw)
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const row = Object.entries(ROWS).find(([, [path]]) => path === url.pathname)
    if (row === undefined) {
      const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404 }
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      return
    }
    const shelf = this.#shelf(row[0])
    if (url.searchParams.get('watch') === null) this.#list(shelf, response)
    else this.#watch(shelf, url.searchParams, response)
  }

  #list(shelf: Shelf, response: ServerResponse): void {
    const items = [...shelf.held.values()].map(({ raw }) => raw)
    const raw = proto.list(this.#version, items)
    const body = proto.envelope(shelf.apiVersion, `${shelf.kind}List`, raw)
    response.writeHead(200, { 'content-type': PROTOBUF, 'content-length': body.length }).end(body)
  }

  #watch(shelf: Shelf, query: URLSearchParams, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': `${PROTOBUF};stream=watch` })
    response.flushHeaders()
    const from = Number(query.get('resourceVersion') ?? '0')
    if (query.get('sendInitialEvents') === 'true') {
      for (const { raw } of shelf.held.values()) response.write(shelf.frame('ADDED', raw))
      response.write(this.#bookmarkOf(shelf, true))
    } else if (from > 0 && from < (shelf.past[0]?.version ?? 0) - 1) {
      const gone = proto.envelope('v1', 'Status', proto.status(410, 'Expired'))
      response.end(proto.frame('ERROR', gone))
      return
    } else {
      for (const { version, frame } of shelf.past) if (version > from) response.write(frame)
    }
    shelf.watchers.add(response)
    response.on('close', () => shelf.watchers.delete(response))
  }
}
