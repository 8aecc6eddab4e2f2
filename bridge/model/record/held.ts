// SPDX-License-Identifier: Apache-2.0
import type { DownstreamType } from '../route/downstream.js'

/** An object that an edge holds, as far as it has acknowledged. */
export interface Held {
  readonly type: DownstreamType
  /** '' where the object is cluster-wide. */
  readonly namespace: string
  readonly name: string
  /** The acknowledged resourceVersion; '0' when unknown. */
  readonly version: string
  /** A hash of its content, see `printOf`; '' when unknown. */
  readonly print: string
}

/** What an edge holds, by uid. */
export type EdgeRecord = ReadonlyMap<string, Held>

/** How two resourceVersions compare. */
export type VersionOrder = 'different' | 'newer' | 'older' | 'same'

const UINT64 = /^\d{1,20}$/
const MAX_UINT64 = 2n ** 64n - 1n

const numberOf = (version: string): bigint | undefined => {
  if (!UINT64.test(version)) return undefined
  const number = BigInt(version)
  return number <= MAX_UINT64 ? number : undefined
}

/** Compares resourceVersions. Those that are not 64-bit numbers have no order: they are the same or different. */
export const compareVersions = (version: string, than: string): VersionOrder => {
  const [one, other] = [numberOf(version), numberOf(than)]
  if (one === undefined || other === undefined) return version === than ? 'same' : 'different'
  if (one === other) return 'same'
  return one > other ? 'newer' : 'older'
}

/** Type, namespace and name: at most one object has them at a time. */
export type Place = Pick<Held, 'name' | 'namespace' | 'type'>

export const placeOf = ({ type, namespace, name }: Place): string => `${type} ${namespace}/${name}`

/** What must be sent so that an edge holds what the cluster has. */
export interface RecordDifference {
  /** Uids of objects that the edge must remove. Removals are sent first, since another object may have the name now. */
  readonly remove: readonly string[]
  /** Uids of objects that the edge lacks or holds in another state. */
  readonly send: readonly string[]
}

/**
 * Whether content or version are the same. An older version counts as a difference, since the cluster may have been
 * restored from a backup.
 */
export const isSameObject = (held: Held, wanted: Held): boolean =>
  (held.print !== '' && held.print === wanted.print) ||
  compareVersions(wanted.version, held.version) === 'same'

/**
 * The difference between what an edge holds and what the cluster has.
 * @param wanted what it should hold: its Node, its pods, and those ConfigMaps and Secrets that the pods refer to and that
 * the edge was sent or asked for
 */
export const compareRecord = (record: EdgeRecord, wanted: EdgeRecord): RecordDifference => ({
  remove: [...record.keys()].filter(uid => !wanted.has(uid)),
  send: [...wanted].flatMap(([uid, object]) => {
    const held = record.get(uid)
    return held !== undefined && isSameObject(held, object) ? [] : [uid]
  }),
})
