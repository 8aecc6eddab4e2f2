// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError } from '../core/errors.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import type { ObjectName, ResourceName } from '../kube/client/resource.js'
import type { WriteOptions } from '../kube/client/write.js'

/** One state of one object, to be deleted. */
export interface ExactDelete extends ObjectName, WriteOptions {
  readonly uid: string
  readonly resourceVersion: string
}

/** `changed`: the object has another version or uid now. */
export type Deletion = 'deleted' | 'gone' | 'changed'

/**
 * Delete an object in exactly the state that a decision was made about, with its dependents in the background. An object
 * that has changed or was replaced is left alone.
 * @throws as ResourceClient.delete does, except for 404 and 409
 */
export const deleteExactly = async (
  client: Pick<ResourceClient, 'delete'>,
  resource: ResourceName,
  { namespace, name, ...exactly }: ExactDelete,
  signal: AbortSignal,
): Promise<Deletion> => {
  const options = { ...exactly, propagation: 'Background' } as const
  try {
    await client.delete(resource, { namespace, name }, options, signal)
    return 'deleted'
  } catch (error) {
    if (!(error instanceof KubeStatusError)) throw error
    if (error.status === 404) return 'gone'
    if (error.status === 409) return 'changed'
    throw error
  }
}
