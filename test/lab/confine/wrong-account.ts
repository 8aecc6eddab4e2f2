// SPDX-License-Identifier: Apache-2.0
// Whether a policy would be noticed that names another account than the one that is there.
import { BITING, whoIsFree } from './bite.js'
import {
  ACCOUNT_PATH,
  OTHER_ACCOUNT,
  patchPolicy,
  policiesOf,
  type Policy,
  rowsOf,
  untilSo,
} from './policies.js'
import type { Row } from './rows.js'
import type { Scene } from './scene.js'

interface Seams extends Scene {
  readonly rows: readonly Row[]
}

/** What is not as it must be while nobody or this policy alone is another account's. */
const troubleOf = async (
  { bed, table }: Seams,
  row: Row,
  { policy, isOff }: { policy: string; isOff: boolean },
): Promise<string | undefined> => {
  const refuser = (await table.outcome(row)).seen.at(-1)!
  if (refuser !== (isOff ? 'nobody' : row.refusedBy))
    return `"${row.what}" is refused by ${refuser}`
  const free = await whoIsFree((by, sent) => bed.send(by, sent), bed.writer)
  const wanted = isOff ? BITING.filter(one => one === policy) : []
  const isSo =
    free.length === wanted.length && wanted.every(one => free[0]!.includes(`of ${one}: `))
  return isSo ? undefined : `free are ${free.join('; ') || 'none'}`
}

const playPolicy = async (
  seams: Seams,
  { metadata, spec }: Policy,
): Promise<string | undefined> => {
  const { plane, rows, signal } = seams
  const { name: policy } = metadata
  const row = rowsOf(policy, rows)[0]
  if (row === undefined || row.refusedBy === 'nobody') return 'no row is refused by it'
  const look = (isOff: boolean) => untilSo(() => troubleOf(seams, row, { policy, isOff }), signal)
  const before = await look(false)
  if (before !== undefined) return `before: ${before}`
  await patchPolicy(plane, policy, ACCOUNT_PATH, OTHER_ACCOUNT)
  const trouble = await look(true)
  await patchPolicy(plane, policy, ACCOUNT_PATH, spec.matchConditions[0]!.expression)
  const after = await look(false)
  return trouble ?? (after === undefined ? undefined : `after: ${after}`)
}

/**
 * Each policy in turn names another account: nobody else may refuse the first row that it refuses, and `whoIsFree` must
 * tell of it. With cluster-admin bound to all accounts, or RBAC would refuse in its place.
 */
export const playWrongAccount = async (seams: Seams): Promise<void> => {
  const { plane, table, say, signal } = seams
  say('policies that name another account:')
  for (const policy of await policiesOf(plane, signal)) {
    const what = `${policy.metadata.name} of another account is noticed`
    const trouble = await playPolicy(seams, policy)
    if (trouble === undefined) say(`  ok     ${what}`)
    else table.failed(`${what}: ${trouble}`)
  }
}
