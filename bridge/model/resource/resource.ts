// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import { objectTypeOf, KINDS } from './kinds.js'

/** What a message is about, and from which node it is. */
export interface Resource {
  /** The node of the connection, whatever the message says. */
  readonly node: NodeName
  /** '' for cluster-wide objects, whatever the edge wrote there. */
  readonly namespace: string
  /** `pod`, `podpatch`, `configmap`, … */
  readonly type: string
  /** '' for all objects of a namespace. */
  readonly name: string
}

/** Stands for no namespace on the wire. Older edges write `default` or `namespace`. */
const NO_NAMESPACE = 'null'
const NODE_PREFIX = 'node'

const TYPE = /^[a-z][a-z0-9]{0,62}$/
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
/** The names that the API allows. */
export const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

const isClusterWide = (type: string): boolean => {
  const object = objectTypeOf(type)
  return object !== undefined && !KINDS[object].isNamespaced
}

const check = (text: string, what: string, value: string, rule: RegExp): void => {
  if (!rule.test(value))
    throw new InvalidInputError(
      `resource ${text.slice(0, 80)}: ${what}`,
      'must be a name as the API allows it',
      value,
    )
}

/** Splits `<namespace>/<type>[/<name>]`, with or without `node/<node>/` in front. */
const partsOf = (text: string): readonly string[] => {
  const parts = text.split('/')
  const own = parts.length >= 4 && parts[0] === NODE_PREFIX ? parts.slice(2) : parts
  if (own.length !== 2 && own.length !== 3)
    throw new InvalidInputError('resource', 'must be <namespace>/<type>/<name>', text)
  return own
}

/**
 * Parses what a message of this node is about. A node in the text is ignored. Only names that the API allows are accepted,
 * so they are safe in a URL path.
 * @param text `<namespace>/<type>[/<name>]`, with or without `node/<node>/` in front
 * @throws InvalidInputError
 */
export const parseResource = (text: string, node: NodeName): Resource => {
  const [space = '', type = '', name] = partsOf(text)
  check(text, 'type', type, TYPE)
  check(text, 'namespace', space, NAMESPACE)
  if (name !== undefined) check(text, 'name', name, NAME)
  const namespace = isClusterWide(type) || space === NO_NAMESPACE ? '' : space
  return { node, namespace, type, name: name ?? '' }
}

/** As written in a frame. */
export const wireResource = ({ namespace, type, name }: Omit<Resource, 'node'>): string => {
  const space = namespace === '' ? NO_NAMESPACE : namespace
  return name === '' ? `${space}/${type}` : `${space}/${type}/${name}`
}

/** With the node, for people; KubeEdge's own components write it the same way among each other. */
export const resourceText = (resource: Resource): string =>
  `${NODE_PREFIX}/${resource.node}/${wireResource(resource)}`

/**
 * The key of an object: messages with the same key must stay in order. A patch of a part has the key of the whole.
 * @returns `pod default/web`, `node /edge-1`
 */
export const objectKey = ({ type, namespace, name }: Omit<Resource, 'node'>): string =>
  `${objectTypeOf(type) ?? type} ${namespace}/${name}`
