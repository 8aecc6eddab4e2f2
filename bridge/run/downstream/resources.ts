// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'
import type { ResourceName, ResourceType } from '../../../kube/client/resource.js'
import { metadataOf } from '../../model/merge/tidy.js'
import { KINDS, type ObjectType } from '../../model/resource/kinds.js'

/** An object as the API answers it. */
const parseObject = (raw: unknown): JsonMap => (isMap(raw) ? raw : {})

/** Where the API has objects of a type. */
export const resourceOf = (type: ObjectType): ResourceName => {
  const { group, version, plural } = KINDS[type]
  return { group, version, resource: plural }
}

/** The same, to read and write whole objects. */
export const wholeOf = (type: ObjectType): ResourceType<JsonMap> => ({
  ...resourceOf(type),
  parse: parseObject,
})

/** A field of an object's metadata; '' where it is no text. */
export const metadataText = (object: JsonMap, key: string): string => {
  const { [key]: value } = metadataOf(object)
  return typeof value === 'string' ? value : ''
}
