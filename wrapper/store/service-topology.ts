// SPDX-License-Identifier: Apache-2.0
import { ANY_NODE, parseTopologyKeys, type ServiceRule } from '../prune/topology-keys.js'

type Labels = ReadonlyMap<string, string>

/** The nodes that have one value of a label, this node among them. */
export interface Neighbourhood {
  readonly value: string
  readonly names: ReadonlySet<string>
}

/** Each node has its own value, so it is known who shares it. */
const HOSTNAME = 'kubernetes.io/hostname'

const NO_TOPOLOGY: ServiceRule = { keys: [] }

const sameLabels = (a: Labels | undefined, b: Labels): boolean => {
  if (a?.size !== b.size) return false
  for (const [key, value] of a) if (b.get(key) !== value) return false
  return true
}

/** The topology keys of Services, this node's labels, and the nodes that share their values. */
export class ServiceTopology {
  readonly #self: string
  /** Rules of services with topology keys; others have the empty rule. */
  readonly #rules = new Map<string, ServiceRule>()
  /** The rule that a service keeps until the nodes for its present keys are known. */
  readonly #earlier = new Map<string, ServiceRule>()
  /** The last known labels of this node, even if it does not exist now. */
  #ownLabels: Labels | undefined
  readonly #neighbours = new Map<string, Neighbourhood>()
  /** From before this start; used until the apiserver has answered for the label, while this node has that value. */
  readonly #remembered = new Map<string, Neighbourhood>()

  constructor(self: string) {
    this.#self = self
  }

  get isSelfKnown(): boolean {
    return this.#ownLabels !== undefined
  }

  /** Services with topology keys. */
  get services(): Iterable<string> {
    return this.#rules.keys()
  }

  /** Services whose keys name this label. */
  *naming(label: string): Generator<string, void> {
    for (const [service, { keys }] of this.#rules) if (keys.includes(label)) yield service
  }

  hasKeys(service: string): boolean {
    return this.#rules.has(service)
  }

  /** The keys that count for each service with topology keys. */
  get keys(): ReadonlyMap<string, readonly string[]> {
    return new Map([...this.#rules].map(([service, { keys }]) => [service, keys]))
  }

  /** Services whose keys cannot be read, with the keys that count instead. */
  get keptKeys(): ReadonlyMap<string, readonly string[]> {
    const malformed = [...this.#rules].filter(([, { trouble }]) => trouble !== undefined)
    return new Map(malformed.map(([service, { keys }]) => [service, keys]))
  }

  /** Labels that known services' keys name, with this node's values: whose neighbours must be learnt. */
  wanted(isKnown: (service: string) => boolean): Labels {
    const wanted = new Map<string, string>()
    for (const [service, { keys }] of this.#rules)
      for (const key of isKnown(service) ? keys : []) {
        const value = this.#ownLabels?.get(key)
        if (value !== undefined && key !== HOSTNAME) wanted.set(key, value)
      }
    return wanted
  }

  /**
   * Drop labels that no rule in effect names: what is known of them would be outdated when one does again. A service whose
   * present keys cannot be judged yet still goes by its earlier ones.
   */
  forgetAllBut(wanted: Labels): void {
    const kept = new Set(wanted.keys())
    for (const service of this.#earlier.keys())
      for (const key of this.ruleOf(service).keys) kept.add(key)
    for (const label of this.#neighbours.keys())
      if (!kept.has(label)) this.#neighbours.delete(label)
  }

  /** Those that were learnt. */
  get neighbours(): ReadonlyMap<string, Neighbourhood> {
    return this.#neighbours
  }

  /** For the disk: those that were learnt and, while a rule names their label, those from before this start. */
  get lastNeighbours(): ReadonlyMap<string, Neighbourhood> {
    const isNamed = (label: string): boolean => this.naming(label).next().done !== true
    const remembered = [...this.#remembered].filter(([label]) => isNamed(label))
    return new Map([...remembered, ...this.#neighbours])
  }

  rememberNeighbours(label: string, neighbourhood: Neighbourhood): void {
    this.#remembered.set(label, neighbourhood)
  }

  /**
   * Take the nodes that have `value` of a label. Ignored when this node does not have that value any more.
   * @returns nodes that are new or gone; `all` when nothing can be compared; undefined when it was not taken
   */
  setNeighbours(label: string, next: Neighbourhood): ReadonlySet<string> | 'all' | undefined {
    if (this.#ownLabels?.get(label) !== next.value) return undefined
    const before = this.#neighboursOf(label)
    this.#neighbours.set(label, next)
    this.#remembered.delete(label)
    if (before?.value !== next.value) return 'all'
    const changed = new Set<string>()
    for (const name of next.names) if (!before.names.has(name)) changed.add(name)
    for (const name of before.names) if (!next.names.has(name)) changed.add(name)
    return changed
  }

  /** @returns whether this node's labels have changed */
  setOwnLabels(labels: Labels): boolean {
    if (sameLabels(this.#ownLabels, labels)) return false
    this.#ownLabels = labels
    return true
  }

  /**
   * After this node's value of a label changed, the nodes with the previous value count until those with the new one are
   * known: an empty result would leave out every endpoint.
   */
  sharesValue(label: string, node: string): boolean {
    if (this.#ownLabels?.get(label) === undefined) return false
    return node === this.#self || (this.#neighboursOf(label)?.names.has(node) ?? false)
  }

  /** Whether the nodes for the keys of all known services are known. */
  isSettled(isKnown: (service: string) => boolean): boolean {
    return [...this.#rules].every(([service, rule]) => !isKnown(service) || this.#canJudge(rule))
  }

  /** The rule in effect for a known service. */
  ruleOf(service: string): ServiceRule {
    const rule = this.#rules.get(service) ?? NO_TOPOLOGY
    if (this.#canJudge(rule)) {
      this.#earlier.delete(service)
      return rule
    }
    return this.#earlier.get(service) ?? rule
  }

  /** Use these keys for a service until it has valid ones. */
  rememberKeys(service: string, annotation: string): void {
    this.#rules.set(service, parseTopologyKeys(annotation, undefined))
  }

  /** These are all services that exist: forget others that an earlier process knew. */
  keepOnly(services: ReadonlySet<string>): void {
    for (const service of this.#rules.keys()) if (!services.has(service)) this.forgetRule(service)
  }

  forgetRule(service: string): void {
    this.#rules.delete(service)
    this.#earlier.delete(service)
  }

  /**
   * Take a service's annotation.
   * @param isNew whether the service was not known; a known one keeps its rule until the nodes of the next one are known
   */
  takeRule(
    service: string,
    annotation: string | undefined,
    isNew: boolean,
  ): { readonly before: ServiceRule | undefined; readonly rule: ServiceRule } {
    const before = this.#rules.get(service)
    if (!isNew) this.#earlier.set(service, this.ruleOf(service))
    const rule = parseTopologyKeys(annotation, before)
    if (rule.keys.length === 0 && rule.trouble === undefined) this.#rules.delete(service)
    else this.#rules.set(service, rule)
    return { before, rule }
  }

  #canJudge({ keys }: ServiceRule): boolean {
    return keys.every(
      key =>
        key === ANY_NODE ||
        key === HOSTNAME ||
        this.#ownLabels?.get(key) === undefined ||
        this.#neighboursOf(key) !== undefined,
    )
  }

  #neighboursOf(label: string): Neighbourhood | undefined {
    const learnt = this.#neighbours.get(label)
    if (learnt !== undefined) return learnt
    const remembered = this.#remembered.get(label)
    return remembered?.value === this.#ownLabels?.get(label) ? remembered : undefined
  }
}
