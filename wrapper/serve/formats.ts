// SPDX-License-Identifier: Apache-2.0
import type { Refusal } from '../../kube/server/status.js'
import { statusBody } from '../../kube/server/status.js'
import type { Row } from '../store/resources.js'
import { envelope, envelopeWriter, listChunks } from '../wire/envelope.js'
import { watchFrameOf } from '../wire/frames.js'
import { fromJson } from '../wire/from-json.js'
import { JsonSink } from '../wire/json-sink.js'
import { writeJson } from '../wire/to-json.js'
import { asV1beta1 } from '../wire/v1beta1.js'
import { JSON_TYPE, PROTOBUF_TYPE } from './accept.js'

/** The fields of a list apart from its items. */
export interface PageHead {
  readonly version: number
  /** Empty on the last page. */
  readonly continue: string
  readonly remaining: number | undefined
}

/** An encoding, and the API version in which objects are encoded. */
export interface Format {
  /** Equal for formats that produce the same bytes. */
  readonly id: string
  readonly type: string
  readonly streamType: string
  object(bytes: Uint8Array): Uint8Array
  /** @param items is iterated twice, so that nothing is kept */
  list(head: PageHead, items: Iterable<Uint8Array>): Iterable<Uint8Array>
  event(type: string, bytes: Uint8Array): Uint8Array
  /** The last event of a watch. */
  error(refusal: Refusal): Uint8Array
  refusal(refusal: Refusal): Uint8Array
}

const text = new TextEncoder()
const NEWLINE = text.encode('\n')
const jsonOf = (value: unknown): string => JSON.stringify(value)

const isBeta = (apiVersion: string): boolean => apiVersion.endsWith('/v1beta1')

/** Estimated size: JSON is about three times as long, but hardly longer where there is much text. */
const jsonCapacity = (bytes: number): number => Math.min(3 * bytes, bytes + (64 << 10)) + 256

const jsonFormat = ({ kind }: Row, apiVersion: string): Format => {
  const beta = isBeta(apiVersion)
  const shape = beta ? 'EndpointSliceV1beta1' : kind
  const type = `"kind":${jsonOf(kind)},"apiVersion":${jsonOf(apiVersion)}`
  const sinkFor = (raw: Uint8Array): JsonSink => new JsonSink(jsonCapacity(raw.length))
  const write = (json: JsonSink, raw: Uint8Array, first: string): JsonSink => {
    writeJson(json, shape, beta ? asV1beta1(raw) : raw, first)
    return json
  }
  const line = (value: object): Uint8Array => text.encode(`${jsonOf(value)}\n`)
  return {
    id: `json ${apiVersion}`,
    type: JSON_TYPE,
    streamType: JSON_TYPE,
    object: raw => write(sinkFor(raw), raw, type).copy(NEWLINE).take(),
    *list(head, items) {
      const metadata = {
        resourceVersion: String(head.version),
        ...(head.continue === '' ? {} : { continue: head.continue }),
        ...(head.remaining === undefined ? {} : { remainingItemCount: head.remaining }),
      }
      const start = jsonOf({ kind: `${kind}List`, apiVersion, metadata })
      let before = `${start.slice(0, -1)},"items":[`
      for (const raw of items) {
        yield text.encode(before)
        yield write(sinkFor(raw), raw, '').take()
        before = ','
      }
      yield text.encode(before === ',' ? ']}\n' : `${before}]}\n`)
    },
    event: (event, raw) => {
      const json = sinkFor(raw).open('{').key('"type":').value(event).key('"object":')
      return write(json, raw, type).close('}').copy(NEWLINE).take()
    },
    error: refusal => line({ type: 'ERROR', object: statusBody(refusal) }),
    refusal: refusal => line(statusBody(refusal)),
  }
}

const statusBytes = (refusal: Refusal): Uint8Array => fromJson('Status', statusBody(refusal))

const protobufFormat = ({ kind }: Row, apiVersion: string): Format => {
  const item = isBeta(apiVersion) ? asV1beta1 : (bytes: Uint8Array): Uint8Array => bytes
  const object = (bytes: Uint8Array): Uint8Array => envelope(apiVersion, kind, item(bytes))
  return {
    id: `protobuf ${apiVersion}`,
    type: PROTOBUF_TYPE,
    streamType: `${PROTOBUF_TYPE};stream=watch`,
    object,
    list(head, items) {
      const own = { ...head, version: String(head.version), apiVersion, kind: `${kind}List` }
      return listChunks(own, isBeta(apiVersion) ? converted(items) : items)
    },
    event: (type, bytes) => watchFrameOf(type, envelopeWriter(apiVersion, kind, item(bytes))),
    error: refusal => watchFrameOf('ERROR', envelopeWriter('v1', 'Status', statusBytes(refusal))),
    refusal: refusal => envelope('v1', 'Status', statusBytes(refusal)),
  }
}

/** Can be iterated more than once, like its source. */
const converted = (items: Iterable<Uint8Array>): Iterable<Uint8Array> => ({
  *[Symbol.iterator]() {
    for (const bytes of items) yield asV1beta1(bytes)
  },
})

/** The format for a resource. */
export const makeFormat = (encoding: 'json' | 'protobuf', row: Row, apiVersion: string): Format =>
  encoding === 'json' ? jsonFormat(row, apiVersion) : protobufFormat(row, apiVersion)

/** Annotation of the bookmark that ends the initial state of a watch. */
export const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'

/** The object of a bookmark: a resourceVersion and nothing else. */
export const bookmarkBytes = (row: Row, version: number, endsInitial: boolean): Uint8Array =>
  fromJson(row.kind, {
    metadata: {
      resourceVersion: String(version),
      ...(endsInitial ? { annotations: { [INITIAL_EVENTS_END]: 'true' } } : {}),
    },
  })
