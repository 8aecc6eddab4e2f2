// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import { type Clock, sleep } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { Watching } from '../kube/client/watching.js'
import type { ApiClient } from './api-client.js'
import {
  darkDomains,
  domainOf,
  evictionKey,
  type NodeHealth,
  observe,
  silentConditions,
  withNoExecute,
  withNoSchedule,
} from './lifecycle-rules.js'
import { LEASES, type LeaseObject, type NodeObject, NODES, readyOf } from './node-object.js'
import { TaintWriter } from './taint-writer.js'

/** The controller's flags, by the names that kube-controller-manager has for them; all in milliseconds. */
interface LifecycleOptions {
  /** Nodes are judged this often. @default 5_000 */
  readonly monitorPeriodMs: number
  /** Silence after which a node is Unknown. @default 50_000 */
  readonly graceMs: number
  /** The same for a node that never said anything. @default 60_000 */
  readonly startupGraceMs: number
  /** One node per failure domain gets its NoExecute taint in this time. @default 100, as with `--node-eviction-rate=10` */
  readonly evictionPeriodMs: number
}

interface LifecycleSeams {
  readonly api: ApiClient
  readonly clock: Clock
  readonly log: Logger
}

/** A running controller. */
export interface Lifecycle {
  /** Waits for the requests under way; writes nothing after that. */
  stop(): Promise<void>
}

/**
 * The node-lifecycle controller: silence makes a node Unknown and taints it, a status of its kubelet clears it.
 * It does what kube-controller-manager 1.36 was measured to do, also where that surprises: a renewed Lease keeps a
 * node Ready but does not bring an Unknown one back, and when no node at all is Ready nobody is evicted.
 */
class NodeLifecycle implements Lifecycle {
  readonly #options: LifecycleOptions
  readonly #seams: LifecycleSeams
  readonly #nodes = new Map<string, NodeObject>()
  readonly #renewed = new Map<string, string>()
  readonly #health = new Map<string, NodeHealth>()
  readonly #queue = new Set<string>()
  readonly #stopping = new AbortController()
  readonly #taints: TaintWriter
  readonly #watches: readonly Watching[]
  readonly #loops: Promise<unknown>[] = []
  readonly #writes = new Set<Promise<unknown>>()
  #isDark = false

  constructor(options: LifecycleOptions, seams: LifecycleSeams) {
    this.#options = options
    this.#seams = seams
    this.#taints = new TaintWriter({ ...seams, signal: this.#stopping.signal })
    // Each request under way listens to it, and there are as many as nodes.
    setMaxListeners(0, this.#stopping.signal)
    this.#watches = [
      seams.api.follow(NODES, {
        replace: items => this.#replaceNodes(items as readonly NodeObject[]),
        upsert: node => this.#nodeChanged(node as NodeObject),
        remove: name => this.#forget(name),
      }),
      seams.api.follow(LEASES, {
        replace: items => items.forEach(item => this.#leaseSeen(item as LeaseObject)),
        upsert: lease => this.#leaseSeen(lease as LeaseObject),
        remove: () => undefined,
      }),
    ]
    this.#loops.push(
      this.#every(options.monitorPeriodMs, () => this.#monitor()),
      this.#every(options.evictionPeriodMs, () => this.#evict()),
    )
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    const watches = this.#watches.map(watch => watch.stop())
    await Promise.allSettled([...watches, ...this.#loops, ...this.#writes])
  }

  async #every(periodMs: number, round: () => Promise<void>): Promise<void> {
    while (await sleep(this.#seams.clock, periodMs, this.#stopping.signal)) await round()
  }

  #replaceNodes(nodes: readonly NodeObject[]): void {
    const names = new Set(nodes.map(node => node.metadata.name))
    for (const name of this.#nodes.keys()) if (!names.has(name)) this.#forget(name)
    for (const node of nodes) this.#nodeChanged(node)
  }

  #nodeChanged(node: NodeObject): void {
    const { name } = node.metadata
    this.#nodes.set(name, node)
    const { clock } = this.#seams
    if (withNoSchedule(node, clock.wall()) === undefined) return
    this.#track(this.#taints.write(name, now => withNoSchedule(now, clock.wall())))
  }

  #forget(name: string): void {
    this.#nodes.delete(name)
    this.#health.delete(name)
    this.#queue.delete(name)
    this.#renewed.delete(name)
  }

  #leaseSeen(lease: LeaseObject): void {
    const renewTime = lease.spec?.renewTime
    if (renewTime !== undefined) this.#renewed.set(lease.metadata.name, renewTime)
  }

  async #monitor(): Promise<void> {
    await Promise.all([...this.#nodes.keys()].map(name => this.#judge(name)))
    await this.#handleDisruption()
  }

  async #judge(name: string): Promise<void> {
    const { clock } = this.#seams
    const now = clock.now()
    const node = this.#nodes.get(name)!
    const ready = readyOf(node)
    const health = observe(
      this.#health.get(name),
      { ready, renewTime: this.#renewed.get(name) },
      now,
    )
    this.#health.set(name, health)
    const grace = ready === undefined ? this.#options.startupGraceMs : this.#options.graceMs
    const isSilent = now > health.probeAt + grace
    const current = isSilent && ready?.status !== 'Unknown' ? await this.#silence(node) : node
    await this.#planEviction(current)
  }

  /** Mark a silent node as Unknown; a kubelet that spoke meanwhile wins by its newer resourceVersion. */
  async #silence(node: NodeObject): Promise<NodeObject> {
    const { api, clock, log } = this.#seams
    const { name } = node.metadata
    const status = { ...node.status, conditions: silentConditions(node, clock.wall()) }
    try {
      const next = await api.put(
        `${NODES}/${name}/status`,
        { ...node, status },
        this.#stopping.signal,
      )
      log.info('lifecycle: node is silent', { node: name })
      this.#health.set(
        name,
        observe(this.#health.get(name), this.#signals(next as NodeObject), clock.now()),
      )
      this.#nodeChanged(next as NodeObject)
      return next as NodeObject
    } catch (error) {
      this.#taints.complain(name, error)
      return node
    }
  }

  #signals(node: NodeObject): { ready: ReturnType<typeof readyOf>; renewTime: string | undefined } {
    return { ready: readyOf(node), renewTime: this.#renewed.get(node.metadata.name) }
  }

  async #planEviction(node: NodeObject): Promise<void> {
    const { name } = node.metadata
    if (readyOf(node) === undefined) return
    const key = evictionKey(node)
    const taints = withNoExecute(node, key, this.#seams.clock.wall())
    if (key === undefined) this.#queue.delete(name)
    if (taints === undefined) return
    if (key === undefined) await this.#writeNoExecute(name)
    else this.#queue.add(name)
  }

  /** When nobody is Ready any more it is the controller's own link that is suspect: evictions stop until somebody is. */
  async #handleDisruption(): Promise<void> {
    const { clock, log } = this.#seams
    const nodes = [...this.#nodes.values()]
    const isDark = nodes.length > 0 && [...darkDomains(nodes).values()].every(dark => dark)
    if (isDark === this.#isDark) return
    this.#isDark = isDark
    if (isDark) {
      log.info('lifecycle: no node is Ready, evictions stop')
      this.#queue.clear()
      await Promise.all(
        nodes.map(node =>
          this.#taints.write(node.metadata.name, now => withNoExecute(now, undefined, 0)),
        ),
      )
      return
    }
    log.info('lifecycle: some node is Ready again, evictions go on')
    for (const [name, health] of this.#health)
      this.#health.set(name, { ...health, probeAt: clock.now() })
  }

  /** One node of each failure domain gets its NoExecute taint. */
  async #evict(): Promise<void> {
    if (this.#isDark) return
    const served = new Set<string>()
    for (const name of [...this.#queue]) {
      const node = this.#nodes.get(name)
      if (node === undefined || served.has(domainOf(node))) continue
      served.add(domainOf(node))
      this.#queue.delete(name)
      await this.#writeNoExecute(name)
    }
  }

  #writeNoExecute(name: string): Promise<void> {
    return this.#taints.write(name, now =>
      withNoExecute(now, evictionKey(now), this.#seams.clock.wall()),
    )
  }

  #track(write: Promise<unknown>): void {
    this.#writes.add(write)
    void write.finally(() => this.#writes.delete(write))
  }
}

/** Start the controller; it lists and watches Nodes and node Leases, and writes nodes and nodes/status. */
export const startLifecycle = (options: LifecycleOptions, seams: LifecycleSeams): Lifecycle =>
  new NodeLifecycle(options, seams)
