// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../core/clock.js'
import type { OwnerReference } from '../core/owner.js'
import type { KubeObject } from './api/object.js'
import { apiTime } from './api/objects.js'
import { FOREGROUND, ORPHAN, removeOrMark } from './api/removal.js'
import type { Store } from './api/store.js'

/** How often it looks whether anything changed. */
const ROUND_MS = 100

/** An object, and the resource that the store has it under. */
interface Stored {
  readonly resource: string
  readonly object: KubeObject
}

const ownersOf = ({ metadata }: KubeObject): readonly OwnerReference[] =>
  (metadata['ownerReferences'] ?? []) as readonly OwnerReference[]

const hasFinalizer = ({ metadata }: KubeObject, finalizer: string): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(finalizer)

/** What an owner is to its child. */
type Standing =
  /** It stays. */
  | 'solid'
  /** There is no such object, or not where the child could be owned from. */
  | 'absent'
  /** It goes, and waits for this child. */
  | 'waiting'

/** One look at everything. */
class Round {
  readonly #store: Store
  readonly #now: string
  readonly #byUid = new Map<string, Stored>()
  readonly #children = new Map<string, Stored[]>()

  constructor(store: Store, now: string) {
    this.#store = store
    this.#now = now
    for (const resource of store.resources)
      for (const object of store.list(resource)) this.#learn({ resource, object })
  }

  #learn(stored: Stored): void {
    this.#byUid.set(stored.object.metadata.uid, stored)
    for (const { uid } of ownersOf(stored.object)) {
      const children = this.#children.get(uid) ?? []
      children.push(stored)
      this.#children.set(uid, children)
    }
  }

  run(): void {
    for (const stored of this.#byUid.values()) {
      if (hasFinalizer(stored.object, ORPHAN)) this.#orphan(stored)
      else if (hasFinalizer(stored.object, FOREGROUND)) this.#finishForeground(stored)
    }
    const owned = new Set([...this.#children.values()].flat())
    for (const stored of owned) this.#judge(stored)
  }

  #standing(child: KubeObject, { uid, blockOwnerDeletion }: OwnerReference): Standing {
    const owner = this.#byUid.get(uid)?.object
    if (owner === undefined) return 'absent'
    const { namespace } = owner.metadata
    if (namespace !== undefined && namespace !== child.metadata.namespace) return 'absent'
    return hasFinalizer(owner, FOREGROUND) && blockOwnerDeletion === true ? 'waiting' : 'solid'
  }

  /** A child goes with the last of its owners, and forgets those that went before. */
  #judge({ resource, object }: Stored): void {
    // The round itself may have changed it.
    const child = this.#present({ resource, object })
    if (child === undefined || child.metadata.deletionTimestamp !== undefined) return
    const owners = ownersOf(child)
    const solid = owners.filter(owner => this.#standing(child, owner) === 'solid')
    if (solid.length === owners.length) return
    if (solid.length === 0) removeOrMark(this.#store, resource, child, { now: this.#now })
    else this.#own({ resource, object: child }, solid)
  }

  /** Its children stay, without it. */
  #orphan(owner: Stored): void {
    const { uid } = owner.object.metadata
    for (const stored of this.#children.get(uid) ?? []) {
      const object = this.#present(stored)
      if (object === undefined) continue
      const others = ownersOf(object).filter(other => other.uid !== uid)
      this.#own({ resource: stored.resource, object }, others)
    }
    this.#release(owner, ORPHAN)
  }

  #finishForeground(owner: Stored): void {
    const { uid } = owner.object.metadata
    const blocks = (stored: Stored): boolean =>
      ownersOf(stored.object).some(other => other.uid === uid && other.blockOwnerDeletion === true)
    if (!(this.#children.get(uid) ?? []).some(blocks)) this.#release(owner, FOREGROUND)
  }

  #own({ resource, object }: Stored, owners: readonly OwnerReference[]): void {
    const metadata = { ...object.metadata, ownerReferences: owners }
    if (owners.length === 0) Reflect.deleteProperty(metadata, 'ownerReferences')
    this.#store.put(resource, { ...object, metadata })
  }

  /** Take the finalizer off; the object goes with the last one. */
  #release({ resource, object }: Stored, finalizer: string): void {
    const finalizers = (object.metadata.finalizers ?? []).filter(one => one !== finalizer)
    const next = { ...object, metadata: { ...object.metadata, finalizers } }
    if (finalizers.length === 0) this.#store.remove(resource, next)
    else this.#store.put(resource, next)
  }

  #present({ resource, object: { metadata } }: Stored): KubeObject | undefined {
    const object = this.#store.get(resource, metadata.namespace, metadata.name)
    return object?.metadata.uid === metadata.uid ? object : undefined
  }
}

/** A running collector. */
export interface GarbageCollector {
  stop(): Promise<void>
}

/**
 * What kube-controller-manager's garbage collector does: objects go with the last of their owners, in the background or before
 * them, or stay as orphans, as the owner's deletion asked for.
 */
export const startGarbageCollector = (store: Store, clock: Clock): GarbageCollector => {
  const stopper = new AbortController()
  const run = async (): Promise<void> => {
    let seen = -1
    while (await sleep(clock, ROUND_MS, stopper.signal)) {
      if (store.version === seen) continue
      // What it changes is looked at again: children have children.
      seen = store.version
      new Round(store, apiTime(clock)).run()
    }
  }
  const ended = run()
  return {
    stop: () => {
      stopper.abort()
      return ended
    },
  }
}
