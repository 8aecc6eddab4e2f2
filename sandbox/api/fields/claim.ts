// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../object.js'
import { groupVersion, type Row } from '../row.js'
import { afterUpdate, changeOf, type Manager, type Owned } from './managers.js'

/** Who owns what after a write, from who did before it and what it changed. @throws Refusal 409 */
export type Claim = (
  owned: readonly Owned[],
  write: { readonly before: JsonMap; readonly after: JsonMap; readonly now: string },
) => readonly Owned[]

/** A write, as far as ownership asks. */
export interface Writing {
  readonly row: Row
  readonly subresource: string
  readonly manager?: string | undefined
}

/** Top-level fields that a request does not write, whatever it says of them. */
export const notWritten = ({ row, subresource }: Writing): readonly string[] => {
  if (subresource === 'status') return row.isCustom ? ['spec', 'metadata'] : ['spec']
  return row.status ? ['status'] : []
}

export const managerOf = (
  { row, subresource, manager = 'unknown' }: Writing,
  operation: Manager['operation'],
): Manager => ({ name: manager, operation, apiVersion: groupVersion(row), subresource })

/** Of a create, an update or a patch: who changed a field owns it. */
export const claimOf =
  (writing: Writing): Claim =>
  (owned, { before, after, now }) => {
    const change = changeOf(before, after, writing.row.owned ?? {}, notWritten(writing))
    return afterUpdate(owned, managerOf(writing, 'Update'), change, now)
  }
