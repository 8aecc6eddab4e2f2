// SPDX-License-Identifier: Apache-2.0
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { metadataOf } from '../../kube/client/resource.js'
import type { UnitSource } from '../model/grid.js'
import { unitsOfNode } from '../model/units.js'
import { listPages } from './list-pages.js'
import { NODES } from './resources.js'

/** The units that have nodes, read from the server. Rejects as ResourceClient.list does. */
export const readUnits = async (
  client: Pick<ResourceClient, 'list'>,
  source: UnitSource,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const labelSelector = source.by === 'label-value' ? source.key : undefined
  const units = new Set<string>()
  for await (const nodes of listPages(client, metadataOf(NODES), { labelSelector }, signal))
    for (const { labels } of nodes) for (const unit of unitsOfNode(source, labels)) units.add(unit)
  return units
}
