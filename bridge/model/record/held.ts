// SPDX-License-Identifier: Apache-2.0
import type { DownstreamType } from '../route/downstream.js'

/** One object that an edge keeps, as far as it has said so. */
export interface Held {
  readonly type: DownstreamType
  /** '' where the object is cluster-wide. */
  readonly namespace: string
  readonly name: string
  /** The resourceVersion that it acknowledged; '0': nobody knows which. */
  readonly version: string
  /** The mark of its content, see `printOf`; '' where nobody knows it. */
  readonly print: string
}

/** What an edge keeps, by uid. */
export type EdgeRecord = ReadonlyMap<string, Held>

/** How one resourceVersion stands to another. */
export type VersionOrder = 'different' | 'newer' | 'older' | 'same'

const UINT64 = /^\d{1,20}$/
const MAX_UINT64 = 2n ** 64n - 1n

const numberOf = (version: string): bigint | undefined => {
  if (!UINT64.test(version)) return undefined
  const number = BigInt(version)
  return number <= MAX_UINT64 ? number : undefined
}

/** How `version` stands to `than`. What is no number of 64 bits has no order: it is the same or it is not. */
export const compareVersions = (version: string, than: string): VersionOrder => {
  const [one, other] = [numberOf(version), numberOf(than)]
  if (one === undefined || other === undefined) return version === than ? 'same' : 'different'
  if (one === other) return 'same'
  return one > other ? 'newer' : 'older'
}

/** What at most one object has at a time. */
export type Place = Pick<Held, 'name' | 'namespace' | 'type'>

export const placeOf = ({ type, namespace, name }: Place): string => `${type} ${namespace}/${name}`

/** What must be sent for an edge to be as the cluster is. */
export interface RecordDifference {
  /** Uids of what it keeps and what is gone, or not for it. These go first: another object may have the name now. */
  readonly remove: readonly string[]
  /** Uids of what it does not keep, or not so. */
  readonly send: readonly string[]
}

/** The same content, or the same version. An older version is no reason to be content: the cluster may have been restored. */
export const isSameObject = (held: Held, wanted: Held): boolean =>
  (held.print !== '' && held.print === wanted.print) ||
  compareVersions(wanted.version, held.version) === 'same'

/**
 * Where an edge differs from the cluster.
 * @param wanted What it should keep, as the cluster has it now: the Node, its pods, the ConfigMaps and Secrets that these
 *   refer to and that the edge was sent or asked for.
 */
export const compareRecord = (record: EdgeRecord, wanted: EdgeRecord): RecordDifference => ({
  remove: [...record.keys()].filter(uid => !wanted.has(uid)),
  send: [...wanted].flatMap(([uid, object]) => {
    const held = record.get(uid)
    return held !== undefined && isSameObject(held, object) ? [] : [uid]
  }),
})
