// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { KubeStatusError, reasonOf } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ObjectName, ResourceType } from '../../kube/client/resource.js'
import type { KubePatch, WriteGuard } from '../../kube/client/write.js'
import { WRITER } from '../ports/kube-api.js'

/** An object as it is patched. */
export interface Patched<T> {
  readonly type: ResourceType<T>
  readonly of: ObjectName
  readonly guard: WriteGuard | undefined
}

const stampsSchema = v.object({
  metadata: v.object({
    resourceVersion: v.string(),
    managedFields: v.nullish(v.array(v.unknown()), []),
  }),
})

/** Each entry names a field: an apiserver keeps only such entries. */
const FIELDS = {
  nodes: { 'f:metadata': { 'f:annotations': { 'f:edge-health/reason': {} } } },
  leases: { 'f:spec': { 'f:renewTime': {} } },
}

/** Adds the first entry to an object without `managedFields`, in the agent's own name and without a time: then the apiserver records times again. */
export const firstStamp = (
  { group, version, resource }: ResourceType<unknown>,
  resourceVersion: string | undefined,
): Exclude<KubePatch, { type: 'json' }> => {
  const apiVersion = group === '' ? version : `${group}/${version}`
  const fieldsV1 = FIELDS[resource as keyof typeof FIELDS]
  const entry = {
    manager: WRITER,
    operation: 'Update',
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1,
  }
  return { type: 'merge', body: { metadata: { resourceVersion, managedFields: [entry] } } }
}

/** The whole object, where the write went through a subresource. */
const wholeOf = ({ group, version, resource, parse }: ResourceType<unknown>) => ({
  ...{ group, version, resource, parse },
})

/**
 * An apiserver stamps no writes of an object that has no `managedFields`: one from before Kubernetes 1.18, or one whose
 * entries were removed. The policies of deploy/ rely on the stamp, so they refuse any write that carries a time.
 * @param refused the error with which such a write failed
 * @returns the error for the caller: a conflict where the object has its first entry now, so that the write is tried again
 */
export const afterRefusal = async <T>(
  client: ResourceClient,
  { type, of, guard }: Patched<T>,
  refused: unknown,
  signal: AbortSignal,
): Promise<unknown> => {
  if (!(refused instanceof KubeStatusError) || refused.status !== 403) return refused
  try {
    const parse = (raw: unknown) => parseWith(stampsSchema, 'object', raw).metadata
    const whole = wholeOf(type)
    const now = await client.get({ ...whole, isMetadataOnly: true, parse }, of, signal)
    if (now.managedFields.length > 0) return refused
    await client.patch(whole, of, { patch: firstStamp(type, now.resourceVersion), guard }, signal)
  } catch {
    return refused
  }
  const message = `refused because it had no managedFields (${reasonOf(refused)}); a first entry was added, retrying`
  return new KubeStatusError(`PATCH ${type.resource} ${of.name}`, {
    ...{ status: 409, reason: 'Conflict', message, isFromApi: refused.isFromApi },
  })
}
