// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { ObjectName, ResourceType } from '../../../kube/client/resource.js'
import { KINDS, type ObjectType } from '../../model/resource/kinds.js'
import type { Resource } from '../../model/resource/resource.js'

/** @throws InvalidInputError for what is no object. */
export const parseWhole = (raw: unknown): JsonMap => {
  if (!isMap(raw)) throw new InvalidInputError('object', 'must be an object', typeof raw)
  return raw
}

/** API objects in full, since edges are sent them in full. */
export const objectsOf = (type: ObjectType): ResourceType<JsonMap> => {
  const { group, version, plural } = KINDS[type]
  return { group, version, resource: plural, parse: parseWhole }
}

/** Creates tokens of a ServiceAccount. */
export const TOKENS: ResourceType<JsonMap> = {
  ...{ group: '', version: 'v1', resource: 'serviceaccounts', subresource: 'token' },
  parse: parseWhole,
}

export const objectNameOf = ({
  namespace,
  name,
}: Pick<Resource, 'name' | 'namespace'>): ObjectName =>
  namespace === '' ? { name } : { namespace, name }
