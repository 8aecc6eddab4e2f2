// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, reasonOf } from '../../core/errors.js'
import { deleteExactly } from '../../controller/ownership.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ObjectName, ResourceType } from '../../kube/client/resource.js'
import type { JsonPatchOperation, WriteGuard } from '../../kube/client/write.js'
import type { ApplyOperation, Operation } from '../model/decide.js'
import type { Json } from '../model/grid.js'
import type { LiveChild } from '../model/live.js'
import { GONE_ANNOTATION, MANAGER, REPLICAS_MANAGER } from '../model/marks.js'
import { done, outcomeOf, type Outcome } from './outcome.js'
import type { WriteLimiter } from './write-limiter.js'
import { CHILD_RESOURCES, writtenType, type Written } from './resources.js'

export interface ExecutorSeams {
  readonly client: Pick<ResourceClient, 'apply' | 'patch' | 'delete'>
  readonly limiter: WriteLimiter
}

/** How an operation is carried out. */
export interface Order {
  readonly guard: WriteGuard
  readonly signal: AbortSignal
  /** The server checks the write and stores nothing. */
  readonly isDryRun?: boolean
}

/** Wait after 429 without Retry-After. */
const USUAL_PAUSE_MS = 1_000
/** After so many 429 in a row for one request its grid is queued again. */
const MAX_PAUSES = 5

const MANAGERS: ReadonlySet<string> = new Set([MANAGER, REPLICAS_MANAGER])

const nameOf = ({ namespace, name }: LiveChild): ObjectName => ({ namespace, name })

const typeOf = (kind: LiveChild['kind']): ResourceType<Written> =>
  writtenType(CHILD_RESOURCES[kind])

/** With preconditions, so that another object of the same name is not written. */
const bodyFor = (object: Json, target: Json): Json => ({
  ...object,
  metadata: { ...(object['metadata'] as Json), ...target },
})

/** Carries out operations: the requests of one after another, several operations concurrently. */
export class Executor {
  readonly #seams: ExecutorSeams

  constructor(seams: ExecutorSeams) {
    this.#seams = seams
  }

  /** Rejects only for a bug. */
  async run(operation: Operation, order: Order): Promise<Outcome> {
    const { limiter } = this.#seams
    for (let pauses = 0; ; pauses++) {
      const outcome = await limiter.run(() => this.#try(operation, order), order.signal)
      if (outcome.kind !== 'unavailable' || outcome.retryAfterMs === undefined) return outcome
      limiter.pause(outcome.retryAfterMs)
      if (pauses === MAX_PAUSES) return outcome
    }
  }

  async #try(operation: Operation, order: Order): Promise<Outcome> {
    try {
      return await this.#send(operation, order)
    } catch (error) {
      if (error instanceof KubeStatusError && error.status === 429) {
        const { retryAfterMs = USUAL_PAUSE_MS } = error
        return { kind: 'unavailable', message: reasonOf(error), retryAfterMs }
      }
      return outcomeOf(error, order.signal)
    }
  }

  #send(operation: Operation, order: Order): Promise<Outcome> {
    switch (operation.kind) {
      case 'apply':
        return this.#apply(operation, order)
      case 'mark':
        return this.#mark(operation.live, operation.since, order)
      case 'delete':
        return this.#delete(operation.live, order)
    }
  }

  async #apply(operation: ApplyOperation, order: Order): Promise<Outcome> {
    const { child, target } = operation
    if (target.kind === 'new') return this.#make(operation, order)
    const { live } = target
    // A dry run only checks the template.
    const version =
      order.isDryRun === true ? undefined : await this.#prepare(operation, live, order)
    const precondition = {
      uid: live.uid,
      ...(version === undefined ? {} : { resourceVersion: version }),
    }
    const body = bodyFor(child.object, precondition)
    const { guard, signal, isDryRun } = order
    const write = { body, isForced: true, fieldManager: MANAGER, guard, isDryRun }
    const answer = await this.#seams.client.apply(typeOf(child.kind), nameOf(live), write, signal)
    return done(isDryRun === true ? undefined : answer.resourceVersion)
  }

  /**
   * Transfer SuperEdge's managed fields and hand over the replicas, each for the version that was decided about.
   * @returns the version that the apply must name; undefined for any
   */
  async #prepare(
    { takeover, handOver, target, child }: ApplyOperation,
    live: LiveChild,
    { guard, signal }: Order,
  ): Promise<string | undefined> {
    const { client } = this.#seams
    let version = target.kind === 'adopted' ? live.resourceVersion : undefined
    if (takeover !== undefined) {
      const patch = { type: 'json', operations: takeover as readonly JsonPatchOperation[] } as const
      const write = { patch, fieldManager: MANAGER, guard }
      const answer = await client.patch(typeOf(live.kind), nameOf(live), write, signal)
      version = answer.resourceVersion
    }
    if (handOver !== undefined) {
      const { apiVersion, kind } = child.object
      const { name, uid } = live
      const resourceVersion = version ?? live.resourceVersion
      const body = {
        ...{ apiVersion, kind, metadata: { name, uid, resourceVersion } },
        spec: { replicas: handOver },
      }
      const write = { body, isForced: true, fieldManager: REPLICAS_MANAGER, guard }
      const answer = await client.apply(typeOf(live.kind), nameOf(live), write, signal)
      version = answer.resourceVersion
    }
    return version
  }

  /**
   * Create a child. Not forced, so it conflicts with an object of this name that somebody just created and whose fields
   * they own. If all fields happen to be equal there is no conflict, and what we added is removed again.
   */
  async #make({ child }: ApplyOperation, { guard, signal, isDryRun }: Order): Promise<Outcome> {
    const { client } = this.#seams
    const { object, kind, name } = child
    const { namespace } = object['metadata'] as { readonly namespace: string }
    const of = { namespace, name }
    const write = { body: object, fieldManager: MANAGER, guard, isDryRun }
    const answer = await client.apply(typeOf(kind), of, write, signal)
    const other = answer.managers.find(manager => !MANAGERS.has(manager))
    if (other !== undefined) {
      const { apiVersion } = object
      const nothing = { apiVersion, kind, metadata: { name, uid: answer.uid } }
      if (isDryRun !== true)
        await client.apply(
          typeOf(kind),
          of,
          { body: nothing, isForced: true, fieldManager: MANAGER, guard },
          signal,
        )
      return { kind: 'refused', reason: 'NameTaken', message: `${other} has created it` }
    }
    return done(isDryRun === true ? undefined : answer.resourceVersion)
  }

  async #mark(
    live: LiveChild,
    since: number | undefined,
    { guard, signal }: Order,
  ): Promise<Outcome> {
    const text = since === undefined ? null : new Date(since).toISOString()
    const body = { metadata: { uid: live.uid, annotations: { [GONE_ANNOTATION]: text } } }
    const patch = { type: 'merge', body } as const
    const write = { patch, fieldManager: MANAGER, guard }
    const answer = await this.#seams.client.patch(typeOf(live.kind), nameOf(live), write, signal)
    return done(answer.resourceVersion)
  }

  async #delete(live: LiveChild, { guard, signal }: Order): Promise<Outcome> {
    const { uid, resourceVersion } = live
    const what = { ...nameOf(live), uid, resourceVersion, guard }
    const resource = CHILD_RESOURCES[live.kind]
    const deletion = await deleteExactly(this.#seams.client, resource, what, signal)
    return deletion === 'changed' ? { kind: 'stale', message: 'it has changed' } : done()
  }
}
