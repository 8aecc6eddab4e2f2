// SPDX-License-Identifier: Apache-2.0
import { KubeUnreachableError } from '../../core/errors.js'
import type { Codec } from './codec.js'
import { jsonCodec, metadataCodec } from './json-codec.js'
import { cacheQuery } from './list-pages.js'
import { resourceText, type ResourceName, type ResourceType } from './resource.js'
import type { ListRequest, Selection } from './resource-client.js'
import { tableCodec } from './table-codec.js'
import type { DeleteOptions, ObjectBody } from './write.js'

export type Query = Readonly<Record<string, string>>

/** A selection as query parameters. */
export const queryOf = ({ name, labelSelector = '', fieldSelector = '' }: Selection): Query => {
  const fields = [...(name === undefined ? [] : [`metadata.name=${name}`]), fieldSelector]
  const text = fields.filter(field => field !== '').join(',')
  return {
    ...(text === '' ? {} : { fieldSelector: text }),
    ...(labelSelector === '' ? {} : { labelSelector }),
  }
}

export const pageQuery = ({ limit = 0, continueAt = '', fromCache }: ListRequest): Query => ({
  ...(fromCache === undefined ? {} : cacheQuery(fromCache.known)),
  ...(limit > 0 ? { limit: String(limit) } : {}),
  ...(continueAt === '' ? {} : { continue: continueAt }),
})

/** The same for lists of these kinds alone. */
const ofKinds = (codec: Codec<unknown>, kinds: readonly string[]): Codec<unknown> => ({
  ...codec,
  parsePage: (path, body) => {
    const page = codec.parsePage(path, body)
    const { kind } = page
    // KubeEdge's MetaServer spells some kinds in its own way.
    if (kind !== undefined && !kinds.some(each => each.toLowerCase() === kind.toLowerCase()))
      throw new KubeUnreachableError(`GET ${path}`, `the answer is a ${kind}, not a ${kinds[0]!}`)
    return page
  },
})

export const codecOf = ({
  isMetadataOnly = false,
  isTable = false,
  kind,
}: ResourceType<unknown>): Codec<unknown> => {
  const codec = isTable ? tableCodec : isMetadataOnly ? metadataCodec : jsonCodec
  if (kind === undefined) return codec
  const own = [`${kind}List`, 'List']
  return ofKinds(codec, isMetadataOnly ? [...own, 'PartialObjectMetadataList'] : own)
}

/** The rows of a Table come without the metadata of their objects, which is the server's default. */
export const formQuery = ({ isTable = false }: ResourceType<unknown>): Query =>
  isTable ? { includeObject: 'None' } : {}

/** What is selected, for logs and errors: `pods kube-system/a`. */
export const whatOf = (type: ResourceName, { namespace, name }: Selection): string => {
  const where = [namespace, name].filter(part => part !== undefined).join('/')
  return where === '' ? resourceText(type) : `${resourceText(type)} ${where}`
}

export const deleteBody = (options: DeleteOptions): ObjectBody => {
  const { uid, resourceVersion, propagation, gracePeriodSeconds, isDryRun } = options
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  }
  return {
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(isDryRun === true ? { dryRun: ['All'] } : {}),
  }
}
