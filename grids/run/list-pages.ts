// SPDX-License-Identifier: Apache-2.0
import type { ListRequest, ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceType } from '../../kube/client/resource.js'

const PAGE = 500

/** All objects of a resource, page by page, read from the server. Rejects as ResourceClient.list does. */
export async function* listPages<T>(
  client: Pick<ResourceClient, 'list'>,
  type: ResourceType<T>,
  which: ListRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly T[]> {
  for (let continueAt = ''; ;) {
    const page = await client.list(type, { ...which, limit: PAGE, continueAt }, signal)
    yield page.items
    if (page.next === '') return
    continueAt = page.next
  }
}
