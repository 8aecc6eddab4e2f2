// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../core/exact-json.js'
import { pathOf } from './list-pages.js'
import type { KubeCall } from './open-response.js'
import { resourcePath, type ObjectName, type ResourceType } from './resource.js'
import type { CreateTarget } from './resource-client.js'
import type { Query } from './resource-requests.js'
import type { KubePatch, ObjectBody, PatchText } from './write.js'

const PATCH_TYPES: Readonly<Record<KubePatch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  'strategic-merge': 'application/strategic-merge-patch+json',
}
/** The media type says YAML; JSON is YAML too. */
const APPLY_TYPE = 'application/apply-patch+yaml'

/** What a write sends. */
export interface Write {
  readonly method: 'POST' | 'PUT' | 'PATCH'
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  /** Media type of the body. */
  readonly media: string
  /** JSON. */
  readonly text: string
  readonly query?: Query
}

const patchText = (patch: KubePatch | PatchText): string => {
  if ('text' in patch) return patch.text
  return writeExactJson(patch.type === 'json' ? patch.operations : patch.body)
}

export const creation = (
  { subresource }: Pick<ResourceType<unknown>, 'subresource'>,
  { name, namespace }: CreateTarget,
  body: ObjectBody,
): Write => ({
  method: 'POST',
  // Who creates an object may pass its own name and namespace; only a subresource is below a name.
  name: subresource === undefined ? undefined : name,
  namespace,
  media: 'application/json',
  text: writeExactJson(body),
})

export const replacement = ({ name, namespace }: ObjectName, body: ObjectBody): Write => {
  const text = writeExactJson(body)
  return { method: 'PUT', name, namespace, media: 'application/json', text }
}

export const patching = ({ name, namespace }: ObjectName, patch: KubePatch | PatchText): Write => {
  const text = patchText(patch)
  return { method: 'PATCH', name, namespace, media: PATCH_TYPES[patch.type], text }
}

/** Server-side apply. */
export const application = (
  { name, namespace }: ObjectName,
  body: ObjectBody,
  isForced: boolean,
): Write => {
  const query = isForced ? { force: 'true' } : {}
  const text = writeExactJson(body)
  return { method: 'PATCH', name, namespace, media: APPLY_TYPE, text, query }
}

export const writeRequest = (
  type: ResourceType<unknown>,
  { method, name, namespace, media, text, query = {} }: Write,
  { isDryRun, fieldManager }: { readonly isDryRun: boolean; readonly fieldManager: string },
): Pick<KubeCall, 'method' | 'path' | 'body'> => ({
  method,
  path: pathOf(resourcePath(type, { namespace, name }), {
    ...query,
    ...(isDryRun ? { dryRun: 'All' } : {}),
    fieldManager,
  }),
  body: { type: media, text },
})
