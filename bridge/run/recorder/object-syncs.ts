// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import { statusOf, type ObjectName, type ResourceType } from '../../../kube/client/resource.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import type { EdgeRecord, Held } from '../../model/record/held.js'
import { objectSyncOf, readObjectSync } from '../../model/record/object-sync.js'
import { objectNameOf } from '../upstream/objects.js'
import { KINDS } from '../../model/resource/kinds.js'

const syncs = (resource: string): ResourceType<JsonMap> => ({
  ...{ group: 'reliablesyncs.kubeedge.io', version: 'v1alpha1', resource },
  parse: raw => (isMap(raw) ? raw : {}),
})

const NAMESPACED = syncs('objectsyncs')
const CLUSTER_WIDE = syncs('clusterobjectsyncs')
const PAGE = 500

const typeOf = ({ type }: Held): ResourceType<JsonMap> =>
  KINDS[type].isNamespaced ? NAMESPACED : CLUSTER_WIDE

const isMissing = (error: unknown): boolean =>
  error instanceof KubeStatusError && error.status === 404

export interface ObjectSyncSeams {
  readonly client: Pick<ResourceClient, 'apply' | 'delete' | 'list'>
  readonly guard: WriteGuard
}

/** cloudcore's own records, for edges that come from it or may return to it. */
export class ObjectSyncs {
  readonly #seams: ObjectSyncSeams

  constructor(seams: ObjectSyncSeams) {
    this.#seams = seams
  }

  /**
   * What all edges hold according to cloudcore; empty where the cluster has no ObjectSyncs. Rejects as ResourceClient.list
   * does.
   */
  async read(signal: AbortSignal): Promise<ReadonlyMap<string, EdgeRecord>> {
    const records = new Map<string, Map<string, Held>>()
    for (const type of [NAMESPACED, CLUSTER_WIDE])
      for (const raw of await this.#list(type, signal)) {
        const synced = readObjectSync(raw)
        if (synced === undefined) continue
        const record = records.get(synced.node) ?? new Map<string, Held>()
        records.set(synced.node, record.set(synced.uid, synced.held))
      }
    return records
  }

  /** Update a node's ObjectSyncs from what they have to what the edge holds now. Rejects as ResourceClient does. */
  async write(
    node: NodeName,
    change: { readonly before: EdgeRecord; readonly after: EdgeRecord },
    signal: AbortSignal,
  ): Promise<void> {
    const { before, after } = change
    for (const [uid, held] of before)
      if (!after.has(uid)) await this.#delete(node, uid, held, signal)
    for (const [uid, held] of after)
      if (before.get(uid)?.version !== held.version) await this.#put(node, uid, held, signal)
  }

  async #list(type: ResourceType<JsonMap>, signal: AbortSignal): Promise<readonly JsonMap[]> {
    const all: JsonMap[] = []
    try {
      for (let continueAt: string | undefined; continueAt !== '';) {
        const page = await this.#seams.client.list(type, { limit: PAGE, continueAt }, signal)
        all.push(...page.items)
        continueAt = page.next
      }
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    return all
  }

  async #put(node: NodeName, uid: string, held: Held, signal: AbortSignal): Promise<void> {
    const { client, guard } = this.#seams
    const { status, ...body } = objectSyncOf({ node, uid, held })
    const { apiVersion, kind, metadata } = body
    const of = nameOf(node, uid, held)
    const type = typeOf(held)
    await client.apply(type, of, { body, guard, isForced: true }, signal)
    const withStatus = { apiVersion, kind, metadata, status }
    await client.apply(statusOf(type), of, { body: withStatus, guard, isForced: true }, signal)
  }

  async #delete(node: NodeName, uid: string, held: Held, signal: AbortSignal): Promise<void> {
    const { client, guard } = this.#seams
    try {
      await client.delete(typeOf(held), nameOf(node, uid, held), { guard }, signal)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
}

const nameOf = (node: NodeName, uid: string, { namespace }: Held): ObjectName =>
  objectNameOf({ namespace, name: `${node}.${uid}` })
