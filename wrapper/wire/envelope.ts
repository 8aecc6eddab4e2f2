// SPDX-License-Identifier: Apache-2.0
import { BYTES, Fields } from './fields.js'
import { Sink, varintSize } from './sink.js'
import { WireError } from './wire-error.js'

/** A body that begins with `k8s\0`, opened: `raw` is a part of it, not a copy. */
export interface Opened {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
}

/** A list's own fields. */
export interface ListHead {
  readonly version: string
  /** Empty on the last page. */
  readonly continue: string
  readonly remaining: number | undefined
}

export interface SplitList extends ListHead {
  /** Parts of the body, not copies: each keeps the whole body alive. */
  readonly items: readonly Uint8Array[]
}

export interface ListChunkHead extends ListHead {
  readonly apiVersion: string
  /** Of the list: `EndpointSliceList`. */
  readonly kind: string
}

const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00)
const EMPTY = new Uint8Array(0)

// runtime.Unknown
const TYPE_META = 1
const RAW = 2
const CONTENT_ENCODING = 3
const CONTENT_TYPE = 4
// Every list
const LIST_META = 1
const ITEM = 2

const typeMeta = (apiVersion: string, kind: string): Uint8Array =>
  new Sink(64).text(1, apiVersion).text(2, kind).take()

/** The bytes after the object: Go writes both strings although they are empty. */
const TAIL = new Sink(4).bytes(CONTENT_ENCODING, EMPTY).bytes(CONTENT_TYPE, EMPTY).take()

/** Writes a whole `k8s\0` body around one object; its size is known beforehand. */
export interface BodyWriter {
  readonly size: number
  readonly write: (sink: Sink) => Sink
}

export const envelopeWriter = (apiVersion: string, kind: string, raw: Uint8Array): BodyWriter => {
  const type = typeMeta(apiVersion, kind)
  const object = 1 + varintSize(raw.length) + raw.length
  return {
    size: MAGIC.length + 2 + type.length + object + TAIL.length,
    write: sink => sink.copy(MAGIC).bytes(TYPE_META, type).bytes(RAW, raw).copy(TAIL),
  }
}

/** A whole `k8s\0` body around one object. */
export const envelope = (apiVersion: string, kind: string, raw: Uint8Array): Uint8Array => {
  const { size, write } = envelopeWriter(apiVersion, kind, raw)
  return write(new Sink(size)).take()
}

/** Open a whole body. @throws WireError */
export const openEnvelope = (bytes: Uint8Array): Opened => {
  if (bytes.length < MAGIC.length || MAGIC.some((byte, at) => bytes[at] !== byte))
    throw new WireError('protobuf body', 'must begin with k8s and a zero byte')
  let apiVersion = ''
  let kind = ''
  let raw: Uint8Array = EMPTY
  const fields = new Fields(bytes, MAGIC.length)
  while (fields.next()) {
    if (fields.number === RAW) raw = fields.content()
    else if (fields.number === CONTENT_ENCODING && fields.text() !== '')
      throw new WireError('protobuf body', 'must not be encoded once more')
    else if (fields.number === TYPE_META) {
      const type = fields.inside()
      while (type.next()) {
        if (type.number === 1) apiVersion = type.text()
        else if (type.number === 2) kind = type.text()
      }
    }
  }
  return { apiVersion, kind, raw }
}

const readListMeta = (meta: Fields): ListHead => {
  const head = { version: '', continue: '', remaining: undefined as number | undefined }
  while (meta.next()) {
    if (meta.number === 2) head.version = meta.text()
    else if (meta.number === 3) head.continue = meta.text()
    else if (meta.number === 4) head.remaining = meta.integer()
  }
  return head
}

/** Read a list: the bytes inside its envelope (`openEnvelope(body).raw`). @throws WireError */
export const splitList = (raw: Uint8Array): SplitList => {
  const items: Uint8Array[] = []
  let head: ListHead = { version: '', continue: '', remaining: undefined }
  const fields = new Fields(raw)
  while (fields.next()) {
    if (fields.number === ITEM) items.push(fields.content())
    else if (fields.number === LIST_META) head = readListMeta(fields.inside())
  }
  return { ...head, items }
}

const listMeta = (head: ListHead): Uint8Array => {
  const meta = new Sink(64).bytes(1, EMPTY).text(2, head.version).text(3, head.continue)
  if (head.remaining !== undefined) meta.number(4, head.remaining)
  return meta.take()
}

const itemSize = ({ length }: Uint8Array): number => 1 + varintSize(length) + length

/**
 * The whole `k8s\0` body of a list, in pieces: small ones of our own, and the items themselves, uncopied. The items are
 * iterated twice, first for their sizes, so that they need not all be in memory at once.
 */
export function* listChunks(
  head: ListChunkHead,
  items: Iterable<Uint8Array>,
): Generator<Uint8Array, void, undefined> {
  // The total length precedes the first item.
  const meta = listMeta(head)
  let size = itemSize(meta)
  for (const item of items) size += itemSize(item)
  yield new Sink(256)
    .copy(MAGIC)
    .bytes(TYPE_META, typeMeta(head.apiVersion, head.kind))
    .varint(RAW * 8 + BYTES)
    .varint(size)
    .bytes(LIST_META, meta)
    .take()
  for (const item of items) {
    yield new Sink(1 + varintSize(item.length))
      .varint(ITEM * 8 + BYTES)
      .varint(item.length)
      .take()
    yield item
  }
  yield TAIL
}
