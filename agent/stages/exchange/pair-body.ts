// SPDX-License-Identifier: Apache-2.0
import type { RecordTable } from '../../records/table.js'
import type { BodyOrder } from './body.js'
import type { BodyWriter } from './body-writer.js'
import { writeSignedBody, type NewsEntry, type SignedBody } from './signed-body.js'
import type { Statements } from './statements.js'

/** What is sent to a peer, in the form of its protocol. */
export interface BodyFor {
  readonly bytes: Buffer
  /** For the header. */
  readonly count: number
  /** What the peer knows after it has accepted the message. */
  readonly entries: readonly NewsEntry[]
}

interface Sources {
  readonly table: RecordTable
  readonly statements: Statements
  readonly writer: BodyWriter
  readonly now: number
}

const NOTHING = new Uint8Array(0)

/** For a peer with another roster: members are named by id, all of them when the body has a digest of each. */
const writeByName = (
  head: SignedBody,
  news: readonly NewsEntry[],
  { roster: { members }, self }: RecordTable,
  isAsking: boolean,
): ReturnType<typeof writeSignedBody> => {
  const named = isAsking ? members.map((_, index) => index) : news.map(({ place }) => place)
  const ids = named.map(index => members[index]!.id)
  const entries = isAsking ? news : news.map((entry, place) => ({ ...entry, place }))
  const { bytes, written } = writeSignedBody({ ...head, ids }, entries, named.indexOf(self))
  return { bytes, written: written.map(entry => ({ ...entry, place: named[entry.place]! })) }
}

/**
 * A body for a peer with which we have the keys of a pair.
 * @param isAsking say what we know, so that the peer answers with the rest
 */
export const bodyOfPair = (
  { table, statements, writer, now }: Sources,
  order: BodyOrder,
  news: readonly NewsEntry[],
  isAsking: boolean,
): BodyFor => {
  const isSigned = (index: number): boolean => index === table.self || statements.isSigned(index)
  const isEmpty = order.isEmpty === true || statements.areAllSigned()
  const shared = writer.encode({ ...order, isEmpty, leaveOut: isSigned }, now)
  const head = { shared, ids: undefined, digest: isAsking ? statements.news.digest() : NOTHING }
  const { bytes, written } = order.sparse
    ? writeByName(head, news, table, isAsking)
    : writeSignedBody(head, news, table.self)
  return { bytes, count: isEmpty ? 0 : table.size, entries: written }
}
