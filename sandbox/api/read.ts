// SPDX-License-Identifier: Apache-2.0
import { parse as parseYaml } from 'yaml'
import { setKey } from '../../core/json.js'
import { isMap, mapAt, type JsonMap, type KubeObject, type ObjectMeta } from './object.js'
import { jsonPatch } from './patch-json.js'
import { mergePatch } from './patch-merge.js'
import { strategicPatch } from './patch-strategic.js'
import type { ResourcePath } from './paths.js'
import { groupVersion, type Row } from './row.js'
import {
  badRequest,
  invalid,
  tooLarge,
  unsupportedMedia,
  type Refusal,
} from '../../kube/server/status.js'
import { isTextAt, typeTrouble } from './readable.js'

/** Turns the served form of an object into what the client wants it to be. */
export type Patch = (object: KubeObject) => unknown

/** As the real one: larger bodies are refused before they are parsed. */
export const MAX_BODY = 3 * 1024 * 1024

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Null is as good as absent in everything that a client sends, but for maps of texts. */
const withoutNulls = (value: unknown, path = ''): unknown => {
  if (Array.isArray(value)) return value.map(item => withoutNulls(item, `${path}[]`))
  if (!isMap(value)) return value
  const out: JsonMap = {}
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== null) setKey(out, key, withoutNulls(inner, path === '' ? key : `${path}.${key}`))
    else if (isTextAt(path)) setKey(out, key, '')
  }
  return out
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** Fields that the API leaves out rather than show empty. */
const OMITTED: readonly (readonly [holder: string, ...keys: readonly string[]])[] = [
  ['metadata', 'labels', 'annotations', 'finalizers', 'ownerReferences'],
  ['spec', 'taints', 'podCIDRs', 'ports'],
  ['status', 'conditions', 'addresses'],
]

const tidy = (object: JsonMap): JsonMap => {
  for (const key of ['data', 'binaryData', 'stringData'])
    if (isEmpty(object[key])) Reflect.deleteProperty(object, key)
  for (const [holder, ...keys] of OMITTED) {
    const map = mapAt(object, holder)
    for (const key of keys) if (isEmpty(map[key])) Reflect.deleteProperty(map, key)
  }
  return object
}

/** How an unreadable body is refused. */
type Refuse = (message: string) => Refusal

/** An object that cannot be read after a patch is the patch's fault, which the real one calls Invalid. */
export const patchTrouble: Refuse = message =>
  invalid({ group: '', resource: '', kind: '' }, '', [
    { reason: 'FieldValueInvalid', message: `Invalid value: ${message}`, field: 'patch' },
  ])

const checkType = (row: Row, body: JsonMap): void => {
  const { apiVersion = '', kind = '' } = body
  const wanted = groupVersion(row)
  if (apiVersion !== '' && apiVersion !== wanted)
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${wanted})`,
    )
  if (kind !== '' && kind !== row.kind)
    throw badRequest(
      `${row.kind} in version "${row.version}" cannot be handled as a ${row.kind}: the kind in the data is ${String(kind)}`,
    )
}

const checkNamespace = ({ row, namespace }: ResourcePath, given: string): void => {
  if (!row.namespaced || given === '' || namespace === undefined || given === namespace) return
  throw badRequest(
    'the namespace of the provided object does not match the namespace sent on the request',
  )
}

/**
 * What a client sent, as an object in the stored form that may be changed.
 * @throws Refusal 400 when it is not an object of the row's kind or belongs elsewhere.
 */
export const readObject = (
  at: ResourcePath,
  body: unknown,
  refuse: Refuse = badRequest,
): KubeObject => {
  const { row } = at
  if (!isMap(body)) throw refuse(`the object provided is unrecognized: expected ${row.kind}`)
  checkType(row, body)
  const trouble = typeTrouble(body, row.isCustom) ?? row.trouble?.(body)
  if (trouble !== undefined)
    throw refuse(
      `${row.kind} in version "${row.version}" cannot be handled as a ${row.kind}: ${trouble}`,
    )
  const whole = withoutNulls(row.form === undefined ? body : row.form.toStored(body)) as JsonMap
  const stored = tidy(whole)
  const given = mapAt(stored, 'metadata')
  checkNamespace(at, text(given['namespace']))
  if (row.owned === undefined) delete given['managedFields']
  delete given['selfLink']
  const version = text(given['resourceVersion'])
  const metadata: ObjectMeta = {
    ...given,
    name: text(given['name']),
    uid: text(given['uid']),
    resourceVersion: version === '0' ? '' : version,
    creationTimestamp: text(given['creationTimestamp']),
  }
  if (!row.namespaced) delete metadata.namespace
  return { ...stored, apiVersion: 'v1', kind: row.kind, metadata }
}

/** @throws Refusal 400, 413. An empty body is undefined. */
export const readJson = (body: Buffer): unknown => {
  if (body.length > MAX_BODY) throw tooLarge(`Request entity too large: limit is ${MAX_BODY}`)
  const content = body.toString('utf8')
  if (content.trim() === '') return undefined
  try {
    return JSON.parse(content) as unknown
  } catch (cause) {
    throw badRequest(`error decoding JSON: ${cause instanceof Error ? cause.message : ''}`)
  }
}

/** The media type without parameters. */
export const mediaType = (header: string | undefined): string =>
  (header ?? '').split(';')[0]!.trim().toLowerCase()

const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
  'application/apply-patch+cbor',
  'application/strategic-merge-patch+json',
]

const mapOrRefuse = (body: unknown): JsonMap => {
  if (!isMap(body)) throw badRequest('the patch must be a JSON object')
  return body
}

const unknownPatch = ({ lists }: Row): Refusal => {
  const types = PATCH_TYPES.filter(type => lists !== undefined || !type.includes('strategic'))
  return unsupportedMedia(
    `the body of the request was in an unknown format - accepted media types include: ${types.join(', ')}`,
  )
}

/** Understand the body of a PATCH by its media type. @throws Refusal 400, 415. */
export const readPatch = (row: Row, type: string, body: Buffer): Patch => {
  switch (type) {
    case 'application/json-patch+json': {
      const patch = readJson(body)
      return object => jsonPatch(object, patch)
    }
    case 'application/merge-patch+json': {
      const patch = mapOrRefuse(readJson(body))
      return object => mergePatch(object, patch)
    }
    case 'application/strategic-merge-patch+json': {
      const { lists } = row
      if (lists === undefined) throw unknownPatch(row)
      const patch = mapOrRefuse(readJson(body))
      return object => strategicPatch(object, patch, lists)
    }
    default:
      throw unknownPatch(row)
  }
}

/** What is applied may be YAML; JSON is. @throws Refusal 400 */
export const readApply = (body: Buffer): JsonMap => {
  let applied: unknown
  try {
    applied = parseYaml(body.toString('utf8'), { prettyErrors: false })
  } catch (cause) {
    throw badRequest(`error decoding YAML: ${cause instanceof Error ? cause.message : ''}`)
  }
  return withoutNulls(mapOrRefuse(applied)) as JsonMap
}
