// SPDX-License-Identifier: Apache-2.0
import type { Logger } from '../../core/log.js'
import type { Surroundings } from '../prune/decide.js'
import type { ServiceRule } from '../prune/topology-keys.js'
import { readLabels } from '../wire/meta.js'
import { readService } from '../wire/service.js'
import type { HistoryLimits } from './history.js'
import type { Item, Upstream } from './item.js'
import { PrunedTables, type ExplainedService } from './pruned-tables.js'
import { AS_IS } from './stored.js'
import { RESOURCES, ROWS, type Resource } from './resources.js'
import { ServiceTopology, type Neighbourhood } from './service-topology.js'
import { surroundingsOf, type Health } from './surroundings.js'
import { Table } from './table.js'
import type { Versions } from './versions.js'

/** Options of pruning and history. */
export interface StoreOptions {
  /** The node that the wrapper runs on. */
  readonly self: string
  readonly keysMode: Surroundings['keysMode']
  /** Whether `default/kubernetes` may be served with an address of this node. */
  readonly inCluster: boolean
  /**
   * History per resource. A resource may keep more changes than this: twice as many as it has objects. For a
   * minute it may keep more bytes too: as many more as its objects have.
   * @default 8 192 changes, 8 MiB that nothing else references
   */
  readonly history?: HistoryLimits
}

/** What the store needs of the world. */
export interface StoreSeams {
  readonly versions: Versions
  readonly health: Health
  readonly log: Logger
}

const HISTORY: HistoryLimits = { changes: 8_192, bytes: 8 * 1024 * 1024 }

/** All objects that the wrapper serves. Listeners are called after a method has finished all its changes. */
export class Store {
  readonly versions: Versions
  readonly #options: StoreOptions
  readonly #health: Health
  readonly #log: Logger
  readonly #tables: Readonly<Record<Resource, Table>>
  readonly #pruned: PrunedTables
  readonly #topology: ServiceTopology
  readonly #replaced = new Set<Resource>()
  #wasFresh: boolean
  /** Whether services may wait until this node's labels, and the nodes for their topology keys, are known. */
  #isPatient = true

  constructor(options: StoreOptions, { versions, health, log }: StoreSeams) {
    this.versions = versions
    this.#options = options
    this.#health = health
    this.#log = log
    this.#wasFresh = health.isFresh
    this.#topology = new ServiceTopology(options.self)
    const limits = options.history ?? HISTORY
    const made = RESOURCES.map(resource => [resource, new Table(ROWS[resource], versions, limits)])
    this.#tables = Object.fromEntries(made) as Record<Resource, Table>
    const judging = {
      around: surroundingsOf(options, health, this.#topology),
      inCluster: options.inCluster,
      ruleOf: (service: string) => this.#ruleOf(service),
    }
    this.#pruned = new PrunedTables(this.#tables, judging, log)
  }

  table(resource: Resource): Table {
    return this.#tables[resource]
  }

  /** Nodes with endpoints: those whose health matters here. */
  get carriers(): ReadonlySet<string> {
    return this.#pruned.carriers
  }

  /** Services whose topology keys cannot be read, with the keys that count instead. */
  get keptKeys(): ReadonlyMap<string, readonly string[]> {
    return this.#topology.keptKeys
  }

  /** The keys that count for each service with topology keys, for the disk. */
  get topologyKeys(): ReadonlyMap<string, readonly string[]> {
    return this.#topology.keys
  }

  /**
   * Load the last valid topology keys of a service from an earlier process; they are used until the service has
   * valid ones.
   */
  rememberKeys(service: string, annotation: string): void {
    this.#topology.rememberKeys(service, annotation)
  }

  /** Labels that topology keys name, with this node's values: `setNeighbours` must say who shares them. */
  get wantedLabels(): ReadonlyMap<string, string> {
    return this.#topology.wanted(this.#isService)
  }

  /** What `setNeighbours` was given, by label. */
  get neighbours(): ReadonlyMap<string, Neighbourhood> {
    return this.#topology.neighbours
  }

  /** Also what an earlier process knew of labels that have no answer yet, for the disk. */
  get lastNeighbours(): ReadonlyMap<string, Neighbourhood> {
    return this.#topology.lastNeighbours
  }

  /** Load from an earlier process which nodes shared a label's value; used until the apiserver has answered. */
  rememberNeighbours(label: string, neighbourhood: Neighbourhood): void {
    this.#topology.rememberNeighbours(label, neighbourhood)
  }

  /** These are all the nodes that have this value of a label. */
  setNeighbours(label: string, neighbourhood: Neighbourhood): void {
    const changed = this.#topology.setNeighbours(label, neighbourhood)
    if (changed === undefined) return
    if (changed === 'all') this.#pruned.judge(this.#topology.naming(label))
    else this.#pruned.judgeOn(changed, service => this.#topology.hasKeys(service))
    this.#topology.forgetAllBut(this.wantedLabels)
    this.#fill()
    this.#flush()
  }

  /** The sink for the apiserver's state of a resource. */
  upstream(resource: Resource): Upstream {
    return {
      replace: items => {
        const now = new Set(items.map(({ key }) => key))
        const gone = this.#tables[resource].list().flatMap(({ key }) => (now.has(key) ? [] : [key]))
        this.#replaced.add(resource)
        if (resource === 'services') this.#topology.keepOnly(now)
        this.#apply(resource, items, gone)
      },
      upsert: item => this.#apply(resource, [item], []),
      remove: key => this.#apply(resource, [], [key]),
    }
  }

  /**
   * Serve from now on even if the nodes for some topology keys are unknown, or this node's own labels: those services have
   * only this node's endpoints.
   */
  stopWaiting(): void {
    this.#isPatient = false
    this.#fill()
    this.#flush()
  }

  /** The apiserver does not serve this resource. */
  absent(resource: Resource): void {
    this.#tables[resource].absent()
    this.#tables[resource].flush()
  }

  /** The agent's report about these nodes changed, or its freshness. */
  setHealth(changed: Iterable<string>): void {
    const { isFresh } = this.#health
    const nodes = new Set(changed)
    if (isFresh !== this.#wasFresh)
      for (const node of this.carriers) if (this.#health.of(node) === 'dead') nodes.add(node)
    this.#wasFresh = isFresh
    this.#pruned.judgeOn(nodes, () => true)
    this.#flush()
  }

  /** Each endpoint of a service's slices and why it is shown or not. @param service `namespace/name` */
  explain(service: string): ExplainedService {
    return this.#pruned.explain(service)
  }

  readonly #isService = (service: string): boolean =>
    this.#tables.services.get(service) !== undefined

  #ruleOf(service: string): ServiceRule | undefined {
    return this.#isService(service) ? this.#topology.ruleOf(service) : undefined
  }

  #apply(resource: Resource, items: readonly Item[], gone: readonly string[]): void {
    switch (resource) {
      case 'nodes':
        this.#applyNodes(items, gone)
        break
      case 'services':
        this.#applyServices(items, gone)
        break
      case 'endpointslices':
      case 'endpoints':
        this.#pruned[resource].apply(items, gone)
        break
      case 'servicecidrs':
        this.#store(resource, items, gone)
        break
    }
    if (resource === 'nodes' || resource === 'services')
      this.#topology.forgetAllBut(this.wantedLabels)
    this.#fill()
    this.#flush()
  }

  #store(resource: Resource, items: readonly Item[], gone: readonly string[]): void {
    const table = this.#tables[resource]
    for (const key of gone) table.remove(key)
    for (const item of items) table.put(item, AS_IS)
  }

  #applyNodes(items: readonly Item[], gone: readonly string[]): void {
    this.#store('nodes', items, gone)
    const own = items.find(({ key }) => key === this.#options.self)
    if (own === undefined) return
    if (this.#topology.setOwnLabels(readLabels(own.raw)))
      this.#pruned.judge(this.#topology.services)
  }

  #applyServices(items: readonly Item[], gone: readonly string[]): void {
    const touched = new Set<string>()
    for (const key of gone) {
      this.#topology.forgetRule(key)
      touched.add(key)
    }
    for (const { key, raw } of items) {
      const isNew = !this.#isService(key)
      if (this.#takeRule(key, raw, isNew) || isNew) touched.add(key)
    }
    this.#store('services', items, gone)
    this.#pruned.judge(touched)
  }

  /** @returns whether the service's rule has changed */
  #takeRule(key: string, raw: Uint8Array, isNew: boolean): boolean {
    const { before, rule } = this.#topology.takeRule(key, readService(raw).topologyKeys, isNew)
    if (rule.trouble !== undefined && rule.trouble !== before?.trouble)
      this.#log.warn('topology keys of a service are malformed', {
        service: key,
        trouble: rule.trouble,
        used: rule.keys,
      })
    return (before?.keys.join() ?? '') !== rule.keys.join()
  }

  /** Begin to serve a resource once everything that decides about it is known: a partial list is never served. */
  #fill(): void {
    for (const resource of ['nodes', 'services', 'servicecidrs'] as const)
      if (this.#replaced.has(resource)) this.#tables[resource].fill()
    if (!this.#replaced.has('services')) return
    if (this.#isPatient && !this.#canJudge()) return
    this.#pruned.begin(resource => this.#replaced.has(resource))
  }

  /** Whether everything is known that services' topology keys depend on. */
  #canJudge(): boolean {
    return this.#replaced.has('nodes') && this.#topology.isSettled(this.#isService)
  }

  #flush(): void {
    for (const resource of RESOURCES) this.#tables[resource].flush()
  }
}
