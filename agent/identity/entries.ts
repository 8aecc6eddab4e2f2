// SPDX-License-Identifier: Apache-2.0
import { ByteReader, writeVarint } from '../../core/varint.js'
import { LINK_BYTES } from './link-chain.js'
import type { MemberWord, Progress } from './member-word.js'
import { parseStatement, QUARTER_MS, type ReceivedStatement } from './statement.js'

/** What is known of one node's word, as it is passed on. */
export interface KnownWord {
  readonly received: ReceivedStatement
  readonly progress: Progress
  /** When it last stood by it, in our time. */
  readonly madeAt: number
}

/** What is known of a member; undefined before its first statement. */
export const knownOf = (word: MemberWord): KnownWord | undefined =>
  word.received && { received: word.received, progress: word.progress, madeAt: word.madeAt }

/** One piece of news about the member at a place. */
export type Entry =
  /** Later in the slot that is known. */
  | { readonly kind: 'time'; readonly time: number }
  /** In a later slot of the statement that is known. */
  | { readonly kind: 'link'; readonly time: number; readonly link: Uint8Array }
  | {
      readonly kind: 'statement'
      readonly received: ReceivedStatement
      readonly progress: Progress
      /** ms; Infinity when it is not known. */
      readonly age: number
    }

/** Whoever is further behind is sent the statement. */
const DIGEST_MS = 30_000
/** Times travel as one byte: the quarters since 1970, by the clock of the node, modulo this. */
const TIME_STEPS = 256
const DIGEST_STEPS = 255
const AGE_UNKNOWN = 255

const KIND = { time: 0, link: 1, statement: 2 } as const

const timeOf = ({ received, progress }: KnownWord): number =>
  received.statement.time + progress.quarters

/** A remainder that is never negative. */
const modulo = (value: number, steps: number): number => ((value % steps) + steps) % steps

/** One byte that says how much is known of a member: 0 for nothing, or nothing that is of use. */
export const digestOf = (known: KnownWord | undefined, now: number): number =>
  known === undefined || now - known.madeAt > DIGEST_MS
    ? 0
    : modulo(timeOf(known), DIGEST_STEPS) + 1

/**
 * What brings somebody up to date who sent this digest of a member; undefined where it knows as much, or more. A
 * shorter form is chosen only where the other one has the statement that it continues.
 * @param least by how many quarters its knowledge of the same statement must be older
 */
export const newsFor = (
  known: KnownWord,
  digest: number,
  now: number,
  least = 1,
): Entry | undefined => {
  const { received, progress, madeAt } = known
  const { statement } = received
  // What they know is younger than that.
  if (digest !== 0 && now - madeAt > DIGEST_MS) return undefined
  // The time next to ours with that remainder: they may be ahead as well as behind.
  const ahead = modulo(digest - 1 - timeOf(known), DIGEST_STEPS)
  const theirs = timeOf(known) + (ahead > DIGEST_STEPS / 2 ? ahead - DIGEST_STEPS : ahead)
  if (digest === 0 || theirs < statement.time)
    return { kind: 'statement', received, progress, age: Math.max(0, now - madeAt) }
  if (timeOf(known) - theirs < least) return undefined
  const time = modulo(timeOf(known), TIME_STEPS)
  const slot = (quarters: number): number => Math.floor(quarters / statement.slot)
  if (slot(theirs - statement.time) === slot(progress.quarters)) return { kind: 'time', time }
  return { kind: 'link', time, link: progress.link! }
}

/** How far a member has come that is shown at a time, given how far we know it to be: the nearest such time. */
export const quartersAt = (known: KnownWord, time: number): number => {
  const ahead = modulo(time - timeOf(known), TIME_STEPS)
  return known.progress.quarters + (ahead > TIME_STEPS / 2 ? ahead - TIME_STEPS : ahead)
}

/** Bytes that an entry takes at most. */
export const entryBytes = (entry: Entry): number =>
  entry.kind === 'statement'
    ? 5 + 1 + 5 + entry.received.bytes.length + 5 + LINK_BYTES
    : 5 + 1 + LINK_BYTES

/**
 * Writes an entry about a member.
 * @param gap places left out since the last entry, or since the begin
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
      out.set(entry.link, at)
      return at + LINK_BYTES
    case 'statement': {
      const { received, progress, age } = entry
      out[at++] = Math.min(AGE_UNKNOWN, Math.ceil(age / QUARTER_MS))
      at = writeVarint(out, at, received.bytes.length)
      out.set(received.bytes, at)
      at = writeVarint(out, at + received.bytes.length, progress.quarters)
      if (progress.link !== undefined) out.set(progress.link, at)
      return at + (progress.link?.length ?? 0)
    }
  }
}

const readTime = (reader: ByteReader): Entry | undefined => {
  const time = reader.byte()
  return time < 0 ? undefined : { kind: 'time', time }
}

const readLink = (reader: ByteReader, bytes: Uint8Array): Entry | undefined => {
  const time = reader.byte()
  const at = reader.skip(LINK_BYTES)
  return time < 0 || at < 0
    ? undefined
    : { kind: 'link', time, link: bytes.subarray(at, at + LINK_BYTES) }
}

const readStatement = (reader: ByteReader, bytes: Uint8Array): Entry | undefined => {
  const age = reader.byte()
  const length = reader.varint()
  const at = length < 0 ? -1 : reader.skip(length)
  const received = at < 0 ? undefined : parseStatement(bytes.subarray(at, at + length))
  const quarters = reader.varint()
  if (age < 0 || received === undefined || quarters < 0) return undefined
  const isFirstSlot = quarters < received.statement.slot
  const linkAt = isFirstSlot ? 0 : reader.skip(LINK_BYTES)
  if (linkAt < 0) return undefined
  return {
    ...{ kind: 'statement', received },
    age: age === AGE_UNKNOWN ? Infinity : age * QUARTER_MS,
    progress: {
      quarters,
      link: isFirstSlot ? undefined : bytes.subarray(linkAt, linkAt + LINK_BYTES),
    },
  }
}

const readers = [readTime, readLink, readStatement] as const

/**
 * Reads entries to the end of `bytes` and hands each over with its place, in ascending order. Never throws.
 * @param count places that there are
 * @returns whether all of them could be read; what came before the first that could not has been handed over
 */
export const readEntries = (
  bytes: Uint8Array,
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
