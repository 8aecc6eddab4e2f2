// SPDX-License-Identifier: Apache-2.0
import type { Logger } from '../../core/log.js'
import type { ServiceRule } from '../prune/topology-keys.js'
import { PrunedTable, type Explained, type Judging } from './pruned-table.js'
import type { Resource } from './resources.js'
import type { Table } from './table.js'
import { ENDPOINTS, SLICES } from './views.js'

/** Each endpoint of a service, and why it is served or not. */
export interface ExplainedService {
  readonly rule: ServiceRule | undefined
  readonly slices: readonly Explained[]
  readonly endpoints: readonly Explained[]
}

/** Slices and Endpoints, the API's two forms of the same endpoints. A change that affects a service is passed to both. */
export class PrunedTables {
  readonly endpointslices: PrunedTable
  readonly endpoints: PrunedTable
  readonly #judging: Judging

  constructor(
    tables: Readonly<Record<'endpointslices' | 'endpoints', Table>>,
    judging: Judging,
    log: Logger,
  ) {
    this.#judging = judging
    this.endpointslices = new PrunedTable(tables.endpointslices, SLICES, judging, log)
    this.endpoints = new PrunedTable(tables.endpoints, ENDPOINTS, judging, log)
  }

  /** Nodes with endpoints. */
  get carriers(): ReadonlySet<string> {
    return new Set(this.#both.flatMap(({ groups }) => [...groups.nodes]))
  }

  /** Judge these services again. */
  judge(services: Iterable<string>): void {
    const all = [...services]
    for (const pruned of this.#both) pruned.judge(all)
  }

  /** Judge services with endpoints on these nodes again. @param isMeant whether the change affects the service */
  judgeOn(nodes: ReadonlySet<string>, isMeant: (service: string) => boolean): void {
    for (const pruned of this.#both) {
      const services = new Set<string>()
      for (const node of nodes)
        for (const service of pruned.groups.onNode(node))
          if (isMeant(service)) services.add(service)
      pruned.judge(services)
    }
  }

  /** Begin to serve each table whose complete list has arrived. */
  begin(hasArrived: (resource: Resource) => boolean): void {
    for (const pruned of this.#both) {
      const { state, row } = pruned.table
      if (state !== 'filled' && hasArrived(row.resource)) pruned.begin()
    }
  }

  /** @param service `namespace/name` */
  explain(service: string): ExplainedService {
    return {
      rule: this.#judging.ruleOf(service),
      slices: this.endpointslices.explain(service),
      endpoints: this.endpoints.explain(service),
    }
  }

  get #both(): readonly PrunedTable[] {
    return [this.endpointslices, this.endpoints]
  }
}
