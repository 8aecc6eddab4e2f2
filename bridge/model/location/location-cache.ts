// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { metadataOf } from '../merge/tidy.js'
import { referencesOf, type Reference, type ReferencedType } from './references.js'

/** A pod, as far as it matters for who may read what. */
export interface PlacedPod {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly node: NodeName
  readonly serviceAccount: string
}

/** An object that a node needs, or no longer needs. */
export interface Need {
  readonly node: NodeName
  readonly type: ReferencedType
  readonly namespace: string
  readonly name: string
}

/** What changed when a pod was added, changed or removed. */
export interface LocationChange {
  readonly begun: readonly Need[]
  readonly ended: readonly Need[]
}

/** Whether pods of a node can start without the object. */
export type NeedKind = 'mandatory' | 'optional'

interface Entry {
  readonly pod: PlacedPod
  readonly references: readonly Reference[]
}

/** Uids of pods → whether that pod starts without the object. */
type Users = Map<string, boolean>

const keyOf = (type: string, namespace: string, name: string): string =>
  `${type} ${namespace}/${name}`

const keyOfReference = ({ type, namespace, name }: Reference): string =>
  keyOf(type, namespace, name)

const needOf = (node: NodeName, { type, namespace, name }: Reference): Need => ({
  ...{ node, type, namespace, name },
})

/** A pod that has ended for good needs nothing. */
const hasEnded = (pod: JsonMap): boolean => {
  const phase = isMap(pod['status']) ? pod['status']['phase'] : undefined
  return phase === 'Succeeded' || phase === 'Failed'
}

const placedPod = (pod: JsonMap, node: NodeName): PlacedPod => {
  const { uid, namespace, name } = metadataOf(pod)
  const { serviceAccountName }: JsonMap = isMap(pod['spec']) ? pod['spec'] : {}
  return {
    uid: String(uid),
    namespace: String(namespace),
    name: String(name),
    node,
    serviceAccount: typeof serviceAccountName === 'string' ? serviceAccountName : '',
  }
}

/**
 * Which nodes need which objects, because of which pods. It is derived from the existing pods alone, so an object that is
 * deleted and created again still has its users, and one that no pod refers to has none.
 */
export class LocationCache {
  readonly #pods = new Map<string, Entry>()
  /** Namespace and name → uid of the newest pod with that name. */
  readonly #uids = new Map<string, string>()
  readonly #uidsOf = new Map<NodeName, Set<string>>()
  /** Object → node → the pods that refer to it. */
  readonly #users = new Map<string, Map<NodeName, Users>>()

  /** Add or replace a pod on an edge node. */
  setPod(raw: JsonMap, node: NodeName): LocationChange {
    const pod = placedPod(raw, node)
    const references = hasEnded(raw) ? [] : referencesOf(raw)
    const before = this.#pods.get(pod.uid)
    // Add before removing, so that an object which the pod still needs has a user all the time.
    const begun = references.flatMap(reference => this.#begin(pod, reference))
    const kept = new Set(before?.pod.node === node ? references.map(keyOfReference) : [])
    const ended = before === undefined ? [] : this.#end(before, kept)
    this.#pods.set(pod.uid, { pod, references })
    this.#uids.set(keyOf('pod', pod.namespace, pod.name), pod.uid)
    if (before?.pod.node !== node && before !== undefined)
      this.#uidsOf.get(before.pod.node)?.delete(pod.uid)
    const uids = this.#uidsOf.get(node) ?? new Set()
    this.#uidsOf.set(node, uids.add(pod.uid))
    return { begun, ended }
  }

  /** Remove a pod that was deleted or is on no edge node. @returns what its node no longer needs */
  removePod(uid: string): readonly Need[] {
    const entry = this.#pods.get(uid)
    if (entry === undefined) return []
    const { node, namespace, name } = entry.pod
    this.#pods.delete(uid)
    const uids = this.#uidsOf.get(node)!
    uids.delete(uid)
    if (uids.size === 0) this.#uidsOf.delete(node)
    const key = keyOf('pod', namespace, name)
    if (this.#uids.get(key) === uid) this.#uids.delete(key)
    return this.#end(entry, new Set())
  }

  /** Remove all pods of a node that is gone or no longer an edge node. */
  removeNode(node: NodeName): void {
    for (const { uid } of this.podsOf(node)) this.removePod(uid)
  }

  /** The nodes that need an object. */
  usersOf(type: ReferencedType, namespace: string, name: string): readonly NodeName[] {
    return [...(this.#users.get(keyOf(type, namespace, name))?.keys() ?? [])]
  }

  /** Whether a node needs an object: `optional` when all of its pods start without it; undefined when none refers to it. */
  needOf(node: NodeName, type: string, namespace: string, name: string): NeedKind | undefined {
    const users = this.#users.get(keyOf(type, namespace, name))?.get(node)
    if (users === undefined) return undefined
    return [...users.values()].every(isOptional => isOptional) ? 'optional' : 'mandatory'
  }

  /** The pod with that name; of several, the one that was added last. */
  podNamed(namespace: string, name: string): PlacedPod | undefined {
    return this.podOf(this.#uids.get(keyOf('pod', namespace, name)) ?? '')
  }

  podOf(uid: string): PlacedPod | undefined {
    return this.#pods.get(uid)?.pod
  }

  podsOf(node: NodeName): readonly PlacedPod[] {
    return [...(this.#uidsOf.get(node) ?? [])].map(uid => this.#pods.get(uid)!.pod)
  }

  /** Everything that a node needs, each object once. */
  needsOf(node: NodeName): readonly Need[] {
    const needs = new Map<string, Need>()
    for (const { uid } of this.podsOf(node))
      for (const reference of this.#pods.get(uid)!.references)
        needs.set(keyOfReference(reference), needOf(node, reference))
    return [...needs.values()]
  }

  #begin({ uid, node }: PlacedPod, reference: Reference): readonly Need[] {
    const key = keyOfReference(reference)
    const nodes = this.#users.get(key) ?? new Map<NodeName, Users>()
    const users: Users = nodes.get(node) ?? new Map<string, boolean>()
    const isFirst = users.size === 0
    users.set(uid, reference.isOptional)
    this.#users.set(key, nodes.set(node, users))
    return isFirst ? [needOf(node, reference)] : []
  }

  #end({ pod, references }: Entry, kept: ReadonlySet<string>): readonly Need[] {
    return references
      .filter(reference => !kept.has(keyOfReference(reference)))
      .flatMap(reference => {
        const key = keyOfReference(reference)
        const nodes = this.#users.get(key)!
        const users = nodes.get(pod.node)!
        users.delete(pod.uid)
        if (users.size > 0) return []
        nodes.delete(pod.node)
        if (nodes.size === 0) this.#users.delete(key)
        return [needOf(pod.node, reference)]
      })
  }
}
