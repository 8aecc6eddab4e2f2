// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { GRID_RESOURCES } from '../../grids/run/resources.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceName } from '../../kube/client/resource.js'
import { never, rawType, until, type Fields } from './raw-objects.js'

const DEFINITIONS: ResourceName = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1' },
  resource: 'customresourcedefinitions',
}
const crdFile = join(import.meta.dirname, '..', '..', 'deploy', 'components', 'grids', 'crds.yaml')

/** The CRDs that are shipped, as a test reads them. */
export const readCrds = (path = crdFile): readonly Fields[] => {
  const documents = parseAllDocuments(readFileSync(path, 'utf8'))
  return Array.isArray(documents) ? documents.map(each => each.toJS() as Fields) : []
}

/** Make the kinds of grids known to a server, and wait until it serves them. */
export const installCrds = async (
  client: ResourceClient,
  crds: readonly Fields[] = readCrds(),
): Promise<void> => {
  for (const body of crds) await client.create(rawType(DEFINITIONS), {}, { body }, never)
  await until('the kinds of grids are served', async () => {
    try {
      for (const resource of Object.values(GRID_RESOURCES))
        await client.list(rawType(resource), {}, never)
      return true
    } catch {
      return false
    }
  })
}
