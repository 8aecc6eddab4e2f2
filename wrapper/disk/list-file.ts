// SPDX-License-Identifier: Apache-2.0
import { createHash, type Hash } from 'node:crypto'
import type { FileToRead } from './folder.js'

/** An object on disk: the apiserver's own bytes. */
export interface SavedItem {
  readonly key: string
  /** The apiserver's resourceVersion. */
  readonly version: string
  readonly raw: Uint8Array
}

/** All objects of a resource; `absent`: the apiserver does not serve it. */
export type SavedItems = readonly SavedItem[] | 'absent'

/** The last list of one resource. */
export interface SavedList {
  /** When it was written, in epoch ms of the clock at that time. */
  readonly savedAt: number
  readonly items: SavedItems
}

/** A list from disk, or why there is none. */
export type ReadList =
  { readonly ok: true; readonly list: SavedList } | { readonly ok: false; readonly trouble: string }

const MAGIC = 'edge-health list'
const FORMAT = 1
const DIGEST_BYTES = 32
const CHUNK_BYTES = 256 << 10

const sha256 = (): Hash => createHash('sha256')

const u32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const partsOf = ({ key, version, raw }: SavedItem): readonly Uint8Array[] => {
  const name = Buffer.from(key)
  const number = Buffer.from(version)
  return [u32(name.length), name, u32(number.length), number, u32(raw.length), raw]
}

const listed = (items: SavedItems): readonly SavedItem[] => (items === 'absent' ? [] : items)

/** Bytes that the items take in a file. */
export const sizeOf = (items: SavedItems): number =>
  listed(items).reduce(
    (sum, { key, version, raw }) => sum + 12 + key.length + version.length + raw.length,
    0,
  )

/**
 * The content of a list's file, in chunks of some 256 KiB: a header line, the items, and a SHA-256 of both. Chunks
 * share a buffer: use one before taking the next.
 */
export function* listFile(what: string, { savedAt, items }: SavedList): Generator<Uint8Array> {
  const hash = sha256()
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  let used = 0
  const take = function* (part: Uint8Array): Generator<Uint8Array> {
    for (let from = 0; from < part.length;) {
      const taken = Math.min(part.length - from, CHUNK_BYTES - used)
      buffer.set(part.subarray(from, from + taken), used)
      used += taken
      from += taken
      if (used < CHUNK_BYTES) continue
      hash.update(buffer)
      used = 0
      yield buffer
    }
  }
  const count = items === 'absent' ? items : items.length
  yield* take(Buffer.from(`${MAGIC} ${FORMAT} ${what} ${savedAt} ${count}\n`))
  for (const item of listed(items)) for (const part of partsOf(item)) yield* take(part)
  hash.update(buffer.subarray(0, used))
  yield Buffer.concat([buffer.subarray(0, used), hash.digest()])
}

const refuse = (trouble: string): ReadList => ({ ok: false, trouble })

/** No header line is longer. */
const MAX_HEADER = 200
/** More than the apiserver stores in one object. */
const MAX_PART = 16 << 20

/** Reads a file of `listFile` piece by piece, so that no more than its items is in memory. */
class ListReader {
  readonly #size: number
  readonly #hash = sha256()
  readonly #items: SavedItem[] = []
  #head = Buffer.alloc(0)
  #digest = Buffer.alloc(0)
  /** Of the body, what is not read yet; undefined when it cannot be read any further. */
  #rest: Buffer | undefined = Buffer.alloc(0)
  #isInItems = false
  #taken = 0

  /** @param size of the whole file */
  constructor(size: number) {
    this.#size = size
  }

  /** @param piece may be reused afterwards */
  take(piece: Uint8Array): void {
    const body = piece.subarray(0, Math.max(0, this.#size - DIGEST_BYTES - this.#taken))
    this.#head = Buffer.concat([this.#head, piece.subarray(0, MAX_HEADER - this.#head.length)])
    this.#hash.update(body)
    this.#digest = Buffer.concat([this.#digest, piece.subarray(body.length)])
    this.#taken += piece.length
    if (this.#rest !== undefined) this.#read(Buffer.concat([this.#rest, body]))
  }

  end(what: string): ReadList {
    const end = this.#head.indexOf('\n')
    const line = this.#head.toString('latin1', 0, Math.max(0, end))
    const [, format, name, savedAt, count] =
      /^edge-health list (\d{1,6}) ([a-z]+) (\d{1,16}) (\d{1,9}|absent)$/.exec(line) ?? []
    if (!line.startsWith(`${MAGIC} `)) return refuse('it is not a list of ours')
    if (Number(line.slice(MAGIC.length).split(' ')[1]) > FORMAT)
      return refuse('a newer version wrote it')
    if (format === undefined || this.#taken < end + 1 + DIGEST_BYTES)
      return refuse('it is cut off or its first line is damaged')
    if (name !== what) return refuse(`it holds ${name!}`)
    if (!this.#hash.digest().equals(this.#digest)) return refuse('its checksum is wrong')
    const items = this.#itemsOf(count!)
    if (items === undefined) return refuse('its items do not fill it')
    return { ok: true, list: { savedAt: Number(savedAt), items } }
  }

  /** Undefined when there are not so many, or something is behind them. */
  #itemsOf(count: string): SavedItems | undefined {
    if (this.#rest?.length !== 0) return undefined
    if (count === 'absent') return this.#items.length === 0 ? 'absent' : undefined
    return this.#items.length === Number(count) ? this.#items : undefined
  }

  #read(body: Buffer): void {
    let at = 0
    if (!this.#isInItems) {
      at = body.indexOf('\n') + 1
      this.#isInItems = at > 0
    }
    let parts = this.#isInItems ? partsAt(body, at) : undefined
    for (; parts !== undefined && parts !== 'never'; parts = partsAt(body, at)) {
      const { key, version, raw, end } = parts
      // A copy: otherwise one object that stays would keep the whole piece in memory.
      this.#items.push({
        key: key.toString(),
        version: version.toString(),
        raw: new Uint8Array(raw),
      })
      at = end
    }
    const isBroken = parts === 'never' || (!this.#isInItems && body.length > MAX_HEADER)
    this.#rest = isBroken ? undefined : Buffer.from(body.subarray(at))
  }
}

type Parts = Readonly<Record<'key' | 'version' | 'raw', Buffer>> & { readonly end: number }

/** The item there; undefined when its end is still to come, `never` when no item is so long. */
const partsAt = (body: Buffer, start: number): Parts | 'never' | undefined => {
  const parts: Buffer[] = []
  let at = start
  while (parts.length < 3) {
    if (at + 4 > body.length) return undefined
    const length = body.readUInt32BE(at)
    if (length > MAX_PART) return 'never'
    const end = at + 4 + length
    if (end > body.length) return undefined
    parts.push(body.subarray(at + 4, end))
    at = end
  }
  const [key, version, raw] = parts as [Buffer, Buffer, Buffer]
  return { key, version, raw, end: at }
}

/** Read a file of `listFile`: a broken one is a missing list. Rejects only as its pieces do. */
export const readListFile = async (
  what: string,
  { size, pieces }: FileToRead,
): Promise<ReadList> => {
  const reader = new ListReader(size)
  for await (const piece of pieces) reader.take(piece)
  return reader.end(what)
}

/** A digest of the items, independent of their order. */
export const contentOf = (items: SavedItems): string => {
  if (items === 'absent') return items
  const hash = sha256()
  const sorted = [...items].sort((a, b) => (a.key < b.key ? -1 : 1))
  for (const { key, version } of sorted) hash.update(`${key}\0${version}\0`)
  return hash.digest('base64')
}
