// SPDX-License-Identifier: Apache-2.0
// A random walk through a cluster: Nodes, Services, Endpoints and slices come, change and go. The same seed walks the
// same way.
import type { Random } from '../../../core/random.js'
import type { ApiClient, Json } from '../../../sandbox/api-client.js'

const NODES = 14
const SERVICES = 24
const SLICES = 60

const PATHS = {
  nodes: '/api/v1/nodes',
  services: '/api/v1/namespaces/default/services',
  endpoints: '/api/v1/namespaces/default/endpoints',
  endpointslices: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
} as const

export type Resource = keyof typeof PATHS
export const RESOURCES = Object.keys(PATHS) as readonly Resource[]

const KINDS: Readonly<Record<Resource, readonly [apiVersion: string, kind: string]>> = {
  nodes: ['v1', 'Node'],
  services: ['v1', 'Service'],
  endpoints: ['v1', 'Endpoints'],
  endpointslices: ['discovery.k8s.io/v1', 'EndpointSlice'],
}

/** Which turn changed an object last, by `RESOURCE/NAME`: what everybody must hold in the end. */
export type Turns = ReadonlyMap<string, number>

const TURN = 'turn'

/** The Node that the wrapper runs on. */
export const OWN_NODE = 'n-0'

export class Walk {
  readonly #api: ApiClient
  readonly #random: Random
  readonly #signal: AbortSignal
  readonly #turns = new Map<string, number>()
  /** Nodes that the agent calls dead. */
  readonly dead = new Set<string>()
  #turn = 0

  constructor(api: ApiClient, random: Random, signal: AbortSignal) {
    this.#api = api
    this.#random = random
    this.#signal = signal
  }

  get turns(): Turns {
    return this.#turns
  }

  /** Make the wrapper's own Node: without it the wrapper is not ready. */
  async begin(): Promise<void> {
    await this.#touch('nodes', OWN_NODE, name => this.#node(name))
  }

  /** One change. @returns what it was. */
  async step(): Promise<string> {
    this.#turn++
    const draw = this.#random.below(100)
    if (draw < 6) return this.#flip()
    if (draw < 16) return this.#touch('nodes', this.#pick('n', NODES), name => this.#node(name))
    if (draw < 28) return this.#touch('services', this.#pick('s', SERVICES), () => this.#service())
    if (draw < 40)
      return this.#touch('endpoints', this.#pick('s', SERVICES), () => this.#endpoints())
    return this.#touch('endpointslices', this.#pick('e', SLICES), name => this.#slice(name))
  }

  #pick(letter: string, count: number): string {
    return `${letter}-${this.#random.below(count)}`
  }

  #maybe(percent: number): boolean {
    return this.#random.below(100) < percent
  }

  #flip(): string {
    const node = this.#pick('n', NODES)
    if (!this.dead.delete(node)) this.dead.add(node)
    return `health of ${node}`
  }

  /** Make it, change it or take it away. */
  async #touch(resource: Resource, name: string, body: (name: string) => Json): Promise<string> {
    const key = `${resource}/${name}`
    const [apiVersion, kind] = KINDS[resource]
    const { labels, annotations, ...rest } = body(name) as { labels?: Json; annotations?: Json }
    const metadata = {
      name,
      ...{ labels: labels ?? {} },
      annotations: { ...annotations, [TURN]: String(this.#turn) },
    }
    const object = { apiVersion, kind, metadata, ...rest }
    if (!this.#turns.has(key)) {
      await this.#api.post(PATHS[resource], object, this.#signal)
      this.#turns.set(key, this.#turn)
      return `add ${key}`
    }
    // The wrapper's own Node stays: without it the wrapper goes by the labels that it had.
    if (key !== `nodes/${OWN_NODE}` && this.#maybe(12)) {
      await this.#api.delete(`${PATHS[resource]}/${name}`, this.#signal)
      this.#turns.delete(key)
      // The apiserver takes a Service's Endpoints with it.
      if (resource === 'services') this.#turns.delete(`endpoints/${name}`)
      return `delete ${key}`
    }
    // What this turn does not name goes: a merge patch takes null for that.
    const gone = { labels: { zone: null, room: null }, annotations: { topologyKeys: null } }
    const patch = {
      metadata: {
        labels: { ...gone.labels, ...labels },
        annotations: { ...gone.annotations, ...metadata.annotations },
      },
      ...rest,
    }
    await this.#api.patch(`${PATHS[resource]}/${name}`, 'merge', patch, this.#signal)
    this.#turns.set(key, this.#turn)
    return `change ${key}`
  }

  #node(name: string): Json {
    const zone = this.#maybe(85) ? { zone: this.#pick('zone', 3) } : {}
    const room = this.#maybe(50) ? { room: this.#pick('room', 4) } : {}
    return { labels: { 'kubernetes.io/hostname': name, ...zone, ...room } }
  }

  #service(): Json {
    const keys = [undefined, undefined, ['zone'], ['room'], ['room', 'zone'], ['nowhere']]
    const chosen = keys[this.#random.below(keys.length)]
    return {
      labels: this.#maybe(10) ? { zone: 'a' } : {},
      annotations: chosen === undefined ? {} : { topologyKeys: JSON.stringify(chosen) },
      spec: { ports: [{ name: 'http', port: 80 + this.#random.below(5) }] },
    }
  }

  #place(): Json {
    // Some run where nobody knows of a Node, some say nothing.
    return this.#maybe(8) ? {} : { nodeName: this.#pick('n', NODES + 2) }
  }

  #endpoints(): Json {
    const address = (i: number): Json => ({
      ip: `10.50.${this.#random.below(200)}.${i + 1}`,
      ...this.#place(),
    })
    const some = (count: number): readonly Json[] =>
      Array.from({ length: count }, (_, i) => address(i))
    const ready = some(this.#random.below(6))
    const notReady = this.#maybe(20) ? some(2) : []
    if (ready.length + notReady.length === 0) return { subsets: [] }
    const subset = {
      ...(ready.length > 0 ? { addresses: ready } : {}),
      ...(notReady.length > 0 ? { notReadyAddresses: notReady } : {}),
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    }
    return { subsets: [subset] }
  }

  #slice(name: string): Json {
    const service = this.#maybe(92)
      ? { 'kubernetes.io/service-name': this.#pick('s', SERVICES + 1) }
      : {}
    const family = Number(name.slice(2)) % 5 === 0 ? 'IPv6' : 'IPv4'
    const endpoint = (i: number): Json => {
      const host = this.#random.below(200) + 1
      return {
        addresses: [family === 'IPv4' ? `10.60.${i}.${host}` : `fd00::${i + 1}:${host}`],
        conditions: { ready: this.#maybe(85), serving: true, terminating: false },
        ...this.#place(),
        ...(this.#maybe(20) ? { zone: 'a', hints: { forZones: [{ name: 'a' }] } } : {}),
      }
    }
    return {
      labels: service,
      addressType: family,
      endpoints: Array.from({ length: this.#random.below(9) }, (_, i) => endpoint(i)),
      ports: [{ name: 'http', port: 8080 + this.#random.below(3), protocol: 'TCP' }],
    }
  }
}

/** What stands in an object's own note of its last change. */
export const turnOf = (object: Json): number | undefined => {
  const { annotations } = object['metadata'] as { annotations?: Record<string, string> }
  const text = annotations?.[TURN]
  return text === undefined ? undefined : Number(text)
}
