// SPDX-License-Identifier: Apache-2.0
import { BYTES, Fields, type Range } from './fields.js'
import { Sink, varintSize } from './sink.js'
import { WireError } from './wire-error.js'

/** What routing, selectors and pruning need of an object's metadata. */
export interface Meta {
  readonly name: string
  /** Empty for what is cluster-wide. */
  readonly namespace: string
  readonly uid: string
  readonly version: string
  readonly labels: ReadonlyMap<string, string>
  readonly annotations: ReadonlyMap<string, string>
}

/** The field number of the metadata, in every kind that has it, lists too. */
const METADATA = 1
const VERSION = 6
const LABELS = 11
const ANNOTATIONS = 12

/** The fields of one text each. */
const TEXTS = new Map<number, 'name' | 'namespace' | 'uid' | 'version'>([
  [1, 'name'],
  [3, 'namespace'],
  [5, 'uid'],
  [VERSION, 'version'],
])

const EMPTY: ReadonlyMap<string, string> = new Map()

/** The entry of a map field. What is absent is empty. */
export const readPair = (entry: Fields): readonly [key: string, value: string] => {
  let key = ''
  let value = ''
  while (entry.next()) {
    if (entry.number === 1) key = entry.text()
    else if (entry.number === 2) value = entry.text()
  }
  return [key, value]
}

/** The whole field that holds the metadata; undefined when the object has none. */
const findMetadata = (raw: Uint8Array): Fields | undefined => {
  const fields = new Fields(raw)
  while (fields.next()) if (fields.number === METADATA) return fields
  return undefined
}

/** Read the metadata of an object. @throws WireError */
export const readMeta = (raw: Uint8Array): Meta => {
  const texts = { name: '', namespace: '', uid: '', version: '' }
  let labels: Map<string, string> | undefined
  let annotations: Map<string, string> | undefined
  const inside = findMetadata(raw)?.inside()
  while (inside?.next() === true) {
    const text = TEXTS.get(inside.number)
    if (text !== undefined) texts[text] = inside.text()
    else if (inside.number === LABELS) (labels ??= new Map()).set(...readPair(inside.inside()))
    else if (inside.number === ANNOTATIONS)
      (annotations ??= new Map()).set(...readPair(inside.inside()))
  }
  return { ...texts, labels: labels ?? EMPTY, annotations: annotations ?? EMPTY }
}

/** The entries of one map of the metadata. */
function* pairsOf(raw: Uint8Array, field: number): Generator<readonly [string, string]> {
  const inside = findMetadata(raw)?.inside()
  while (inside?.next() === true) if (inside.number === field) yield readPair(inside.inside())
}

/** The labels of an object. @throws WireError */
export const readLabels = (raw: Uint8Array): ReadonlyMap<string, string> =>
  new Map(pairsOf(raw, LABELS))

/** One annotation of an object. @throws WireError */
export const readAnnotation = (raw: Uint8Array, key: string): string | undefined =>
  new Map(pairsOf(raw, ANNOTATIONS)).get(key)

interface VersionPlace extends Range {
  /** Of the metadata's content. */
  readonly within: Range
}

/** The place of the version in the metadata, or where it would have to be inserted: fields are in order. */
const placeOfVersion = (metadata: Fields): VersionPlace => {
  const inside = metadata.inside()
  let place: Range | undefined
  let gap = metadata.from
  while (inside.next()) {
    if (inside.number < VERSION) gap = inside.end
    if (inside.number !== VERSION) continue
    if (place !== undefined) throw new WireError('metadata.resourceVersion', 'must be given once')
    place = { start: inside.start, end: inside.end }
  }
  const { start, end } = place ?? { start: gap, end: gap }
  return { start, end, within: { start: metadata.from, end: metadata.end } }
}

/** The object with this `metadata.resourceVersion`, replaced or added; everything else byte for byte. @throws WireError */
export const withVersion = (raw: Uint8Array, version: string): Uint8Array => {
  const field = new Sink().text(VERSION, version).take()
  const metadata = findMetadata(raw)
  if (metadata === undefined)
    return new Sink(raw.length + field.length + 8).bytes(METADATA, field).copy(raw).take()
  const { start, end, within } = placeOfVersion(metadata)
  const length = within.end - within.start - (end - start) + field.length
  const total = raw.length - (metadata.end - metadata.start) + 1 + varintSize(length) + length
  return new Sink(total)
    .copy(raw.subarray(0, metadata.start))
    .varint(METADATA * 8 + BYTES)
    .varint(length)
    .copy(raw.subarray(within.start, start))
    .copy(field)
    .copy(raw.subarray(end))
    .take()
}
