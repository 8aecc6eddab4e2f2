// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { cut, Fields } from '../../../wrapper/wire/fields.js'
import { Sink, varintSize } from '../../../wrapper/wire/sink.js'
import { WireError } from '../../../wrapper/wire/wire-error.js'
import fc from '../../../testkit/properties.js'

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')
const isWireError = { name: 'WireError', code: 'MALFORMED_WIRE' }

t.test('numbers', t => {
  const rows: [why: string, bytes: string, want: number][] = [
    ['one byte', '08 7f', 127],
    ['two bytes', '08 80 01', 128],
    ['four bytes', '08 ff ff ff 7f', 2 ** 28 - 1],
    ['five bytes', '08 80 80 80 80 01', 2 ** 28],
    ['more than 32 bits', '08 ff ff ff ff ff ff ff 0f', 2 ** 53 - 1],
    ['longer than needed', '08 81 80 00', 1],
    ['minus one', '08 ff ff ff ff ff ff ff ff ff 01', -1],
    ['the least int32', '08 80 80 80 80 f8 ff ff ff ff 01', -(2 ** 31)],
    ['the greatest int64, nearly', '08 ff ff ff ff ff ff ff ff 7f', 2 ** 63],
  ]
  for (const [why, bytes, want] of rows) {
    const fields = new Fields(hex(bytes))
    t.equal(fields.next(), true, why)
    t.strictSame([fields.number, fields.integer()], [1, want], why)
    t.equal(fields.next(), false, why)
  }
  t.end()
})

t.test('fields', t => {
  const fields = new Fields(hex('0a 02 68 69  11 0102030405060708  1d 01020304  22 00'))
  t.equal(fields.next(), true)
  t.strictSame([fields.number, fields.text(), fields.content().length], [1, 'hi', 2])
  t.strictSame(Buffer.from(fields.whole()).toString('hex'), '0a026869')
  t.throws(() => fields.integer(), isWireError, 'text is no number')
  t.equal(fields.next(), true, 'eight bytes are stepped over')
  t.strictSame([fields.number, fields.start, fields.end], [2, 4, 13])
  t.throws(() => fields.text(), isWireError, 'a number is no text')
  t.throws(() => fields.content(), isWireError, 'nor bytes')
  t.throws(() => fields.inside(), isWireError, 'nor a message')
  t.equal(fields.next(), true, 'four bytes too')
  t.equal(fields.next(), true)
  t.equal(fields.inside().next(), false, 'an empty message has no fields')
  t.equal(fields.next(), false)
  t.end()
})

t.test('what is no message is refused', t => {
  const rows: [why: string, bytes: string][] = [
    ['a tag without a number', '00'],
    ['a number beyond 2^29', '80 80 80 80 10 00'],
    ['a negative tag', 'f8 ff ff ff ff ff ff ff ff 01 00'],
    ['a tag that does not end', '88'],
    ['a number that does not end', '08'],
    ['a long number that does not end', '08 ff ff ff ff ff'],
    ['a number of more than 64 bits', '08 ff ff ff ff ff ff ff ff ff 02'],
    ['a number of eleven bytes', '08 ff ff ff ff ff ff ff ff ff ff 01'],
    ['bytes that end outside', '0a 02 00'],
    ['bytes of a negative length', '0a ff ff ff ff ff ff ff ff ff 01'],
    ['eight bytes that end outside', '09 00'],
    ['four bytes that end outside', '0d 00'],
    ['the beginning of a group', '0b'],
  ]
  for (const [why, bytes] of rows) t.throws(() => new Fields(hex(bytes)).next(), isWireError, why)
  const outer = new Fields(hex('0a 01 0a 01 00'))
  outer.next()
  t.throws(() => outer.inside().next(), isWireError, 'a field of a message ends within it')
  t.end()
})

t.test('what a sink writes is what fields read', t => {
  const sink = new Sink(1)
  sink
    .number(1, -5)
    .text(2, 'ä€𝄞')
    .bytes(3, hex('00ff'))
    .message(4, inside => inside.text(5, 'x'.repeat(20_000)))
  const fields = new Fields(sink.take())
  fields.next()
  t.equal(fields.integer(), -5)
  fields.next()
  t.equal(fields.text(), 'ä€𝄞')
  fields.next()
  t.strictSame([...fields.content()], [0, 255])
  fields.next()
  const inside = fields.inside()
  inside.next()
  t.equal(inside.text(), 'x'.repeat(20_000))
  t.equal(fields.next(), false)

  const integer = fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.nat(300))
  fc.assert(
    fc.property(
      integer,
      fc.string({ unit: 'binary' }),
      fc.integer({ min: 1, max: 2 ** 29 - 1 }),
      (value, text, number) => {
        const sink = new Sink(0).number(number, value).text(number, text)
        const written = sink.take()
        const fields = new Fields(written)
        fields.next()
        const isSame = fields.number === number && fields.integer() === value
        fields.next()
        return isSame && fields.text() === text && !fields.next()
      },
    ),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(
      fc.maxSafeInteger().map(Math.abs),
      value => new Sink(0).varint(value).take().length === varintSize(value),
    ),
  )
  t.end()
})

t.test('a sink that was measured right gives its own memory', t => {
  t.strictSame([...new Sink(3).copy(hex('010203')).take()], [1, 2, 3])
  t.equal(new Sink(3).copy(hex('010203')).take().buffer.byteLength, 3)
  t.equal(
    new Sink(9).copy(hex('010203')).take().buffer.byteLength,
    3,
    'and one that was not, a copy',
  )
  t.end()
})

t.test('pruning bytes', t => {
  const raw = hex('00 01 02 03 04 05')
  const cutHex = (...ranges: [start: number, end: number][]): string =>
    Buffer.from(
      cut(
        raw,
        ranges.map(([start, end]) => ({ start, end })),
      ),
    ).toString('hex')
  t.equal(cut(raw, []), raw, 'nothing: the very same buffer')
  t.equal(cut(raw, [{ start: 2, end: 2 }]), raw, 'an empty range is nothing')
  t.equal(cutHex([0, 1]), '0102030405', 'at the start')
  t.equal(cutHex([5, 6]), '0001020304', 'at the end')
  t.equal(cutHex([1, 2], [2, 3], [4, 5]), '000305', 'side by side')
  t.equal(cutHex([0, 6]), '', 'all of it')
  t.throws(() => cutHex([2, 3], [1, 2]), RangeError, 'in disorder')
  t.throws(() => cutHex([3, 2]), RangeError, 'backwards')
  t.throws(() => cutHex([0, 7]), RangeError, 'outside')
  t.end()
})

t.test('text that is no UTF-8 becomes U+FFFD, and a byte order mark stays', t => {
  for (const [bytes, want] of [
    ['0a 02 61 ff', 'a\uFFFD'],
    ['0a 04 ef bb bf 61', '\uFEFFa'],
  ] as const) {
    const fields = new Fields(new Uint8Array(hex(bytes)))
    fields.next()
    t.equal(fields.text(), want)
  }
  t.ok(new WireError('x', 'must y') instanceof Error)
  t.end()
})
