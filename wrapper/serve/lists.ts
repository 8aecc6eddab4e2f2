// SPDX-License-Identifier: Apache-2.0
import { decodeToken, encodeToken, tokenExpired } from '../../kube/server/continue-token.js'
import type { ContinueToken } from '../../kube/server/continue-token.js'
import type { ListOptions } from '../../kube/server/list-options.js'
import { expired } from '../../kube/server/status.js'
import { readLabels } from '../wire/meta.js'
import type { Stored } from '../store/stored.js'
import { lowerBound, type Table } from '../store/table.js'
import type { PageHead } from './formats.js'
import type { Chosen } from './selection.js'
import { turn } from './send.js'
import type { Target } from './target.js'

/** One page of a list. */
export interface Page extends PageHead {
  readonly records: readonly Stored[]
}

/** The version that a list must show; undefined: whatever is newest. */
export const exactVersion = ({ version = 0, match, limit }: ListOptions): number | undefined =>
  version > 0 && (match === 'Exact' || (match === '' && limit > 0)) ? version : undefined

/** Objects that are held against a selection before other work has its turn. */
const PER_TURN = 64

/** The objects as they are now, of the namespace or with the key that is asked for; not selected yet. */
export const present = (
  table: Table,
  { namespace }: Target,
  { key }: Chosen,
): readonly Stored[] => {
  if (key === undefined) return table.list(namespace)
  const only = table.get(key)
  return only === undefined ? [] : [only]
}

const stateAt = (
  table: Table,
  target: Target,
  version: number,
  token: ContinueToken | undefined,
): readonly Stored[] => {
  const records = table.listAt(version, target.namespace)
  if (records !== undefined) return records
  if (token !== undefined) throw tokenExpired(token)
  throw expired('The provided resource version is too old.')
}

/** What a list is made of. */
export interface State {
  readonly version: number
  readonly records: readonly Stored[]
}

/**
 * The objects of a list, as they were at one version; not selected yet.
 * @throws Refusal 400, 410
 */
export const stateOf = (
  table: Table,
  target: Target,
  chosen: Chosen,
  options: ListOptions,
): State => {
  const token = options.token === '' ? undefined : decodeToken(options.token)
  const wanted = token === undefined ? exactVersion(options) : token.version
  // Version 0 in a token continues with the present state.
  const isPast = wanted !== undefined && wanted > 0
  const version = isPast ? wanted : table.versions.newest
  const all = isPast ? stateAt(table, target, version, token) : present(table, target, chosen)
  return { version, records: token === undefined ? all : all.slice(after(all, token.after)) }
}

/** The state's objects within the selection. An abort ends it early. */
export const select = async (
  { version, records }: State,
  { selection }: Chosen,
  signal: AbortSignal,
): Promise<State> => {
  if (selection === undefined) return { version, records }
  const selected: Stored[] = []
  for (let at = 0; at < records.length; at += PER_TURN) {
    if (at > 0) await turn()
    if (signal.aborted) break
    for (const record of records.slice(at, at + PER_TURN))
      if (selection(record, () => readLabels(record.raw))) selected.push(record)
  }
  return { version, records: selected }
}

/** A page of what was selected, or all of it; nothing is encoded yet. */
export const pageOf = (
  { version, records }: State,
  { isSelective }: Chosen,
  options: ListOptions,
): Page => {
  // With version 0 any state may be served, and kube-apiserver's cache does not page then either.
  const limit = options.version === 0 && options.match === '' ? 0 : options.limit
  if (limit === 0 || records.length <= limit)
    return { records, version, continue: '', remaining: undefined }
  const page = records.slice(0, limit)
  return {
    records: page,
    version,
    continue: encodeToken({ version, after: page.at(-1)!.key }),
    remaining: isSelective ? undefined : records.length - limit,
  }
}

/** The index after a key. */
const after = (records: readonly Stored[], key: string): number => {
  const place = lowerBound(
    records.map(record => record.key),
    key,
  )
  return records[place]?.key === key ? place + 1 : place
}
