// SPDX-License-Identifier: Apache-2.0
import { ByteReader, writeVarint } from '../../core/varint.js'
import { LINK_BYTES } from './link-chain.js'
import type { MemberStatement, Progress } from './member-statement.js'
import { parseStatement, QUARTER_MS, type ReceivedStatement } from './statement.js'

/** One node's newest statement and how far its links go, as they are passed on. */
export interface KnownStatement {
  readonly received: ReceivedStatement
  readonly progress: Progress
  /** When the node last proved that the statement still holds, by `Clock.now` here. */
  readonly madeAt: number
}

const isKnown = (latest: MemberStatement): latest is MemberStatement & KnownStatement =>
  latest.received !== undefined

/** Undefined before the member's first statement. The result is live: it changes as messages are taken in. */
export const knownOf = (latest: MemberStatement): KnownStatement | undefined =>
  isKnown(latest) ? latest : undefined

/** News of one member, in the shortest form that its receiver can read. */
export type Entry =
  /** A later time in the slot that the receiver knows. */
  | { readonly kind: 'time'; readonly time: number }
  /** A later slot of the statement that the receiver knows. */
  | { readonly kind: 'link'; readonly time: number; readonly link: string }
  | {
      readonly kind: 'statement'
      readonly received: ReceivedStatement
      readonly progress: Progress
      /** Milliseconds since the node last proved that the statement holds; Infinity when unknown. */
      readonly age: number
    }

/** Anything older has the digest 0, so that a peer that knows nothing newer is sent the whole statement. */
export const OLDEST_MS = 30_000
/** Times travel as one byte: the quarters since 1970, by the clock of the node, modulo this. */
const TIME_STEPS = 256
export const DIGEST_STEPS = 255
const AGE_UNKNOWN = 255

const KIND = { time: 0, link: 1, statement: 2 } as const

// The remainder is taken before quarters are added: a time is too large for one of V8's small integers, so each sum with it
// would allocate, hundreds of times a second.

/** The time up to which the statement is known to hold, as it is sent. */
const timeByte = ({ received, progress }: KnownStatement): number =>
  ((received.statement.time & (TIME_STEPS - 1)) + progress.quarters) & (TIME_STEPS - 1)

/** The same as a digest, 1 to `DIGEST_STEPS`. */
const digestNow = ({ received, progress }: KnownStatement): number =>
  ((((received.statement.time % DIGEST_STEPS) | 0) + progress.quarters) % DIGEST_STEPS) + 1

/** One byte that says how much is known of a member: 0 for nothing, or nothing recent. */
export const digestOf = (known: KnownStatement | undefined, now: number): number =>
  known === undefined || now - known.madeAt > OLDEST_MS ? 0 : digestNow(known)

/**
 * By how many quarters one digest is behind ours, negative when ahead; neither may be 0. A digest is a remainder: of the
 * times that have it, take the one nearest to ours.
 */
const behindBy = (digest: number, ours: number): number => {
  const behind = (ours - digest + DIGEST_STEPS) % DIGEST_STEPS
  return behind > DIGEST_STEPS / 2 ? behind - DIGEST_STEPS : behind
}

/**
 * Whether a peer this many quarters behind needs an update: it lacks the statement, or is far enough behind within it.
 * @param quarters since the statement's time
 */
const isBehind = (behind: number, quarters: number, least: number): boolean =>
  behind > quarters || behind >= least

/** What counts as news. */
export interface NewsRule {
  /** Quarters by which the peer must be behind within one statement. @default 1 */
  readonly least?: number
  /**
   * Whether the member is this node. Then no peer can be ahead: one that seems to be knows a statement of an earlier run,
   * which was dated by another clock.
   * @default false
   */
  readonly isOwn?: boolean
}

/**
 * What a peer that sent this digest of a member lacks; undefined where it knows as much, or more. A time or a link is
 * chosen only where the peer has the statement that it continues.
 */
export const newsFor = (
  known: KnownStatement,
  digest: number,
  now: number,
  { least = 1, isOwn = false }: NewsRule = {},
): Entry | undefined => {
  const { received, progress, madeAt } = known
  // A digest other than 0 means that the peer knows something younger than this.
  if (digest !== 0 && now - madeAt > OLDEST_MS) return undefined
  const { quarters } = progress
  const nearest = digest === 0 ? Infinity : behindBy(digest, digestNow(known))
  const behind = isOwn && nearest < 0 ? Infinity : nearest
  if (!isBehind(behind, quarters, least)) return undefined
  if (behind > quarters)
    // Of the progress a copy: it changes with what is taken in.
    return {
      kind: 'statement',
      received,
      progress: { ...progress },
      age: Math.max(0, now - madeAt),
    }
  const time = timeByte(known)
  const { slot } = received.statement
  if (Math.floor((quarters - behind) / slot) === Math.floor(quarters / slot))
    return { kind: 'time', time }
  return { kind: 'link', time, link: progress.link! }
}

/** Turns a time that was sent as one byte into quarters since the statement's time: the match nearest to what is known. */
export const quartersAt = (known: KnownStatement, time: number): number => {
  const ahead = (time - timeByte(known)) & (TIME_STEPS - 1)
  return known.progress.quarters + (ahead > TIME_STEPS / 2 ? ahead - TIME_STEPS : ahead)
}

/** Bytes that an entry takes at most. */
export const entryBytes = (entry: Entry): number =>
  entry.kind === 'statement'
    ? 5 + 1 + 5 + entry.received.bytes.length + 5 + LINK_BYTES
    : 5 + 1 + LINK_BYTES

/**
 * Writes an entry about a member.
 * @param gap places left out since the last entry, or since the first place
 * @returns where the next byte goes
 */
export const writeEntry = (out: Buffer, start: number, gap: number, entry: Entry): number => {
  let at = writeVarint(out, start, gap * 4 + KIND[entry.kind])
  switch (entry.kind) {
    case 'time':
      out[at++] = entry.time
      return at
    case 'link':
      out[at++] = entry.time
      return at + out.write(entry.link, at, 'hex')
    case 'statement': {
      const { received, progress, age } = entry
      out[at++] = Math.min(AGE_UNKNOWN, Math.ceil(age / QUARTER_MS))
      at = writeVarint(out, at, received.bytes.length)
      out.set(received.bytes, at)
      at = writeVarint(out, at + received.bytes.length, progress.quarters)
      return progress.link === undefined ? at : at + out.write(progress.link, at, 'hex')
    }
  }
}

const readTime = (reader: ByteReader): Entry | undefined => {
  const time = reader.byte()
  return time < 0 ? undefined : { kind: 'time', time }
}

const linkAt = (bytes: Buffer, at: number): string => bytes.toString('hex', at, at + LINK_BYTES)

const readLink = (reader: ByteReader, bytes: Buffer): Entry | undefined => {
  const time = reader.byte()
  const at = reader.skip(LINK_BYTES)
  return time < 0 || at < 0 ? undefined : { kind: 'link', time, link: linkAt(bytes, at) }
}

const readStatement = (reader: ByteReader, bytes: Buffer): Entry | undefined => {
  const age = reader.byte()
  const length = reader.varint()
  const at = length < 0 ? -1 : reader.skip(length)
  const received = at < 0 ? undefined : parseStatement(bytes.subarray(at, at + length))
  const quarters = reader.varint()
  if (age < 0 || received === undefined || quarters < 0) return undefined
  const isFirstSlot = quarters < received.statement.slot
  const start = isFirstSlot ? 0 : reader.skip(LINK_BYTES)
  if (start < 0) return undefined
  return {
    ...{ kind: 'statement', received },
    age: age === AGE_UNKNOWN ? Infinity : age * QUARTER_MS,
    progress: { quarters, link: isFirstSlot ? undefined : linkAt(bytes, start) },
  }
}

const readers = [readTime, readLink, readStatement] as const

/**
 * Reads entries to the end of `bytes` and hands each over with its place, in ascending order. Never throws.
 * @param count number of places; an entry about a later one is malformed
 * @returns whether all entries could be read; those before the first malformed one were handed over
 */
export const readEntries = (
  bytes: Buffer,
  count: number,
  take: (place: number, entry: Entry) => void,
): boolean => {
  const reader = new ByteReader(bytes)
  let place = -1
  while (!reader.isAtEnd) {
    const head = reader.varint()
    place += Math.floor(head / 4) + 1
    const entry = head < 0 || place >= count ? undefined : readers[head % 4]?.(reader, bytes)
    if (entry === undefined) return false
    take(place, entry)
  }
  return true
}
