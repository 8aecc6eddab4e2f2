// SPDX-License-Identifier: Apache-2.0
import {
  CredentialsError,
  KubeStatusError,
  KubeUnreachableError,
  reasonOf,
  WithheldError,
} from '../../core/errors.js'
import { deleteExactly } from '../../controller/ownership.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ObjectName, ResourceType } from '../../kube/client/resource.js'
import type { JsonPatchOperation, WriteGuard } from '../../kube/client/write.js'
import type { ApplyOperation, Operation } from '../model/decide.js'
import type { Json } from '../model/grid.js'
import type { LiveChild } from '../model/live.js'
import { GONE_ANNOTATION, MANAGER, REPLICAS_MANAGER } from '../model/words.js'
import type { WriteLimiter } from './write-limiter.js'
import { CHILD_RESOURCES, writtenType, type Written } from './resources.js'

/** What became of one operation. */
export type Outcome =
  | {
      readonly kind: 'done'
      /** The version that it left behind; undefined where the server does not say, or nothing was kept. */
      readonly version: string | undefined
    }
  /** The server will not have it, now or later: that is this child's trouble alone. */
  | {
      readonly kind: 'refused'
      readonly reason: 'Refused' | 'NameTaken'
      readonly message: string
      /** HTTP status; undefined where the request was taken, and taken back. */
      readonly status?: number
    }
  /** The object is another one by now: decide anew. */
  | { readonly kind: 'stale'; readonly message: string }
  /** What it was decided on holds no more: nothing was sent. */
  | { readonly kind: 'withheld'; readonly message: string }
  /** Nobody can write now. */
  | {
      readonly kind: 'unavailable'
      readonly message: string
      readonly retryAfterMs: number | undefined
      /** It may be about this object alone, as a webhook that fails is. */
      readonly isPerhapsItsOwn?: boolean
    }

export interface ExecutorSeams {
  readonly client: Pick<ResourceClient, 'apply' | 'patch' | 'delete'>
  readonly limiter: WriteLimiter
}

/** How one operation is to be carried out. */
export interface Order {
  readonly guard: WriteGuard
  readonly signal: AbortSignal
  /** The server checks it, and nothing is kept. */
  readonly isDryRun?: boolean
}

/** A server that says 429 and nothing else. */
const USUAL_PAUSE_MS = 1_000
/** So often one request may meet 429 before its grid waits its turn anew. */
const MAX_PAUSES = 5

const done = (version?: string): Outcome => ({ kind: 'done', version })

const MANAGERS: ReadonlySet<string> = new Set([MANAGER, REPLICAS_MANAGER])

/** Conflicts about fields, not about versions: their owner is somebody else. */
const isFieldConflict = ({ details }: KubeStatusError): boolean =>
  details?.causes?.some(({ reason }) => reason === 'FieldManagerConflict') ?? false

const statusOutcome = (error: KubeStatusError): Outcome => {
  const { status, said, reason, retryAfterMs } = error
  const message = said === '' ? `${status} ${reason}` : said
  if (status === 409 && isFieldConflict(error))
    return {
      kind: 'refused',
      reason: 'NameTaken',
      message: `somebody else has made it: ${message}`,
      status,
    }
  if (status === 409) return { kind: 'stale', message }
  if (status === 401 || status === 408 || status === 429 || status >= 500)
    return {
      ...{ kind: 'unavailable', message: reasonOf(error), retryAfterMs },
      isPerhapsItsOwn: status === 500 && retryAfterMs === undefined,
    }
  return { kind: 'refused', reason: 'Refused', message, status }
}

const outcomeOf = (error: unknown, signal: AbortSignal): Outcome => {
  if (signal.aborted || error instanceof WithheldError)
    return { kind: 'withheld', message: reasonOf(error) }
  if (error instanceof KubeStatusError) return statusOutcome(error)
  if (error instanceof KubeUnreachableError || error instanceof CredentialsError)
    return { kind: 'unavailable', message: reasonOf(error), retryAfterMs: undefined }
  throw error
}

const nameOf = ({ namespace, name }: LiveChild): ObjectName => ({ namespace, name })

const typeOf = (kind: LiveChild['kind']): ResourceType<Written> =>
  writtenType(CHILD_RESOURCES[kind])

/** With what must still be so: another object of the name is not ours to write. */
const bodyFor = (object: Json, target: Json): Json => ({
  ...object,
  metadata: { ...(object['metadata'] as Json), ...target },
})

/** Carries operations out, one request after the other for each, some of them at the same time. */
export class Executor {
  readonly #seams: ExecutorSeams

  constructor(seams: ExecutorSeams) {
    this.#seams = seams
  }

  /** Never rejects but for a bug. */
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
    // A dry run asks about the template alone.
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
   * Take over from SuperEdge, and let go of the replicas, each on the version that was looked at.
   * @returns the version on which alone we may go on; undefined: on any
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
   * Not forced: whoever made an object of this name a moment ago owns fields of it, which is a conflict. Where all of them
   * happen to be equal it is none, and what we added is taken back.
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
      return { kind: 'refused', reason: 'NameTaken', message: `${other} has made it` }
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
