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

/** What became of a delete: whether it is another state or another object now is for the caller to look at. */
export type Deletion = 'deleted' | 'gone' | 'changed'

/**
 * Delete an object as it was looked at, and what it owns after it. One that is another object or another state by now is
 * left alone: a decision about it was a decision about something else.
 * @throws as ResourceClient.delete does, but for 404 and 409
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
