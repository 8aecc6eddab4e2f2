// SPDX-License-Identifier: Apache-2.0
import { isNotFound } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'
import { isMap } from '../../core/json.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { metadataOf } from '../model/merge/tidy.js'
import { EDGE_LABEL } from './downstream/cluster.js'
import { objectsOf } from './upstream/objects.js'

/**
 * Whether the cluster has a Node of this name that is not an edge node, nor one of this uid, which has lost the label. Such a
 * node is served nothing, whatever certificate or token is presented for it. Rejects as ResourceClient.get does.
 */
export const isForeignNode = async (
  client: Pick<ResourceClient, 'get'>,
  { name, uid: served }: { readonly name: NodeName; readonly uid: string | undefined },
  signal: AbortSignal,
): Promise<boolean> => {
  try {
    const { labels, uid } = metadataOf(await client.get(objectsOf('node'), { name }, signal))
    if (uid !== undefined && uid === served) return false
    return !(isMap(labels) && Object.hasOwn(labels, EDGE_LABEL))
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
