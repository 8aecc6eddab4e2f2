// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import t from 'tap'
import { mapOf, texts } from '../../core/map-schema.js'
import { parseWith } from '../../core/parse.js'

t.test('every name is kept, whatever it means to JavaScript', t => {
  const text = '{"a":"1","constructor":"2","prototype":"3","__proto__":"4"}'
  const map = parseWith(texts, 'labels', JSON.parse(text))
  t.equal(JSON.stringify(map), text)
  t.equal(Object.getPrototypeOf(map), Object.prototype)
  t.end()
})

t.test('an error names the path, the rule and the value', t => {
  const schema = v.object({
    labels: texts,
    pool: v.optional(mapOf(v.object({ size: v.number() }))),
  })
  const rows: [value: unknown, message: RegExp][] = [
    [{ labels: { a: 1 } }, /thing: labels\.a must be string.*1/],
    [{ labels: ['a'] }, /thing: labels must be an object/],
    [{ labels: null }, /thing: labels must be an object/],
    [{ labels: {}, pool: { p: { size: 'x' } } }, /thing: pool\.p\.size must be number.*x/],
    [{ labels: {}, pool: { p: {} } }, /thing: pool\.p\.size must be given/],
  ]
  for (const [value, message] of rows)
    t.throws(() => parseWith(schema, 'thing', value), { message })
  t.end()
})
