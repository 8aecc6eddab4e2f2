// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parseExactJson, writeExactJson } from '../../core/exact-json.js'
import fc from '../../testkit/properties.js'

const copy = (text: string): string => writeExactJson(parseExactJson(text))

t.test('FW17: whole numbers that JavaScript would round are written as they were read', t => {
  for (const text of [
    '{"a":9223372036854775807}',
    '[-9223372036854775808,1]',
    '{"a":1234567890123456,"b":123456789012345}',
    '{"a":{"b":[18446744073709551615,[123456789012345678901234567890]]}}',
    '{"a":"x\\",:9223372036854775807","b":9223372036854775807,"c":"9223372036854775807"}',
    '9007199254740993123',
  ])
    t.equal(copy(text), text)
  t.equal(copy('{"a": 9223372036854775807 }'), '{"a":9223372036854775807}')
  for (const text of [
    '{"a":1234567890123456.5,"b":0.1234567890123456789}',
    '{"a":12345678901234567e2}',
  ])
    t.strictSame(parseExactJson(text), JSON.parse(text), text)
  t.throws(() => parseExactJson('{"a":9223372036854775807'), SyntaxError)
  t.end()
})

t.test('they are no numbers in between, and keep no text from being one', t => {
  const { a } = parseExactJson('{"a":9223372036854775807}') as { a: unknown }
  t.type(a, 'string')
  t.equal(writeExactJson({ a, b: [a] }), '{"a":9223372036854775807,"b":[9223372036854775807]}')
  t.equal(writeExactJson({ error: `must be short, got ${JSON.stringify(a)}` }), '{"error":"must be short, got \\"9223372036854775807\\""}', 'how they are kept is told to nobody') // prettier-ignore
  t.end()
})

t.test('a text that never ends costs no more than its length', t => {
  const text = `[1234567890123456,"${'\\"'.repeat(2 << 20)}`
  t.throws(() => parseExactJson(text), SyntaxError)
  t.end()
})

t.test('everything else is as JSON.parse and JSON.stringify have it', t => {
  fc.assert(
    fc.property(
      fc.json().filter(text => !/\d{16}/.test(text)),
      text => {
        t.strictSame(parseExactJson(`{"a":[${text}]}`), JSON.parse(`{"a":[${text}]}`))
        t.equal(copy(text), JSON.stringify(JSON.parse(text)))
      },
    ),
    { numRuns: 300 },
  )
  t.end()
})
