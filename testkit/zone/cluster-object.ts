// SPDX-License-Identifier: Apache-2.0
// Objects of the API in memory: what is read in them, and how they are patched.
import { IDENTITY_ANNOTATION } from '../../agent/identity/annotation.js'
import { parseNodeView } from '../../agent/adapters/node-view.js'
import type { MemberView } from '../../agent/ports/kube-api.js'
import { KubeStatusError } from '../../core/errors.js'
import type { NodeView } from '../../core/node.js'
import type { KubePatch } from '../../kube/client/write.js'
import { jsonPatch } from '../../sandbox/api/patch-json.js'
import { mergePatch } from '../../sandbox/api/patch-merge.js'
import { strategicPatch } from '../../sandbox/api/patch-strategic.js'
import { parseLabelSelector } from '../../sandbox/api/selector.js'

export type Raw = Record<string, unknown> & {
  metadata: Record<string, unknown> & { name: string; resourceVersion: string }
}

const LISTS = { 'status.conditions': 'type', 'status.addresses': 'type' }

export const matchOf = (which: {
  readonly selector: string
  readonly name?: string | undefined
}): ((raw: Raw) => boolean) => {
  const matches = parseLabelSelector(which.selector)
  const { name } = which
  return raw =>
    (name === undefined || raw.metadata.name === name) &&
    matches(raw as unknown as Parameters<typeof matches>[0])
}

export const memberOf = (raw: Raw): MemberView => {
  const { name, internalIPs } = viewOf(raw)
  return { name, address: internalIPs[0] }
}

export const isMarked = (raw: Raw): boolean =>
  (raw.metadata['annotations'] as Record<string, string> | undefined)?.['nodeunhealth'] !==
  undefined

/** The whole of a patch is the one annotation. */
export const isIdentityPatch = (patch: KubePatch): boolean => {
  const { metadata, ...others } = patch.type === 'merge' ? patch.body : { metadata: undefined }
  const { annotations, ...rest } = { annotations: {}, ...(metadata as object | undefined) }
  const keys = Object.keys(annotations)
  return (
    [others, rest].every(each => Object.keys(each).length === 0) &&
    keys.join() === IDENTITY_ANNOTATION
  )
}

export const renewTimeOf = (raw: Raw): string =>
  (raw['spec'] as { renewTime?: string } | undefined)?.renewTime ?? ''

export const taintKeysOf = (raw: Raw): string[] =>
  ((raw['spec'] as { taints?: { key: string }[] } | undefined)?.taints ?? []).map(({ key }) => key)

const views = new WeakMap<Raw, NodeView>()

/** An object is never changed once it is stored: all who watch it get the same view, which is parsed once. */
export const viewOf = (raw: Raw | undefined): NodeView => {
  const known = raw && views.get(raw)
  if (known !== undefined) return known
  const view = parseNodeView(raw)
  if (raw !== undefined) views.set(raw, view)
  return view
}

/** The object with this patch, as the embedded server applies it. @throws KubeStatusError 409, 422 */
export const patched = (raw: Raw, patch: KubePatch): Raw => {
  if (patch.type === 'json') {
    try {
      return jsonPatch(raw, patch.operations) as Raw
    } catch (error) {
      throw new KubeStatusError('patch', {
        status: 422,
        reason: 'Invalid',
        message: String(error),
        details: {},
        isFromApi: true,
      })
    }
  }
  const { metadata } = patch.body as { metadata?: { resourceVersion?: string } }
  const guard = metadata?.resourceVersion
  if (guard !== undefined && guard !== raw.metadata.resourceVersion)
    throw new KubeStatusError('patch', {
      ...{ status: 409, reason: 'Conflict', message: '', isFromApi: true },
    })
  if (patch.type === 'merge') return mergePatch(raw, patch.body) as Raw
  return strategicPatch(raw, patch.body, LISTS) as Raw
}
