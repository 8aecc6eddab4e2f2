// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { heardAt } from '../heard-node.js'
import { Fields } from '../../../wrapper/wire/fields.js'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import { JsonSink } from '../../../wrapper/wire/json-sink.js'
import { readUnschedulable } from '../../../wrapper/wire/node.js'
import { Sink } from '../../../wrapper/wire/sink.js'
import { toJson, writeJson } from '../../../wrapper/wire/to-json.js'

const jsonText = (raw: Uint8Array): Uint8Array => {
  const json = new JsonSink(256)
  writeJson(json, 'Node', raw)
  return json.take()
}

const YEAR_ZERO = -62_167_219_200

t.test('FW1: a time of any year is written as Go writes it, and read again', t => {
  const rows: [why: string, seconds: number, text: string | null][] = [
    ['the year 0', YEAR_ZERO, '0000-01-01T00:00:00Z'],
    ['before it', YEAR_ZERO - 1, '-0001-12-31T23:59:59Z'],
    ["Go's zero", -62_135_596_800, null],
    ['today', 1_767_225_600, '2026-01-01T00:00:00Z'],
    ['the last year of four digits', 253_402_300_799, '9999-12-31T23:59:59Z'],
    ['the next', 253_402_300_800, '10000-01-01T00:00:00Z'],
    ['beyond Date', 8_640_000_000_001, '275760-09-13T00:00:01Z'],
    ['a leap day long ago', -65_317_838_400, '-0100-02-28T12:00:00Z'],
  ]
  for (const [why, seconds, text] of rows) {
    const { status } = toJson('Node', heardAt('a', seconds)) as {
      status: { conditions: { lastHeartbeatTime: string | null }[] }
    }
    const shown = status.conditions[0]!.lastHeartbeatTime
    t.equal(shown, text, why)
    if (text === null) continue
    const again = toJson(
      'Node',
      fromJson('Node', { status: { conditions: [{ lastHeartbeatTime: text }] } }),
    )
    t.match(again, { status: { conditions: [{ lastHeartbeatTime: text }] } }, `${why}: and back`)
  }
  for (const seconds of [2 ** 62, -(2 ** 62), 2 ** 63 - 2_048])
    t.doesNotThrow(() => toJson('Node', heardAt('a', seconds)))
  t.end()
})

t.test('FW1: deep nesting, repeated and disordered fields, no UTF-8, huge maps', t => {
  const depth = 200_000
  const deep = `${'{"a":'.repeat(depth)}{}${'}'.repeat(depth)}`
  const labels = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`l${i}`, 'x']))
  const rows: [why: string, raw: Uint8Array, want: object][] = [
    [
      'the last of two names, the sum of two specs',
      new Sink()
        .message(2, spec => spec.number(4, 1))
        .message(1, meta => meta.text(1, 'x').text(1, 'y'))
        .message(2, spec => spec.text(1, '10.0.0.0/24'))
        .take(),
      { metadata: { name: 'y' }, spec: { podCIDR: '10.0.0.0/24', unschedulable: true } },
    ],
    [
      'a text that is no UTF-8',
      new Sink().message(1, meta => meta.bytes(1, Uint8Array.of(0x61, 0xff))).take(),
      { metadata: { name: 'a\ufffd' } },
    ],
    [
      'many labels',
      fromJson('Node', { metadata: { name: 'x', labels } }),
      { metadata: { labels } },
    ],
  ]
  for (const [why, raw, want] of rows) t.match(toJson('Node', raw), want, why)
  const nested = new Sink()
    .message(1, meta => meta.message(17, entry => entry.message(7, fields => fields.text(1, deep))))
    .take()
  t.doesNotThrow(() => toJson('Node', nested))
  t.end()
})

t.test('FW17: numbers of 64 bits keep their digits', t => {
  for (const digits of ['9223372036854775807', '-9223372036854775808', '9007199254740993', '12']) {
    const raw = fromJson('Node', {
      metadata: { generation: digits.length < 16 ? Number(digits) : digits },
    })
    const text = Buffer.from(jsonText(raw)).toString()
    t.match(text, `"generation":${digits}`, digits)
  }
  t.throws(() => fromJson('Node', { metadata: { generation: '9223372036854775808' } }), /64 bits/)
  t.throws(() => fromJson('Node', { metadata: { generation: '12' } }), /whole number/)
  t.end()
})

t.test('FW1: one field is read without the rest, which may be broken', t => {
  const spec = (isSo: number) =>
    new Sink()
      .message(1, meta => meta.message(17, entry => entry.message(7, of => of.text(1, '{'))))
      .message(2, inside => inside.text(1, '10.0.0.0/24').number(4, isSo))
      .take()
  t.equal(readUnschedulable(spec(1)), true)
  t.equal(readUnschedulable(spec(0)), false)
  t.equal(readUnschedulable(new Uint8Array(0)), false)
  t.end()
})

t.test('FW17: digits of a field whose tag takes two bytes', t => {
  const field = new Fields(new Sink().long(16, -(2n ** 63n)).take())
  t.ok(field.next())
  t.equal(field.decimal(), '-9223372036854775808')
  t.end()
})

t.test('FW1: fields out of order with lists; a time that is not text', t => {
  const raw = new Sink()
    .message(1, meta =>
      meta
        .message(11, entry => entry.text(1, 'a').text(2, 'b'))
        .text(1, 'x')
        .message(11, entry => entry.text(1, 'c').text(2, 'd')),
    )
    .take()
  t.match(toJson('Node', raw), { metadata: { name: 'x', labels: { a: 'b', c: 'd' } } })
  const status = { conditions: [{ lastHeartbeatTime: 5 }] }
  t.throws(() => fromJson('Node', { status }), /must be a time/)
  t.end()
})
