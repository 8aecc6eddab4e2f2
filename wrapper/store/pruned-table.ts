// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { decide, type Surroundings } from '../prune/decide.js'
import type { Decision } from '../prune/decision.js'
import type { LocalEndpoint } from '../prune/local-endpoint.js'
import type { ServiceRule } from '../prune/topology-keys.js'
import type { EndpointView } from '../wire/endpoint.js'
import { WireError } from '../wire/wire-error.js'
import { ServiceIndex } from './service-index.js'
import type { Item } from './item.js'
import { AS_IS, type Rendering } from './stored.js'
import type { Table } from './table.js'
import {
  renderingWithout,
  localEndpointOf,
  localRendering,
  type EndpointKind,
  type EndpointObject,
} from './views.js'

/** What decides which endpoints are left out. */
export interface Judging {
  readonly around: Surroundings
  /** Undefined for an unknown service. */
  ruleOf(service: string): ServiceRule | undefined
  /** Whether `default/kubernetes` may be served with an address of this node. */
  readonly inCluster: boolean
}

/** One endpoint and the decision about it, for `explain`. */
export interface Explained {
  /** `namespace/name` of the slice or the Endpoints object. */
  readonly object: string
  readonly address: string
  readonly node: string | undefined
  readonly decision: Decision
}

interface Part {
  readonly key: string
  readonly raw: Uint8Array
  readonly object: EndpointObject
}

/** The service of an object that names none: not a valid name of a service. */
const ownGroup = (key: string): string => `:${key}`

const nodesOf = (endpoints: readonly EndpointView[]): readonly string[] => [
  ...new Set(endpoints.map(({ node }) => node).filter(node => node !== undefined)),
]

const LOCAL: Decision = { keep: true, reason: 'local-endpoint' }
const REPLACED: Decision = { keep: false, reason: 'replaced-by-local' }

/**
 * A table of slices or Endpoints that serves each of them without the endpoints that are not usable from this
 * node.
 */
export class PrunedTable {
  readonly table: Table
  readonly groups = new ServiceIndex()
  readonly #of: EndpointKind
  readonly #judging: Judging
  readonly #log: Logger
  /** Errors in the local-endpoint annotations of objects, by key. */
  readonly #troubles = new Map<string, string>()
  #isJudging = false

  constructor(table: Table, of: EndpointKind, judging: Judging, log: Logger) {
    this.table = table
    this.#of = of
    this.#judging = judging
    this.#log = log
  }

  /** Nodes, services and health are known: decide about all endpoints, and begin to serve. */
  begin(): void {
    this.#isJudging = true
    this.judge(this.groups.services)
    this.table.fill()
  }

  /** Take changes of several objects at once. */
  apply(items: readonly Item[], gone: readonly string[]): void {
    const pending = new Map<string, Item>()
    const services = new Set<string>()
    for (const key of gone) {
      services.add(this.groups.serviceOf(key) ?? ownGroup(key))
      this.groups.remove(key)
      this.#troubles.delete(key)
      this.table.remove(key)
    }
    for (const item of items) {
      const { key, raw } = item
      const object = this.#read(key, raw)
      const service = object.service ?? ownGroup(key)
      // An object may move to another service: then the service that it leaves is judged again too.
      services.add(this.groups.serviceOf(key) ?? service).add(service)
      this.groups.set(key, { service, nodes: nodesOf(object.endpoints) })
      pending.set(key, item)
    }
    this.#judge(services, pending)
  }

  /** Judge services again after a change that affects them. */
  judge(services: Iterable<string>): void {
    if (this.#isJudging) this.#judge(services, new Map())
  }

  /** Each endpoint of a service with the present decision about it. */
  explain(service: string): readonly Explained[] {
    const explained: Explained[] = []
    for (const parts of this.#families(service, new Map()))
      for (const [part, decisions] of this.#decisions(service, parts))
        for (const one of this.#explainPart(service, part, decisions)) explained.push(one)
    return explained
  }

  #explainPart(
    service: string,
    { key, raw, object }: Part,
    decisions: readonly Decision[],
  ): readonly Explained[] {
    const local = this.#localOf(service, raw)
    const own = object.endpoints.map(({ address, node }, i) => ({
      ...{ object: key, address, node },
      decision: local.kind === 'rewrite' ? REPLACED : decisions[i]!,
    }))
    if (local.kind !== 'rewrite') return own
    return [...own, { object: key, address: local.address, node: undefined, decision: LOCAL }]
  }

  #judge(services: Iterable<string>, pending: ReadonlyMap<string, Item>): void {
    for (const service of services)
      for (const parts of this.#families(service, pending))
        for (const [part, rendering] of this.#renderings(service, parts)) {
          const item = pending.get(part.key)
          if (item === undefined) this.table.rerender(part.key, rendering)
          else this.table.put(item, rendering)
        }
  }

  /** The objects of a service, those of one address family together. */
  #families(service: string, pending: ReadonlyMap<string, Item>): Iterable<readonly Part[]> {
    const families = new Map<string, Part[]>()
    for (const key of this.groups.of(service)) {
      const raw = pending.get(key)?.raw ?? this.table.get(key)!.raw
      const object = this.#read(key, raw)
      const parts = families.get(object.family)
      if (parts === undefined) families.set(object.family, [{ key, raw, object }])
      else parts.push({ key, raw, object })
    }
    return families.values()
  }

  #renderings(service: string, parts: readonly Part[]): readonly (readonly [Part, Rendering])[] {
    if (!this.#isJudging) return parts.map(part => [part, AS_IS])
    return this.#decisions(service, parts).map(([part, decisions]) => {
      const local = this.#localOf(service, part.raw)
      this.#complain(part.key, local.kind === 'malformed' ? local.trouble : undefined)
      if (local.kind === 'rewrite') return [part, localRendering(this.#of, local)]
      const places = decisions.flatMap(({ keep }, place) => (keep ? [] : [place]))
      return [part, renderingWithout(this.#of, part.object.endpoints, places)]
    })
  }

  #localOf(service: string, raw: Uint8Array): LocalEndpoint {
    return this.#judging.inCluster ? localEndpointOf(service, raw) : { kind: 'none' }
  }

  /** Logs each error once, not each time that the object is judged. */
  #complain(key: string, trouble: string | undefined): void {
    if (this.#troubles.get(key) === trouble) return
    if (trouble === undefined) {
      this.#troubles.delete(key)
      return
    }
    this.#troubles.set(key, trouble)
    const object = `${this.#of.kind} ${key}`
    this.#log.warn('the local endpoint is malformed; it is not used', { object, error: trouble })
  }

  /** The decisions about a family's endpoints, split by the objects that hold them. */
  #decisions(
    service: string,
    parts: readonly Part[],
  ): readonly (readonly [Part, readonly Decision[]])[] {
    const { around } = this.#judging
    const rule = this.#judging.ruleOf(service)
    const endpoints = parts.flatMap(({ object }) => object.endpoints)
    const decisions = decide({ name: service, rule }, endpoints, around)
    let from = 0
    return parts.map(part => {
      const to = from + part.object.endpoints.length
      const own = decisions.slice(from, to)
      from = to
      return [part, own]
    })
  }

  #read(key: string, raw: Uint8Array): EndpointObject {
    try {
      return this.#of.read(key, raw)
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      this.#log.warn('object cannot be read; it is served as it is', {
        object: `${this.#of.kind} ${key}`,
        error: reasonOf(error),
      })
      return { service: undefined, family: '', endpoints: [] }
    }
  }
}
