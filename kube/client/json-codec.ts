// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError, KubeUnreachableError, reasonOf, show } from '../../core/errors.js'
import { BrokenStreamError, type Codec, type EventReader, type Page } from './codec.js'
import { parseExactJson } from '../../core/exact-json.js'
import { LineCutter } from './lines.js'
import {
  objectEvent,
  parseWatchLine,
  rawKey,
  type RawEvent,
  type WatchEvent,
} from './watch-event.js'

const MAX_LINE_BYTES = 8 * 1024 * 1024

/** @throws KubeUnreachableError for text that is not JSON. */
export const parseJson = (path: string, text: string): unknown => {
  try {
    return parseExactJson(text)
  } catch (cause) {
    throw new KubeUnreachableError(`GET ${path}`, 'the answer is not JSON', { cause })
  }
}

/** A Table and an object have metadata, too, and no items. */
const isList = (kind: unknown, version: string, items: unknown): kind is string | undefined =>
  kind === undefined
    ? version !== '' && Array.isArray(items)
    : typeof kind === 'string' && kind.endsWith('List') && (version !== '' || Array.isArray(items))

/**
 * Parse a list. KubeEdge's MetaServer answers without the cloud from what it keeps: such a list has no version, and a kind
 * such as `ConfigmapList`. Anything else with metadata, such as a Table or an object, must not pass as an empty list.
 * @throws KubeUnreachableError when it is not one
 */
export const parseJsonPage = (path: string, text: string): Page<unknown> => {
  const { items, kind, metadata } = (parseJson(path, text) ?? {}) as {
    items?: unknown
    kind?: unknown
    metadata?: { resourceVersion?: unknown; continue?: unknown }
  }
  const version = metadata?.resourceVersion ?? ''
  // Go writes an empty list as null in places.
  const list = items ?? []
  if (typeof version !== 'string' || !Array.isArray(list) || !isList(kind, version, items))
    throw new KubeUnreachableError(
      `GET ${path}`,
      `the answer is no list of the Kubernetes API, its kind is ${show(kind)}`,
    )
  const next = metadata?.continue
  return {
    items: list,
    version,
    next: typeof next === 'string' ? next : '',
    ...(kind === undefined ? {} : { kind }),
  }
}

/** Reads a watch that is written as lines of JSON. */
export class LineReader implements EventReader<unknown> {
  readonly #cutter = new LineCutter(MAX_LINE_BYTES)
  readonly #what: string
  readonly #read: (raw: RawEvent) => WatchEvent | undefined

  /** @param read for events that are not plain objects; undefined leaves an event to `objectEvent`. */
  constructor(what: string, read: (raw: RawEvent) => WatchEvent | undefined = () => undefined) {
    this.#what = what
    this.#read = read
  }

  get pending(): number {
    return this.#cutter.pending
  }

  *push(chunk: Buffer): Iterable<WatchEvent> {
    try {
      for (const line of this.#cutter.push(chunk)) yield this.#parse(line)
    } catch (error) {
      throw error instanceof RangeError ? new BrokenStreamError(error.message) : error
    }
  }

  #parse(line: string): WatchEvent {
    try {
      const raw = parseWatchLine(this.#what, line)
      return this.#read(raw) ?? objectEvent(raw)
    } catch (error) {
      if (error instanceof InvalidInputError)
        throw new BrokenStreamError(`watch of ${this.#what}: ${reasonOf(error)}`)
      throw error
    }
  }
}

/** JSON, which every server speaks. */
export const jsonCodec: Codec<unknown> = {
  accept: { list: 'application/json', watch: 'application/json' },
  parsePage: (path, { bytes }) => parseJsonPage(path, bytes.toString('utf8')),
  makeReader: what => new LineReader(what),
  keyOf: rawKey,
}

const metadataType = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1`

/** As `jsonCodec`, but of each object the metadata alone. */
export const metadataCodec: Codec<unknown> = {
  ...jsonCodec,
  accept: {
    list: metadataType('PartialObjectMetadataList'),
    watch: metadataType('PartialObjectMetadata'),
  },
}
