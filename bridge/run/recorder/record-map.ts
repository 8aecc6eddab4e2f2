// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import type { NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { isNotFound } from '../../../core/errors.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { ResourceType } from '../../../kube/client/resource.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import { WRITER_ANNOTATION } from '../downstream/cluster.js'

const PREFIX = 'bridge-record-'
const LONGEST_NAME = 253
const KEY = 'record'

/** The name of the ConfigMap that keeps a node's record. */
export const recordMapName = (node: NodeName): string =>
  PREFIX.length + node.length <= LONGEST_NAME
    ? PREFIX + node
    : PREFIX + createHash('sha256').update(node).digest('hex')

const textIn = (raw: unknown): string => {
  const { data }: JsonMap = isMap(raw) ? raw : {}
  const text = isMap(data) ? data[KEY] : undefined
  return typeof text === 'string' ? text : ''
}

const RECORD_MAPS: ResourceType<string> = {
  ...{ group: '', version: 'v1', resource: 'configmaps' },
  parse: textIn,
}

export interface RecordMapSeams {
  readonly client: Pick<ResourceClient, 'apply' | 'get'>
  readonly namespace: string
  readonly guard: WriteGuard
}

/** Records in the cluster, a ConfigMap a node, for a bridge that has no disk or another one. */
export class RecordMaps {
  readonly #seams: RecordMapSeams

  constructor(seams: RecordMapSeams) {
    this.#seams = seams
  }

  /** The text of a node's record; undefined: there is none. Rejects as ResourceClient.get does. */
  async read(node: NodeName, signal: AbortSignal): Promise<string | undefined> {
    const { client, namespace } = this.#seams
    try {
      return await client.get(RECORD_MAPS, { namespace, name: recordMapName(node) }, signal)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** Rejects as ResourceClient.apply does. */
  async write(
    node: NodeName,
    { text, writer }: { readonly text: string; readonly writer: string },
    signal: AbortSignal,
  ): Promise<void> {
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
