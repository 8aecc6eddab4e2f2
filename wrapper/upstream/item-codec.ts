// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError, KubeUnreachableError, reasonOf } from '../../core/errors.js'
import {
  BrokenStreamError,
  type Codec,
  type EventReader,
  type Page,
  type ReadRefusal,
  type TypedBody,
} from '../../kube/client/codec.js'
import { LineReader, parseJsonPage } from '../../kube/client/json-codec.js'
import { watchError } from '../../kube/client/status-error.js'
import { rawKey, type WatchEvent } from '../../kube/client/watch-event.js'
import type { Item } from '../store/item.js'
import type { Row } from '../store/resources.js'
import { checkReadable } from '../store/readable.js'
import { openEnvelope, splitList, type Opened } from '../wire/envelope.js'
import { FrameReader, type Frame } from '../wire/frames.js'
import { fromJson } from '../wire/from-json.js'
import type { JsonMap } from '../wire/kinds.js'
import { readMeta, type Meta } from '../wire/meta.js'
import { toJson } from '../wire/to-json.js'
import { WireError } from '../wire/wire-error.js'

/** An object before it is decoded: protobuf, as a view into the response's buffer, or JSON from a server without protobuf. */
export type RawObject =
  | { readonly kind: 'bytes'; readonly raw: Uint8Array }
  | { readonly kind: 'json'; readonly value: unknown }

const MAX_FRAME_BYTES = 8 * 1024 * 1024
const ACCEPT = 'application/vnd.kubernetes.protobuf, application/json;q=0.9'

const isProtobuf = (type: string): boolean =>
  type.split(';', 1)[0]!.trim() === 'application/vnd.kubernetes.protobuf'

const keyOf = (namespace: string, name: string): string =>
  namespace === '' ? name : `${namespace}/${name}`

const bytesOf = ({ kind }: Row, object: RawObject): Uint8Array => {
  if (object.kind === 'bytes') return object.raw
  const { value } = object
  if (typeof value !== 'object' || value === null)
    throw new InvalidInputError(kind, 'must be an object', typeof value)
  return fromJson(kind, value as JsonMap)
}

/**
 * Decode an object.
 * @param known the bytes that the store holds under a key: reused when they are equal, so that the new ones are freed
 * @throws WireError, InvalidInputError when it is not an object of the kind
 */
export const itemOf = (
  row: Row,
  object: RawObject,
  known: (key: string) => Uint8Array | undefined,
): Item => {
  const bytes = bytesOf(row, object)
  const { name, namespace, version } = readMeta(bytes)
  if (name === '') throw new InvalidInputError(row.kind, 'must have a name', name)
  checkReadable(row, bytes)
  const key = keyOf(namespace, name)
  const kept = known(key)
  // A copy: a view into a page would keep the whole page in memory.
  const raw = kept !== undefined && Buffer.compare(kept, bytes) === 0 ? kept : ownCopy(bytes)
  return { key, raw, version }
}

const ownCopy = (bytes: Uint8Array): Uint8Array =>
  bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

const metaOf = (row: Row, raw: Uint8Array): Meta => {
  const meta = readMeta(raw)
  if (meta.version === '') throw new BrokenStreamError(`a ${row.kind} without a resourceVersion`)
  return meta
}

/** A Status as JSON has it. @throws WireError */
const statusOf = ({ kind, raw }: Opened): JsonMap => ({ ...toJson('Status', raw), kind })

const eventOf = (row: Row, what: string, { type, body }: Frame): WatchEvent<RawObject> => {
  const opened = openEnvelope(body)
  if (type === 'ERROR') throw watchError(what, statusOf(opened))
  const { raw } = opened
  const { name, namespace, version } = metaOf(row, raw)
  switch (type) {
    case 'BOOKMARK':
      return { type, version }
    case 'DELETED':
      return { type, version, key: keyOf(namespace, name) }
    case 'ADDED':
    case 'MODIFIED':
      return { type, version, object: { kind: 'bytes', raw } }
    default:
      throw new BrokenStreamError('an event of an unknown type')
  }
}

const broken = (error: unknown): unknown =>
  error instanceof WireError ? new BrokenStreamError(reasonOf(error), { cause: error }) : error

class ProtobufReader implements EventReader<RawObject> {
  readonly #frames = new FrameReader(MAX_FRAME_BYTES)
  readonly #row: Row
  readonly #what: string

  constructor(row: Row, what: string) {
    this.#row = row
    this.#what = what
  }

  get pending(): number {
    return this.#frames.pending
  }

  *push(chunk: Buffer): Iterable<WatchEvent<RawObject>> {
    try {
      for (const frame of this.#frames.push(chunk)) yield eventOf(this.#row, this.#what, frame)
    } catch (error) {
      throw broken(error)
    }
  }
}

class JsonReader implements EventReader<RawObject> {
  readonly #lines: LineReader

  constructor(what: string) {
    this.#lines = new LineReader(what)
  }

  get pending(): number {
    return this.#lines.pending
  }

  *push(chunk: Buffer): Iterable<WatchEvent<RawObject>> {
    for (const event of this.#lines.push(chunk)) {
      if (event.type === 'BOOKMARK' || event.type === 'DELETED') yield event
      else yield { ...event, object: { kind: 'json', value: event.object } }
    }
  }
}

const protobufPage = ({ kind }: Row, path: string, bytes: Uint8Array): Page<RawObject> => {
  try {
    const opened = openEnvelope(bytes)
    const list = splitList(opened.raw)
    if (opened.kind === `${kind}List` && list.version !== '')
      return {
        items: list.items.map(raw => ({ kind: 'bytes', raw })),
        version: list.version,
        next: list.continue,
      }
  } catch (error) {
    throw new KubeUnreachableError(`GET ${path}`, reasonOf(error), { cause: error })
  }
  throw new KubeUnreachableError(`GET ${path}`, 'the answer is no list of the Kubernetes API')
}

const jsonPage = ({ kind }: Row, path: string, { bytes }: TypedBody): Page<RawObject> => {
  const page = parseJsonPage(path, bytes.toString('utf8'))
  // KubeEdge's MetaServer writes kinds with fewer capitals.
  if (page.kind !== undefined && page.kind.toLowerCase() !== `${kind}list`.toLowerCase())
    throw new KubeUnreachableError(`GET ${path}`, `the answer is a ${page.kind}, no ${kind}List`)
  return { ...page, items: page.items.map(value => ({ kind: 'json', value })) }
}

const keyOfObject = (object: RawObject): string => {
  if (object.kind === 'json') return rawKey(object.value)
  try {
    const { name, namespace } = readMeta(object.raw)
    return keyOf(namespace, name)
  } catch {
    // Only used to log why the object cannot be read.
    return ''
  }
}

const readRefusal: ReadRefusal = ({ type, bytes }) => {
  if (!isProtobuf(type)) return undefined
  try {
    return statusOf(openEnvelope(bytes))
  } catch (error) {
    return { message: `not readable: ${reasonOf(error)}` }
  }
}

/** Lists and watches of a resource as protobuf, or as JSON from a server without protobuf. */
export const makeItemCodec = (row: Row): Codec<RawObject> => ({
  accept: { list: ACCEPT, watch: ACCEPT },
  parsePage: (path, body) =>
    isProtobuf(body.type) ? protobufPage(row, path, body.bytes) : jsonPage(row, path, body),
  makeReader: (what, type) =>
    isProtobuf(type) ? new ProtobufReader(row, what) : new JsonReader(what),
  readRefusal,
  keyOf: keyOfObject,
})
