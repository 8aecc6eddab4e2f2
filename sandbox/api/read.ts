// SPDX-License-Identifier: Apache-2.0
import { copyOf, isMap, type JsonMap, type KubeObject, type ObjectMeta } from './object.js'
import { jsonPatch } from './patch-json.js'
import { mergePatch } from './patch-merge.js'
import { strategicPatch } from './patch-strategic.js'
import type { ResourcePath } from './paths.js'
import { groupVersion, type Row } from './registry.js'
import { badRequest, tooLarge, unsupportedMedia } from './status.js'
import { typeTrouble } from './validate.js'

/** Turns the served form of an object into what the client wants it to be. */
export type Patch = (object: KubeObject) => unknown

/** As the real one: larger bodies are refused before they are parsed. */
export const MAX_BODY = 3 * 1024 * 1024

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const withoutNulls = (map: JsonMap): JsonMap =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null))

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

/**
 * What a client sent, as an object in the stored form that may be changed.
 * @throws Refusal 400 when it is not an object of the row's kind or belongs elsewhere.
 */
export const readObject = (at: ResourcePath, body: unknown): KubeObject => {
  const { row } = at
  if (!isMap(body)) throw badRequest(`the object provided is unrecognized: expected ${row.kind}`)
  checkType(row, body)
  const trouble = typeTrouble(body)
  if (trouble !== undefined)
    throw badRequest(
      `${row.kind} in version "${row.version}" cannot be handled as a ${row.kind}: ${trouble}`,
    )
  const stored = copyOf(row.form === undefined ? body : row.form.toStored(body))
  const given = isMap(stored['metadata']) ? withoutNulls(stored['metadata']) : {}
  const namespace = text(given['namespace'])
  if (
    row.namespaced &&
    namespace !== '' &&
    at.namespace !== undefined &&
    namespace !== at.namespace
  )
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    )
  delete given['managedFields']
  delete given['selfLink']
  const metadata: ObjectMeta = {
    ...given,
    name: text(given['name']),
    uid: text(given['uid']),
    resourceVersion: text(given['resourceVersion']) === '0' ? '' : text(given['resourceVersion']),
    creationTimestamp: text(given['creationTimestamp']),
  }
  if (!row.namespaced) delete metadata.namespace
  return { ...withoutNulls(stored), apiVersion: 'v1', kind: row.kind, metadata }
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
      const patch = mapOrRefuse(readJson(body))
      return object => strategicPatch(object, patch, row.lists)
    }
    case 'application/apply-patch+yaml':
      throw unsupportedMedia(
        'server-side apply is not served by this embedded API; use a merge, strategic-merge or JSON patch',
      )
    default:
      throw unsupportedMedia(
        `the body of the request was in an unknown format - accepted media types include: ${PATCH_TYPES.join(', ')}`,
      )
  }
}
