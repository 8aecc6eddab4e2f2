// SPDX-License-Identifier: Apache-2.0
import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.js'
import { clusterIps } from './cluster-ip.js'
import { readApplied } from './fields/applied.js'
import { claimOf, type Claim } from './fields/claim.js'
import { account } from './fields/account.js'
import { readManagers } from './fields/managers.js'
import { mergeApplied, withoutFields } from './fields/merge.js'
import { nextState } from './next-state.js'
import { sameJson, textAt, type JsonMap, type KubeObject } from './object.js'
import type { ResourcePath } from './paths.js'
import { patchTrouble, readObject, type Patch } from './read.js'
import { finalizerOf, removeOrMark } from './removal.js'
import { scaleOf, withScale } from './scale.js'
import { served } from './serve.js'
import * as status from '../../kube/server/status.js'
import type { Store } from './store.js'
import { checkMetadata } from './validate-metadata.js'

/** One request for objects, after its path was understood. */
export interface Call extends ResourcePath {
  /** `dryRun=All`: check and answer, but keep nothing. */
  readonly dryRun: boolean
  /** Who writes, as `managedFields` names it. @default 'unknown' */
  readonly manager?: string | undefined
}

/** The result of a write. */
export interface Written {
  readonly object: KubeObject
  readonly created: boolean
}

/** A server-side apply. */
export interface Applied {
  readonly body: JsonMap
  readonly isForced: boolean
}

/** Conditions and wishes of a DELETE's body. */
export interface DeleteOptions {
  readonly isDryRun: boolean
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  /** `propagationPolicy`: `Background`, `Foreground` or `Orphan`. @default '' */
  readonly propagation?: string | undefined
}

const SUFFIX = 'bcdfghjklmnpqrstvwxz2456789'

/** Five characters without vowels, as the real one appends to generateName. */
const suffix = (): string =>
  Array.from(randomBytes(5), byte => SUFFIX.charAt(byte % SUFFIX.length)).join('')

/** The API's time: whole seconds, UTC. */
export const apiTime = (clock: Clock): string =>
  `${new Date(clock.wall()).toISOString().slice(0, 19)}Z`

const refuse = (call: Call, object: KubeObject, old?: KubeObject): void => {
  const causes = [...checkMetadata(object), ...(call.row.check?.(object, old) ?? [])]
  if (causes.length > 0) throw status.invalid(call.row, object.metadata.name, causes)
}

/** The writing verbs: what may change, what the server adds, who wins. */
export class Objects {
  readonly #store: Store
  readonly #clock: Clock

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** @throws Refusal 404 */
  get(call: Call): KubeObject {
    const name = call.name ?? ''
    const found = this.#store.get(call.row.storage, call.namespace, name)
    if (found === undefined) throw status.notFound(call.row, name)
    return found
  }

  /** @throws Refusal 400, 404 for the namespace, 409, 422. */
  create(call: Call, body: unknown): Written {
    const object = readObject(call, body)
    const { metadata } = object
    if (metadata.resourceVersion !== '')
      throw new status.Refusal(
        500,
        '',
        'resourceVersion should not be set on objects to be created',
      )
    const prefix = metadata.generateName ?? ''
    if (metadata.name === '' && prefix !== '') metadata.name = prefix + suffix()
    return { object: this.#add(call, object), created: true }
  }

  /** PUT. @throws Refusal 400, 404, 409, 422. */
  update(call: Call, body: unknown): Written {
    const { row } = call
    const name = call.name ?? ''
    if (call.subresource === 'scale') return this.#scale(call, body)
    const next = readObject(call, body)
    const old = this.#store.get(row.storage, call.namespace, name)
    if (next.metadata.name === '' || next.metadata.name !== name)
      throw status.badRequest(
        next.metadata.name === ''
          ? 'the name of the object (based on URL) was undeterminable: name must be provided'
          : `the name of the object (${next.metadata.name}) does not match the name on the URL (${name})`,
      )
    if (old === undefined) {
      if (!row.putCreates || call.subresource !== '' || next.metadata.resourceVersion !== '')
        throw status.notFound(row, name)
      return { object: this.#add(call, next), created: true }
    }
    if (row.putNeedsVersion && next.metadata.resourceVersion === '')
      throw status.invalid(row, name, [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: 0: must be specified for an update',
          field: 'metadata.resourceVersion',
        },
      ])
    return { object: this.#replace(call, old, next), created: false }
  }

  /** PATCH. @throws Refusal 400, 404, 409, 413, 422. */
  patch(call: Call, patch: Patch): Written {
    const old = this.get(call)
    if (call.subresource === 'scale') return this.#scale(call, patch(scaleOf(call.row, old)))
    const patched = patch(served(call.row, old))
    const next = readObject(call, patched, patchTrouble)
    if (next.metadata.name !== call.name)
      throw status.badRequest('the name of the object may not be changed by a patch')
    return { object: this.#replace(call, old, next), created: false }
  }

  /** A server-side apply. @throws Refusal 400, 404, 409, 415, 422. */
  apply(call: Call, given: Applied): Written {
    const { row } = call
    const applied = readApplied(call, given)
    const old = this.#store.get(row.storage, call.namespace, call.name ?? '')
    if (old === undefined) {
      if (call.subresource !== '') throw status.notFound(row, call.name ?? '')
      if (
        textAt(given.body, 'metadata.uid') !== '' ||
        textAt(given.body, 'metadata.resourceVersion') !== ''
      )
        throw status.conflict(row, call.name ?? '')
      const object = readObject(call, given.body)
      return { object: this.#add(call, object, applied.claim), created: true }
    }
    if (call.subresource === 'scale')
      return this.#scale(call, mergeApplied(scaleOf(row, old), given.body, {}), applied.claim)
    const rules = row.owned!
    const gone = applied.givenUp(readManagers(old.metadata['managedFields']))
    const merged = mergeApplied(served(row, old), given.body, rules) as JsonMap
    const next = readObject(call, withoutFields(merged, gone, rules), patchTrouble)
    delete next.metadata['managedFields']
    return { object: this.#replace(call, old, next, applied.claim), created: false }
  }

  /** DELETE of one object; with finalizers it stays, marked, until they are gone. @throws Refusal 404, 409. */
  remove(call: Call, options: DeleteOptions): KubeObject {
    const { row } = call
    const old = this.get(call)
    const { uid, resourceVersion } = old.metadata
    const { name } = old.metadata
    const claims: [string, string | undefined, string][] = [
      ['UID', options.uid, uid],
      ['ResourceVersion', options.resourceVersion, resourceVersion],
    ]
    for (const [what, wanted, is] of claims) {
      if (wanted !== undefined && wanted !== is)
        throw status.conflict(
          row,
          name,
          `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${is}`,
        )
    }
    if (call.dryRun || options.isDryRun) return old
    const finalizer = finalizerOf(options.propagation ?? '')
    const isLast = finalizer === undefined && (old.metadata.finalizers ?? []).length === 0
    if (isLast && row.storage === 'namespaces') this.#empty(name)
    return removeOrMark(this.#store, row.storage, old, { now: apiTime(this.#clock), finalizer })
  }

  #scale(call: Call, scale: unknown, claim?: Claim): Written {
    const old = this.get(call)
    const next = withScale(call.row, old, scale)
    return { object: this.#replace(call, old, next, claim), created: false }
  }

  #add(call: Call, object: KubeObject, claim = claimOf(call)): KubeObject {
    const { row } = call
    const { metadata } = object
    if (row.namespaced) {
      metadata.namespace = call.namespace ?? 'default'
      if (this.#store.get('namespaces', undefined, metadata.namespace) === undefined)
        throw status.notFound(
          { group: '', resource: 'namespaces', kind: 'Namespace' },
          metadata.namespace,
        )
    }
    metadata.uid = randomUUID()
    metadata.creationTimestamp = apiTime(this.#clock)
    delete metadata.deletionTimestamp
    if (row.generation !== 'none') metadata.generation = 1
    // A new object has no status but for the kinds of old, whose makers say it.
    if (row.status && row.owned !== undefined) delete object['status']
    row.fill?.(object)
    account(call, undefined, object, { claim, now: apiTime(this.#clock) })
    row.admit?.(object, () => clusterIps(this.#store.list('services')))
    refuse(call, object)
    if (this.#store.get(row.storage, metadata.namespace, metadata.name) !== undefined)
      throw status.alreadyExists(row, metadata.name)
    return call.dryRun ? object : this.#store.put(row.storage, object)
  }

  #replace(call: Call, old: KubeObject, next: KubeObject, claim = claimOf(call)): KubeObject {
    const { row } = call
    const { name } = old.metadata
    const { resourceVersion, uid } = next.metadata
    if (uid !== '' && uid !== old.metadata.uid)
      throw status.conflict(
        row,
        name,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`,
      )
    if (resourceVersion !== '' && resourceVersion !== old.metadata.resourceVersion)
      throw status.conflict(row, name)
    const object = nextState(call, old, next)
    account(call, old, object, { claim, now: apiTime(this.#clock) })
    refuse(call, object, old)
    if (sameJson(object, old)) return old
    if (call.dryRun) return object
    const { deletionTimestamp, finalizers = [] } = object.metadata
    if (deletionTimestamp !== undefined && finalizers.length === 0)
      return this.#store.remove(row.storage, object)
    return this.#store.put(row.storage, object)
  }

  /** No controller empties a namespace here: its objects go with it. */
  #empty(namespace: string): void {
    for (const resource of this.#store.resources)
      for (const object of this.#store.list(resource, namespace))
        this.#store.remove(resource, object)
  }
}
