// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { ByteReader, unzigzag, writeVarint, zigzag } from '../../core/varint.js'
import fc from '../../testkit/properties.js'

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')

t.test('numbers are written lowest seven bits first', t => {
  const rows: [value: number, bytes: string][] = [
    [0, '00'],
    [127, '7f'],
    [128, '80 01'],
    [300, 'ac 02'],
    [2 ** 32, '80 80 80 80 10'],
    [2 ** 35 - 1, 'ff ff ff ff 7f'],
  ]
  for (const [value, bytes] of rows) {
    const out = new Uint8Array(8)
    const end = writeVarint(out, 2, value)
    t.equal(Buffer.from(out.subarray(2, end)).toString('hex'), bytes.replaceAll(' ', ''), bytes)
    const reader = new ByteReader(hex(bytes))
    t.equal(reader.varint(), value, bytes)
    t.ok(reader.isAtEnd, bytes)
  }
  t.end()
})

t.test('every number comes back, of either sign', t => {
  const bound = 2 ** 34 - 1
  fc.assert(
    fc.property(fc.integer({ min: -bound, max: bound }), value => {
      const out = new Uint8Array(5)
      const end = writeVarint(out, 0, zigzag(value))
      const reader = new ByteReader(out.subarray(0, end))
      return unzigzag(reader.varint()) === value && reader.isAtEnd
    }),
  )
  t.strictSame([0, -1, 1, -2, 2].map(zigzag), [0, 1, 2, 3, 4], 'small numbers stay small')
  t.end()
})

t.test('bytes that lie about their length answer -1', t => {
  t.equal(new ByteReader(hex('')).byte(), -1, 'nothing left')
  t.equal(new ByteReader(hex('')).varint(), -1, 'nothing left')
  t.equal(new ByteReader(hex('80 80')).varint(), -1, 'a number that does not end')
  t.equal(new ByteReader(hex('80 80 80 80 80 01')).varint(), -1, 'a number of more than 35 bits')
  const reader = new ByteReader(hex('01 02 03'))
  t.equal(reader.byte(), 1)
  t.equal(reader.skip(3), -1, 'more than there are')
  t.equal(reader.at, 1, 'and nothing was stepped over')
  t.equal(reader.skip(2), 1, 'the place where they begin')
  t.ok(reader.isAtEnd)
  t.end()
})
