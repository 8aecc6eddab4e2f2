// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { envelope, listChunks, openEnvelope, splitList } from '../../../wrapper/wire/envelope.js'
import { FrameReader, watchFrame } from '../../../wrapper/wire/frames.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import { JsonSink } from '../../../wrapper/wire/json-sink.js'
import type { Shape } from '../../../wrapper/wire/schema.js'
import { toJson, writeJson } from '../../../wrapper/wire/to-json.js'
import { realBodies as real } from '../real-bodies.js'

for (const { name, json, protobuf } of real.bodies) {
  t.test(`${real.from}: ${name}`, t => {
    const { apiVersion, kind, raw } = openEnvelope(protobuf)
    t.strictSame({ kind, apiVersion, ...toJson(kind as Shape, raw) }, json, 'JSON from protobuf')
    const text = new JsonSink()
    writeJson(text, kind as Shape, raw, `"kind":"${kind}","apiVersion":"${apiVersion}"`)
    t.strictSame(JSON.parse(Buffer.from(text.take()).toString()), json, 'members before its own')
    const written = fromJson(kind as Shape, json)
    t.strictSame(Buffer.from(written), Buffer.from(raw), 'protobuf from JSON, byte for byte')
    t.strictSame(Buffer.from(envelope(apiVersion, kind, written)), protobuf, 'and the whole body')
    t.end()
  })
}

for (const { name, json, protobuf } of real.lists) {
  t.test(`${real.from}: the list of ${name}`, t => {
    const { apiVersion, kind, raw } = openEnvelope(protobuf)
    const list = splitList(raw)
    const shape = kind.replace(/List$/, '') as Shape
    const metadata = {
      ...(list.version === '' ? {} : { resourceVersion: list.version }),
      ...(list.continue === '' ? {} : { continue: list.continue }),
      ...(list.remaining === undefined ? {} : { remainingItemCount: list.remaining }),
    }
    const items = list.items.map(item => toJson(shape, item))
    t.strictSame({ kind, apiVersion, metadata, items }, json, 'JSON from protobuf')
    const written = Buffer.concat([...listChunks({ apiVersion, kind, ...list }, list.items)])
    t.strictSame(written, protobuf, 'the same list, byte for byte')
    t.strictSame(
      list.items.map(item => Buffer.from(item)),
      (json.items ?? []).map(item => Buffer.from(fromJson(shape, item))),
      'and from JSON',
    )
    t.end()
  })
}

for (const { name, events, protobuf } of real.streams) {
  t.test(`${real.from}: a watch of ${name}`, t => {
    const frames = new FrameReader(2 ** 20).push(protobuf)
    const seen = frames.map(({ type, body }) => {
      const { apiVersion, kind, raw } = openEnvelope(body)
      return { type, object: { kind, apiVersion, ...toJson(kind as Shape, raw) } }
    })
    t.equal(events.at(-1)?.type, 'BOOKMARK')
    t.strictSame(seen, events, 'the events of the JSON watch')
    const again = frames.map(({ type, body }) => watchFrame(type, body))
    t.strictSame(Buffer.concat(again), protobuf, 'the same frames, byte for byte')
    t.end()
  })
}
