// SPDX-License-Identifier: Apache-2.0
import { badRequest, invalid, unsupportedMedia } from '../../../kube/server/status.js'
import { mapAt, textAt, type JsonMap } from '../object.js'
import { groupVersion } from '../row.js'
import { managerOf, notWritten, type Claim, type Writing } from './claim.js'
import { fieldsOf, textOf, type FieldSet } from './field-set.js'
import { afterApply, changeOf, givenUp, type Owned } from './managers.js'

/** What an apply owns, and what it gives up. */
interface Applied {
  readonly claim: Claim
  givenUp(owned: readonly Owned[]): FieldSet
}

const PATCH_OPTIONS = { group: 'meta.k8s.io', resource: '', kind: 'PatchOptions' }

/** @throws Refusal 400, 415, 422. */
const check = (call: Writing & { readonly name: string | undefined }, body: JsonMap): void => {
  const { row, manager = '', name = '', subresource } = call
  if (row.owned === undefined)
    throw unsupportedMedia(
      `server-side apply is not served for ${row.resource} by this embedded API`,
    )
  if (manager === '')
    throw invalid(PATCH_OPTIONS, '', [
      {
        reason: 'FieldValueRequired',
        message: 'Required value: is required for apply patch',
        field: 'fieldManager',
      },
    ])
  const wanted = subresource === 'scale' ? 'autoscaling/v1' : groupVersion(row)
  if (textAt(body, 'apiVersion') !== wanted || textAt(body, 'kind') === '')
    throw badRequest(`apiVersion and kind of the applied object must be set: expected ${wanted}`)
  if (![undefined, null].includes(mapAt(body, 'metadata')['managedFields'] as undefined))
    throw badRequest('metadata.managedFields must be nil')
  const given = textAt(body, 'metadata.name')
  if (given !== '' && given !== name)
    throw badRequest(
      `the name of the object (${given}) does not match the name on the URL (${name})`,
    )
}

/** @throws Refusal 400, 415, 422 for what cannot be applied. */
export const readApplied = (
  call: Writing & { readonly name: string | undefined },
  { body, isForced }: { readonly body: JsonMap; readonly isForced: boolean },
): Applied => {
  check(call, body)
  const rules = call.row.owned!
  const without = notWritten(call)
  const by = managerOf(call, 'Apply')
  const scaled = call.row.scale?.replicas.split('.').map(step => `f:${step}`) ?? []
  const applied: FieldSet =
    call.subresource === 'scale'
      ? new Set([textOf(scaled)])
      : new Set(fieldsOf(body, rules, { withMaps: false, without }).keys())
  return {
    claim: (owned, { before, after, now }) =>
      afterApply(owned, by, changeOf(before, after, rules, without), { applied, isForced, now }),
    givenUp: owned => givenUp(owned, by, applied),
  }
}
