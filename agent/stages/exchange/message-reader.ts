// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { readEntries } from '../../identity/entries.js'
import type { RecordDraft } from '../../records/record-draft.js'
import { moreOf, type News, type RecordTable } from '../../records/table.js'
import { maxEntries } from './body.js'
import { BodyReader } from './body-reader.js'
import type { PeerKeys } from './peer-keys.js'
import type { PeerState } from './peer-state.js'
import type { PeerList } from './peers.js'
import type { EngineOptions } from './seams.js'
import { readSignedBody, type PlacedEntry, type ReadSignedBody } from './signed-body.js'
import type { Statements } from './statements.js'
import { SPARSE, type Opened } from './wire.js'

/** Ages are rounded: only an unsigned record this much newer than the last signed one is newer for certain. */
const UNSIGNED_MS = 2_000

/** An authenticated message. */
export type Message = Extract<Opened, { ok: true }>

interface Signed extends ReadSignedBody {
  /** By the places of our roster. */
  readonly news: readonly PlacedEntry[]
}

interface MessageReaderStart {
  readonly options: Pick<EngineOptions, 'identity'>
  readonly clock: Clock
  readonly table: RecordTable
  readonly peers: PeerList
  readonly statements: Statements
  readonly keys: PeerKeys
  /** A member whose keys are known seems to send without them. */
  readonly onUnsigned: (peer: PeerState) => void
  /** Called when a message brought something new. */
  readonly onNews: (news: News) => void
}

/** Reads authenticated messages into the table of one roster. */
export class MessageReader {
  readonly #start: MessageReaderStart
  readonly #body: BodyReader

  constructor(start: MessageReaderStart) {
    this.#start = start
    this.#body = new BodyReader(start.table)
  }

  /**
   * Take in what the message says: all of it or, when any of it is malformed, nothing.
   * A dense message about another roster is not malformed, its records just cannot be read.
   * @param asOf an instant before it was made: ages count from then, so nothing is taken to be younger than it is.
   * @returns whom to probe, as roster indices; undefined when malformed.
   */
  take(message: Message, peer: PeerState, asOf: number): readonly number[] | undefined {
    const { header, body } = message
    const { statements, options, table, onNews } = this.#start
    peer.rosterHash = header.membershipHash
    peer.keyId = message.keyId
    if (!this.#body.canRead(header)) return []
    const signed = message.isOfPair ? this.#readSigned(message) : undefined
    if (message.isOfPair && signed === undefined) return undefined
    if (message.isOfPair) {
      statements.endFallback(peer.index)
      peer.lacksOurKeysAt = Infinity
    }
    let said: News | undefined
    // Unsigned records are believed only about members that sign nothing.
    const merge = (draft: RecordDraft): void => {
      if (statements.isSigned(draft.origin)) {
        this.#hearUnsigned(draft)
        return
      }
      const merged = table.merge(draft, draft.origin === peer.index)
      if (merged !== 'old') said = moreOf(said, merged)
    }
    const take = options.identity === 'require' ? undefined : merge
    const head = this.#body.read(header, signed?.shared ?? body, asOf, take)
    if (head === undefined) return undefined
    peer.keySetHash = head.keySetHash
    const news = moreOf(said, signed && this.#takeSigned(signed, peer, asOf))
    if (news !== undefined) onNews(news)
    return head.suspects
  }

  /** A peer passed on an unsigned record of a member that should sign: it may have lost its keys, so it is asked. */
  #hearUnsigned({ origin, producedAt }: RecordDraft): void {
    const { peers, keys, statements, onUnsigned } = this.#start
    const peer = peers[origin]
    if (peer === undefined || !(keys.mayBeLost(peer) || keys.hasLeft(peer))) return
    if (producedAt > statements.signedAt(origin) + UNSIGNED_MS) onUnsigned(peer)
  }

  #takeSigned(signed: Signed, peer: PeerState, asOf: number): News | undefined {
    const { statements, clock } = this.#start
    this.#takeDigest(signed, peer)
    return statements.take(signed.news, peer, clock.now() - asOf)
  }

  /** Undefined when any of it is malformed. */
  #readSigned({ header, body }: Message): Signed | undefined {
    const { size, roster } = this.#start.table
    const signed = readSignedBody(body, header.flags === SPARSE)
    if (signed === undefined) return undefined
    const { ids, digest, entries } = signed
    const count = ids?.length ?? size
    if (count > maxEntries(size) || (digest.length !== 0 && digest.length !== count))
      return undefined
    // A member that is named twice would be verified twice.
    if (ids !== undefined && new Set(ids).size !== ids.length) return undefined
    const news: PlacedEntry[] = []
    const isRead = readEntries(entries, count, (at, entry) => {
      const place = ids === undefined ? at : roster.indexOfId(ids[at]!)
      if (place !== undefined) news.push({ place, entry })
    })
    return isRead ? { ...signed, news } : undefined
  }

  #takeDigest({ ids, digest }: ReadSignedBody, peer: PeerState): void {
    if (digest.length === 0) return
    const { table, statements } = this.#start
    const own = ids === undefined ? digest : new Uint8Array(table.size)
    ids?.forEach((id, at) => {
      const index = table.roster.indexOfId(id)
      if (index !== undefined) own[index] = digest[at]!
    })
    statements.news.noteDigest(peer, own)
  }
}
