// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { parseBoundedJson } from '../message/bounded-json.js'
import { contentObject, jsonTextOf } from '../message/content.js'

/** The format of a patch. */
export type PatchType = 'json' | 'merge' | 'strategic-merge'

/** What a request addresses. '' for parts that it does not name. */
export interface Target {
  /** '' for the core group. */
  readonly group: string
  readonly version: string
  /** The plural resource name, as in paths. */
  readonly resource: string
  readonly namespace: string
  readonly name: string
}

/** Options of a list or a watch. */
export interface Listing {
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly resourceVersion: string
  /** Page size; 0 for no limit. */
  readonly limit: number
  /** The continue token of the next page. */
  readonly next: string
}

/** A request to an edge's MetaServer that the edge passes on to the cloud. */
export interface Application {
  /** The edge's own key for it; equal requests have the same. */
  readonly id: string
  readonly target: Target
  readonly ask:
    | { readonly verb: 'get' }
    | { readonly verb: 'list' | 'watch'; readonly listing: Listing }
    | { readonly verb: 'create'; readonly body: JsonMap }
    | {
        readonly verb: 'patch'
        readonly type: PatchType
        readonly text: string
        /** The patch, parsed: an object or a list of operations. */
        readonly value: unknown
        readonly subresource: string
        readonly isDryRun: boolean
      }
}

const PATCH_TYPES: Readonly<Record<string, PatchType>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic-merge',
}

/** The key's text for the core group, and for no namespace below. */
const CORE = 'core'
const NOTHING = 'null'

const PART = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
/** Longer ids and selectors are refused; agents use none so long. */
export const MAX_TEXT = 2_048
const MAX_LIMIT = 10_000

const textAt = (map: JsonMap, key: string): string => {
  const value = map[key] ?? ''
  if (typeof value !== 'string')
    throw new InvalidInputError(`Application: ${key}`, 'must be text', typeof value)
  if (value.length > MAX_TEXT)
    throw new InvalidInputError(
      `Application: ${key}`,
      `must be at most ${MAX_TEXT} characters long`,
      value.length,
    )
  return value
}

/** Parses `/<group>/<version>/<resource>[/<namespace>[/<name>]]`, with `core` and `null` for empty parts. */
const targetOf = (key: string): Target => {
  const [start, ...parts] = key.split('/')
  const [group = '', version = '', resource = '', namespace = NOTHING, name = ''] = parts
  const isWhole = start === '' && parts.length >= 3 && parts.length <= 5
  if (!isWhole || !parts.every(part => PART.test(part)))
    throw new InvalidInputError(
      'Application: Key',
      'must be /<group>/<version>/<resource>[/<namespace>[/<name>]]',
      key,
    )
  return {
    ...{ group: group === CORE ? '' : group, version, resource, name },
    namespace: namespace === NOTHING ? '' : namespace,
  }
}

/** Parses options and bodies, which Go encodes as bytes; null or nothing is an empty object. */
const objectAt = (map: JsonMap, key: string): JsonMap => {
  const value = map[key] ?? ''
  return value === '' ? {} : contentObject(`Application: ${key}`, value)
}

const NAMED = /^metadata\.name={1,2}([a-z0-9.-]+)$/

const listingOf = (options: JsonMap): Listing => {
  const { limit = 0 } = options
  if (!Number.isInteger(limit) || Number(limit) < 0 || Number(limit) > MAX_LIMIT)
    throw new InvalidInputError(
      'Application: limit',
      `must be a whole number from 0 to ${MAX_LIMIT}`,
      typeof limit === 'number' ? limit : typeof limit,
    )
  return {
    labelSelector: textAt(options, 'labelSelector'),
    fieldSelector: textAt(options, 'fieldSelector'),
    resourceVersion: textAt(options, 'resourceVersion'),
    limit: Number(limit),
    next: textAt(options, 'continue'),
  }
}

/** The single name of a list is in the key, or only in the field selector; both together must agree. */
const listOf = (verb: 'list' | 'watch', target: Target, options: JsonMap) => {
  const listing = listingOf(options)
  const name = NAMED.exec(listing.fieldSelector)?.[1]
  if (name === undefined) return { target, ask: { verb, listing } }
  if (target.name !== '' && target.name !== name)
    throw new InvalidInputError(
      'Application: Key',
      `must name ${name} as its options do`,
      target.name,
    )
  return { target: { ...target, name }, ask: { verb, listing: { ...listing, fieldSelector: '' } } }
}

const patchOf = (target: Target, options: JsonMap, subresource: string) => {
  const media = textAt(options, 'PatchType')
  const type = Object.hasOwn(PATCH_TYPES, media) ? PATCH_TYPES[media] : undefined
  if (type === undefined)
    throw new InvalidInputError('Application: PatchType', 'must be a kind of patch', media)
  if (textAt(options, 'Name') !== target.name)
    throw new InvalidInputError('Application: Name', 'must be the name in its Key', options['Name'])
  const { Options: more, Subresources: parts = [] } = options
  if (!Array.isArray(parts) || parts.some(part => part !== '' && part !== subresource))
    throw new InvalidInputError('Application: Subresources', 'must be those of its request', parts)
  const text = jsonTextOf('Application: Data', options['Data'] ?? '')
  const value = parseBoundedJson('Application: Data', text)
  const isDryRun = isMap(more) && Array.isArray(more['dryRun']) && more['dryRun'].length > 0
  return { target, ask: { verb: 'patch', type, text, value, subresource, isDryRun } as const }
}

const needsName = (target: Target): void => {
  if (target.name === '')
    throw new InvalidInputError('Application: Key', 'must name an object', target.resource)
}

const requestOf = (content: JsonMap, target: Target): Omit<Application, 'id'> => {
  const verb = textAt(content, 'Verb')
  const subresource = textAt(content, 'Subresource')
  const options = objectAt(content, 'Option')
  if (verb === 'patch') {
    needsName(target)
    return patchOf(target, options, subresource)
  }
  if (subresource !== '')
    throw new InvalidInputError('Application: Subresource', 'must be empty', subresource)
  switch (verb) {
    case 'get':
      needsName(target)
      return { target, ask: { verb } }
    case 'list':
    case 'watch':
      return listOf(verb, target, options)
    case 'create':
      return { target, ask: { verb, body: objectAt(content, 'ReqBody') } }
    default:
      throw new InvalidInputError(
        'Application: Verb',
        'must be create, get, list, patch or watch',
        verb,
      )
  }
}

/**
 * Parses what the MetaServer of an edge passes on. The node named in it is ignored: the connection says which node it is.
 * @throws InvalidInputError that names the field, the rule and the value; bodies are not quoted
 */
export const parseApplication = (content: unknown): Application => {
  const whole = contentObject('Application', content)
  return { id: textAt(whole, 'ID'), ...requestOf(whole, targetOf(textAt(whole, 'Key'))) }
}
