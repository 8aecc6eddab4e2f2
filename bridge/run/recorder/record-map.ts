// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import type { NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { isNotFound } from '../../../core/errors.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { ResourceType } from '../../../kube/client/resource.js'
import { metadataOf } from '../../model/merge/tidy.js'
import type { WriteGuard } from '../../../kube/client/write.js'

/** Annotation of a record's ConfigMap: who last wrote it. */
export const WRITER_ANNOTATION = 'edge-health/record-writer'

const PREFIX = 'bridge-record-'
const LONGEST_NAME = 253
const KEY = 'record'

/** The name of the ConfigMap that keeps a node's record. */
export const recordMapName = (node: NodeName): string =>
  PREFIX.length + node.length <= LONGEST_NAME
    ? PREFIX + node
    : PREFIX + createHash('sha256').update(node).digest('hex')

const HASHED = /^[0-9a-f]{64}$/

/**
 * The node whose record has this ConfigMap name; undefined when it is no record's name, or a hashed one of a long node
 * name.
 */
export const recordedNode = (name: string): NodeName | undefined => {
  const node = name.slice(PREFIX.length)
  return name.startsWith(PREFIX) && node !== '' && !HASHED.test(node)
    ? (node as NodeName)
    : undefined
}

/** A record as the cluster has it. */
export interface RecordInMap {
  readonly text: string
  /** Who last wrote it; '' when it does not say. */
  readonly writer: string
}

const recordIn = (raw: unknown): RecordInMap => {
  const map: JsonMap = isMap(raw) ? raw : {}
  const { data } = map
  const { annotations } = metadataOf(map)
  const text = isMap(data) ? data[KEY] : undefined
  const writer = isMap(annotations) ? annotations[WRITER_ANNOTATION] : undefined
  return {
    text: typeof text === 'string' ? text : '',
    writer: typeof writer === 'string' ? writer : '',
  }
}

const RECORD_MAPS: ResourceType<RecordInMap> = {
  ...{ group: '', version: 'v1', resource: 'configmaps' },
  parse: recordIn,
}

/** The state of the ConfigMap that is deleted, so that a newer one is not. */
const PRECONDITIONS: ResourceType<{ readonly uid: string; readonly resourceVersion: string }> = {
  ...RECORD_MAPS,
  parse: raw => {
    const { uid, resourceVersion } = metadataOf(isMap(raw) ? raw : {})
    return { uid: String(uid), resourceVersion: String(resourceVersion) }
  },
}

export interface RecordMapSeams {
  readonly client: Pick<ResourceClient, 'apply' | 'delete' | 'get'>
  readonly namespace: string
  readonly guard: WriteGuard
}

/** Records in the cluster, one ConfigMap per node, for a bridge that has no disk or another one. */
export class RecordMaps {
  readonly #seams: RecordMapSeams

  constructor(seams: RecordMapSeams) {
    this.#seams = seams
  }

  /** A node's record; undefined when there is none. Rejects as ResourceClient.get does. */
  async read(node: NodeName, signal: AbortSignal): Promise<RecordInMap | undefined> {
    const { client, namespace } = this.#seams
    try {
      return await client.get(RECORD_MAPS, { namespace, name: recordMapName(node) }, signal)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /**
   * Delete a node's record, unless somebody writes it at the same time. Rejects as ResourceClient does, except when there
   * is none.
   */
  async remove(node: NodeName, signal: AbortSignal): Promise<void> {
    const { client, namespace, guard } = this.#seams
    const of = { namespace, name: recordMapName(node) }
    try {
      const state = await client.get(PRECONDITIONS, of, signal)
      await client.delete(RECORD_MAPS, of, { ...state, guard }, signal)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /** Rejects as ResourceClient.apply does. */
  async write(node: NodeName, { text, writer }: RecordInMap, signal: AbortSignal): Promise<void> {
    const { client, namespace, guard } = this.#seams
    const name = recordMapName(node)
    const body = {
      ...{ apiVersion: 'v1', kind: 'ConfigMap' },
      metadata: {
        ...{ name, namespace, annotations: { [WRITER_ANNOTATION]: writer } },
        labels: { 'edge-health/bridge-record': '' },
      },
      data: { [KEY]: text },
    }
    await client.apply(RECORD_MAPS, { namespace, name }, { body, guard, isForced: true }, signal)
  }
}
