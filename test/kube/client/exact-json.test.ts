// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parseExactJson } from '../../../kube/client/exact-json.js'
import fc from '../../../testkit/properties.js'

t.test('FW17: whole numbers that JavaScript would round come as text', t => {
  const rows: [text: string, want: unknown][] = [
    ['{"a":9223372036854775807}', { a: '9223372036854775807' }],
    ['[-9223372036854775808, 1]', ['-9223372036854775808', 1]],
    ['{"a": 1234567890123456}', { a: '1234567890123456' }],
    ['{"a":123456789012345}', { a: 123_456_789_012_345 }],
    [
      '{"a":"x\\",:9223372036854775807","b":9223372036854775807}',
      { a: 'x",:9223372036854775807', b: '9223372036854775807' },
    ],
  ]
  for (const [text, want] of rows) t.strictSame(parseExactJson(text), want, text)
  for (const text of [
    '{"a":1234567890123456.5,"b":0.1234567890123456789}',
    '{"a":12345678901234567e2}',
  ])
    t.strictSame(parseExactJson(text), JSON.parse(text), text)
  t.throws(() => parseExactJson('{"a":9223372036854775807'), SyntaxError)
  t.end()
})

t.test('everything else is as JSON.parse has it', t => {
  fc.assert(
    fc.property(
      fc.json().filter(text => !/\d{16}/.test(text)),
      text => {
        t.strictSame(parseExactJson(`{"a":[${text}]}`), JSON.parse(`{"a":[${text}]}`))
      },
    ),
    { numRuns: 300 },
  )
  t.end()
})
