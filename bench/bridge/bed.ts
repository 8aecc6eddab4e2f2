// SPDX-License-Identifier: Apache-2.0
// A real apiserver, a bridge in front of it, and edges in processes of their own.
import { join } from 'node:path'
import { sleep, systemClock } from '../../core/clock.js'
import type { JsonMap } from '../../core/json.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import {
  installBridge,
  readAuthority,
  startBridgeProcess,
  type BridgeProcess,
} from '../../testkit/edge/bridge-process.js'
import type { Pair } from '../../testkit/edge/certificates.js'
import { startEdges, type EdgeProcess } from '../../testkit/edge/edge-process.js'
import type { EdgeTimes } from '../../testkit/edge/edge-part.js'
import { clientOf, never, rawType, until } from '../../testkit/kube/raw-objects.js'
import { openPlane, type BenchPlane } from '../grids/plane.js'

const PATIENCE_MS = 600_000
/** A process of edges has room for so many. */
const PER_PROCESS = 500
/** Where the bench's objects are. */
export const SHOP = 'shop'

export const CONFIGMAPS = { group: '', version: 'v1', resource: 'configmaps' }
export const PODS = { group: '', version: 'v1', resource: 'pods' }

export const patiently = (what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> =>
  until(what, isTrue, PATIENCE_MS)

export const rest = (seconds: number): Promise<boolean> =>
  sleep(systemClock, 1_000 * seconds, never)

/** Run over numbers, 16 at a time. */
export const each = async (
  count: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> => {
  const left = Array.from({ length: count }, (_, index) => index).values()
  const lane = async (): Promise<void> => {
    for (const index of left) await work(index)
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}

export const names = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)

/** Edges that were started together. */
export class Edges {
  readonly nodes: readonly string[]
  readonly processes: readonly EdgeProcess[]

  constructor(nodes: readonly string[], processes: readonly EdgeProcess[]) {
    this.nodes = nodes
    this.processes = processes
  }

  /** How many have made their Node and their Lease. */
  get atWork(): number {
    return this.#leasedSince([])
  }

  /** @returns how many have written their Lease since */
  mark(): () => number {
    const marks = this.processes.map(({ events }) => events.length)
    return () => this.#leasedSince(marks)
  }

  #leasedSince(marks: readonly number[]): number {
    const leased = this.processes.flatMap(({ events }, index) =>
      events.slice(marks[index]).filter(event => event.kind === 'lease' && event.code === 200),
    )
    return new Set(leased.map(({ node }) => node)).size
  }

  /** How many have ended. */
  get dead(): number {
    return this.#count('panicked')
  }

  #count(...kinds: readonly string[]): number {
    return this.processes.reduce(
      (sum, { events }) => sum + events.filter(({ kind }) => kinds.includes(kind)).length,
      0,
    )
  }

  /** Round trips of Leases while something goes on, ms, and those that were not written. */
  async leasesDuring(
    act: () => Promise<unknown>,
  ): Promise<{ readonly ms: readonly number[]; readonly failed: number }> {
    const marks = this.processes.map(({ events }) => events.length)
    await act()
    const leases = this.processes.flatMap(({ events }, index) =>
      events.slice(marks[index]).filter(event => event.kind === 'lease'),
    )
    return {
      ms: leases.filter(({ code }) => code === 200).map(({ ms }) => ms),
      failed: leases.filter(({ code }) => code !== 200).length,
    }
  }

  /** What befell them that should not have. */
  get mishaps(): number {
    return this.#count('panicked', 'disconnected')
  }

  async views() {
    const all = await Promise.all(this.processes.map(each => each.view()))
    return Object.values(Object.assign({}, ...all) as (typeof all)[number])
  }
}

export class Bed {
  readonly client: ResourceClient
  readonly #bench: BenchPlane
  readonly #kubeconfig: string
  readonly #authority: Pair
  readonly #processes: EdgeProcess[] = []
  #bridge: BridgeProcess

  private constructor(
    bench: BenchPlane,
    parts: {
      readonly kubeconfig: string
      readonly authority: Pair
      readonly client: ResourceClient
      readonly bridge: BridgeProcess
    },
  ) {
    this.#bench = bench
    this.#kubeconfig = parts.kubeconfig
    this.#authority = parts.authority
    this.client = parts.client
    this.#bridge = parts.bridge
  }

  static async open(say: (line: string) => void): Promise<Bed> {
    const bench = await openPlane(say)
    const { plane } = bench
    let bridge: BridgeProcess | undefined
    try {
      const kubeconfig = await installBridge(plane)
      await plane.kubectl(['create', 'namespace', SHOP])
      bridge = startBridgeProcess({
        ...{ kubeconfig, vouch: 'zone' },
        stateDir: join(plane.dir, 'bridge'),
      })
      await bridge.serving()
      const client = clientOf({ url: plane.url, token: plane.adminToken, ca: plane.ca }, 'bench')
      const authority = await readAuthority(plane)
      return new Bed(bench, { kubeconfig, authority, client, bridge })
    } catch (error) {
      await bridge?.kill()
      await bench.stop()
      throw error
    }
  }

  get bridge(): BridgeProcess {
    return this.#bridge
  }

  get dir(): string {
    return this.#bench.plane.dir
  }

  async restartBridge(): Promise<void> {
    await this.#bridge.stop()
    this.#bridge = startBridgeProcess({
      ...{ kubeconfig: this.#kubeconfig, vouch: 'zone' },
      stateDir: join(this.dir, 'bridge'),
    })
    await this.#bridge.serving()
  }

  /** Resolves when each has its Node and its Lease. */
  async start(
    nodes: readonly string[],
    more: { readonly times?: Partial<EdgeTimes>; readonly folder?: string } = {},
  ): Promise<Edges> {
    const processes: EdgeProcess[] = []
    for (let from = 0; from < nodes.length; from += PER_PROCESS)
      processes.push(
        startEdges({
          ...{ url: this.#bridge.url, authority: this.#authority, ...more },
          nodes: nodes.slice(from, from + PER_PROCESS),
        }),
      )
    this.#processes.push(...processes)
    const edges = new Edges(nodes, processes)
    await patiently('each edge has a Lease', async () => {
      await rest(0.2)
      return edges.atWork === nodes.length
    })
    return edges
  }

  makeConfigMap(name: string, data: JsonMap): Promise<unknown> {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }
    return this.client.create(rawType(CONFIGMAPS), { namespace: SHOP }, { body }, never)
  }

  /** A Pod that is bound to a node and mounts these ConfigMaps. */
  makePod(name: string, node: string, configMaps: readonly string[]): Promise<unknown> {
    const volumes = configMaps.map((of, index) => ({ name: `v${index}`, configMap: { name: of } }))
    const spec = { nodeName: node, containers: [{ name: 'c', image: 'i' }], volumes }
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }
    return this.client.create(rawType(PODS), { namespace: SHOP }, { body }, never)
  }

  async close(): Promise<void> {
    await this.#bridge.kill()
    await Promise.all(this.#processes.map(process => process.close()))
    await this.client.close()
    await this.#bench.stop()
  }
}
