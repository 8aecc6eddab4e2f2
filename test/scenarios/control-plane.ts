// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import {
  evictionKey,
  observe,
  silentConditions,
  withNoExecute,
  withNoSchedule,
  type NodeHealth,
} from '../../sandbox/lifecycle-rules.js'
import { readyOf, type LeaseObject, type NodeObject } from '../../sandbox/node-object.js'
import type { FakeCluster } from '../../testkit/zone/fake-cluster.js'

const MONITOR_MS = 5_000
const TAINT_MS = 100

/** The node-lifecycle controller over the cluster in memory, by the rules of the embedded one. */
export class ControlPlane {
  /** How often it put the evicting taint on a node. */
  readonly evictions = new Map<string, number>()
  /** The longest time for which it saw no heartbeat of a node. */
  readonly silences = new Map<string, number>()
  readonly #clock: Clock
  readonly #cluster: FakeCluster
  readonly #names: readonly string[]
  readonly #graceMs: number
  readonly #health = new Map<string, NodeHealth>()
  readonly #end = new AbortController()

  constructor(clock: Clock, cluster: FakeCluster, names: readonly string[], graceMs = 40_000) {
    this.#clock = clock
    this.#cluster = cluster
    this.#names = names
    this.#graceMs = graceMs
    void this.#every(MONITOR_MS, name => this.#monitor(name))
    void this.#every(TAINT_MS, name => this.#taint(name))
  }

  stop(): void {
    this.#end.abort()
  }

  async #every(ms: number, work: (name: string) => void): Promise<void> {
    do for (const name of this.#names) work(name)
    while (await sleep(this.#clock, ms, this.#end.signal))
  }

  #node(name: string): NodeObject {
    return this.#cluster.raw('node', name)
  }

  #monitor(name: string): void {
    const node = this.#node(name)
    const lease = this.#cluster.raw('lease', name) as unknown as LeaseObject
    const now = this.#clock.now()
    const ready = readyOf(node)
    const health = observe(this.#health.get(name), { ready, renewTime: lease.spec?.renewTime }, now)
    this.#health.set(name, health)
    this.silences.set(name, Math.max(this.silences.get(name) ?? 0, now - health.probeAt))
    if (now - health.probeAt <= this.#graceMs || ready?.status === 'Unknown') return
    const conditions = silentConditions(node, this.#clock.wall())
    this.#cluster.edit('node', name, { status: { ...node.status, conditions } })
  }

  #taint(name: string): void {
    const wall = this.#clock.wall()
    const node = this.#node(name)
    const one = withNoSchedule(node, wall)
    const key = evictionKey(node)
    const tainted = one === undefined ? node : { ...node, spec: { ...node.spec, taints: one } }
    const two = withNoExecute(tainted, key, wall)
    const taints = two ?? one
    if (taints === undefined) return
    if (two !== undefined && key !== undefined)
      this.evictions.set(name, (this.evictions.get(name) ?? 0) + 1)
    this.#cluster.edit('node', name, { spec: { ...node.spec, taints } })
  }
}
