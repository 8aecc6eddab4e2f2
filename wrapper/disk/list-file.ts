// SPDX-License-Identifier: Apache-2.0
import { createHash, type Hash } from 'node:crypto'

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

/** Items of a body with a valid digest; undefined when they do not fill it exactly. */
const readItems = (body: Buffer, count: number): readonly SavedItem[] | undefined => {
  const items: SavedItem[] = []
  let at = 0
  const next = (): Buffer | undefined => {
    if (at + 4 > body.length) return undefined
    const end = at + 4 + body.readUInt32BE(at)
    if (end > body.length) return undefined
    const part = body.subarray(at + 4, end)
    at = end
    return part
  }
  while (items.length < count) {
    const [key, version, raw] = [next(), next(), next()]
    if (key === undefined || version === undefined || raw === undefined) return undefined
    // A copy: otherwise one object that stays would keep the whole file in memory.
    items.push({ key: key.toString(), version: version.toString(), raw: new Uint8Array(raw) })
  }
  return at === body.length ? items : undefined
}

/** Read a file of `listFile`. Never throws: a broken file is a missing list. */
export const readListFile = (what: string, bytes: Buffer): ReadList => {
  const end = bytes.indexOf('\n')
  const line = bytes.toString('latin1', 0, Math.max(0, Math.min(end, 200)))
  const [, format, name, savedAt, count] =
    /^edge-health list (\d{1,6}) ([a-z]+) (\d{1,16}) (\d{1,9}|absent)$/.exec(line) ?? []
  if (!line.startsWith(`${MAGIC} `)) return refuse('it is not a list of ours')
  if (Number(line.slice(MAGIC.length).split(' ')[1]) > FORMAT)
    return refuse('a newer version wrote it')
  if (format === undefined || bytes.length < end + 1 + DIGEST_BYTES)
    return refuse('it is cut off or its first line is damaged')
  if (name !== what) return refuse(`it holds ${name!}`)
  const body = bytes.subarray(0, -DIGEST_BYTES)
  if (!sha256().update(body).digest().equals(bytes.subarray(-DIGEST_BYTES)))
    return refuse('its checksum is wrong')
  const isAbsent = count === 'absent'
  const items = readItems(body.subarray(end + 1), isAbsent ? 0 : Number(count))
  if (items === undefined) return refuse('its items do not fill it')
  return { ok: true, list: { savedAt: Number(savedAt), items: isAbsent ? 'absent' : items } }
}

/** A digest of the items, independent of their order. */
export const contentOf = (items: SavedItems): string => {
  if (items === 'absent') return items
  const hash = sha256()
  const sorted = [...items].sort((a, b) => (a.key < b.key ? -1 : 1))
  for (const { key, version } of sorted) hash.update(`${key}\0${version}\0`)
  return hash.digest('base64')
}
