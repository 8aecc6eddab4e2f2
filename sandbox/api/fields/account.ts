// SPDX-License-Identifier: Apache-2.0
import type { JsonMap, KubeObject } from '../object.js'
import type { Row } from '../row.js'
import type { Claim } from './claim.js'
import { readManagers, sameManagers, writeManagers } from './managers.js'

const EMPTY = { apiVersion: '', kind: '', metadata: { name: '', uid: '' } } as KubeObject

/** An object without its managedFields. */
const bare = ({ metadata: { managedFields: _, ...metadata }, ...rest }: KubeObject): JsonMap => ({
  ...rest,
  metadata,
})

/** Update the managedFields of a new state. @param now the API's time */
export const account = (
  { row }: { readonly row: Row },
  old: KubeObject | undefined,
  object: KubeObject,
  { claim, now }: { readonly claim: Claim; readonly now: string },
): void => {
  if (row.owned === undefined) return
  const { managedFields = old?.metadata['managedFields'] } = object.metadata
  const before = readManagers(managedFields)
  const after = claim(before, { before: bare(old ?? EMPTY), after: bare(object), now })
  const known = readManagers(old?.metadata['managedFields'])
  const isSame = old !== undefined && sameManagers(known, after)
  object.metadata['managedFields'] = isSame ? old.metadata['managedFields'] : writeManagers(after)
}
