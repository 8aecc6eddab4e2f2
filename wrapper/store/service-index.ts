// SPDX-License-Identifier: Apache-2.0

/** The service of an EndpointSlice or Endpoints object, and the nodes of its endpoints. */
export interface Member {
  /** `namespace/name`, or a text that is not a service's name. */
  readonly service: string
  readonly nodes: readonly string[]
}

const add = (map: Map<string, Set<string>>, key: string, member: string): void => {
  const set = map.get(key)
  if (set === undefined) map.set(key, new Set([member]))
  else set.add(member)
}

const drop = (map: Map<string, Set<string>>, key: string, member: string): void => {
  const set = map.get(key)
  if (set?.delete(member) === true && set.size === 0) map.delete(key)
}

const NONE: ReadonlySet<string> = new Set()

/** Indexes slices (or Endpoints) by service, and by the nodes of their endpoints. */
export class ServiceIndex {
  readonly #members = new Map<string, Member>()
  readonly #byService = new Map<string, Set<string>>()
  readonly #byNode = new Map<string, Set<string>>()

  /** Nodes with any endpoint. */
  get nodes(): Iterable<string> {
    return this.#byNode.keys()
  }

  get services(): Iterable<string> {
    return this.#byService.keys()
  }

  /** Keys of the objects of a service. */
  of(service: string): ReadonlySet<string> {
    return this.#byService.get(service) ?? NONE
  }

  serviceOf(key: string): string | undefined {
    return this.#members.get(key)?.service
  }

  /** Services that have an endpoint on a node. */
  onNode(node: string): ReadonlySet<string> {
    const services = new Set<string>()
    for (const key of this.#byNode.get(node) ?? NONE) services.add(this.#members.get(key)!.service)
    return services
  }

  set(key: string, member: Member): void {
    this.remove(key)
    this.#members.set(key, member)
    add(this.#byService, member.service, key)
    for (const node of member.nodes) add(this.#byNode, node, key)
  }

  remove(key: string): void {
    const member = this.#members.get(key)
    if (member === undefined) return
    this.#members.delete(key)
    drop(this.#byService, member.service, key)
    for (const node of member.nodes) drop(this.#byNode, node, key)
  }
}
