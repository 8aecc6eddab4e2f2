// SPDX-License-Identifier: Apache-2.0
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { metadataOf } from '../../kube/client/resource.js'
import type { UnitSource } from '../model/grid.js'
import { unitsOfNode } from '../model/units.js'
import { NODES } from './resources.js'

const PAGE = 500

/** The units that nodes form, as the server says it in this moment. Rejects as ResourceClient.list does. */
export const readUnits = async (
  client: Pick<ResourceClient, 'list'>,
  source: UnitSource,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const labelSelector = source.by === 'label-value' ? source.key : undefined
  const units = new Set<string>()
  let continueAt = ''
  do {
    const which = { labelSelector, limit: PAGE, continueAt }
    const page = await client.list(metadataOf(NODES), which, signal)
    for (const { labels } of page.items)
      for (const unit of unitsOfNode(source, labels)) units.add(unit)
    continueAt = page.next
  } while (continueAt !== '')
  return units
}
