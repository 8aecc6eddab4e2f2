// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import fc from '../../../testkit/properties.js'
import { placesInJson } from '../../../wrapper/proxy/json-places.js'

const SOUGHT = { path: ['m', 'v'], value: '12' } as const

/** The text with an x in each place. */
const marked = (text: string): string => {
  let out = ''
  let done = 0
  for (const { start, end } of placesInJson(text, SOUGHT)) {
    out += `${text.slice(done, start)}"x"`
    done = end
  }
  return out + text.slice(done)
}

const words = fc.constantFrom('m', 'v', 'value', 'path', '/m/v', '12', '"', '\\', '\\"', ',{[', '')
const { any } = fc.letrec(tie => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(words, fc.constantFrom(12, null, true)),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(words, tie('any'), { maxKeys: 4 }),
  ),
}))
const operation = fc.record({ value: words, path: words, m: any }, { requiredKeys: [] })
const documents = fc.oneof(
  any,
  fc.array(operation, { maxLength: 4 }),
  fc.record({ m: fc.dictionary(words, any), v: any }),
)

type Thing = Readonly<Record<string, unknown>>

const isThing = (value: unknown): value is Thing =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const replaced = (from: unknown, key: string): unknown =>
  isThing(from) && from[key] === '12' ? { ...from, [key]: 'x' } : from

/** The slow, obvious way. */
const expected = (document: unknown): unknown => {
  if (Array.isArray(document))
    return document.map(each =>
      isThing(each) && each['path'] === '/m/v' ? replaced(each, 'value') : (each as unknown),
    )
  return isThing(document) && 'm' in document
    ? { ...document, m: replaced(document['m'], 'v') }
    : document
}

const escape = (text: string): string =>
  text.replaceAll('v', '\\u0076').replaceAll('"12"', '"1\\u0032"').replaceAll('/m', '\\/m')

t.test('the places are those that a parser finds, however it is written', t => {
  fc.assert(
    fc.property(documents, fc.constantFrom('', ' ', '\n\t'), fc.boolean(), (from, space, isOdd) => {
      const plain = JSON.stringify(from, undefined, space)
      const text = isOdd ? escape(plain) : plain
      t.strictSame(JSON.parse(marked(text)), expected(JSON.parse(text)), text)
    }),
  )
  t.end()
})

t.test('of what occurs twice the last counts', t => {
  const rows: [text: string, expected: string][] = [
    ['{"m":{"v":"12","v":"12"}}', '{"m":{"v":"x","v":"x"}}'],
    ['{"m":{"v":"12"},"m":{"v":"12"}}', '{"m":{"v":"x"},"m":{"v":"x"}}'],
    ['[{"path":"/m","path":"/m/v","value":"12"}]', '[{"path":"/m","path":"/m/v","value":"x"}]'],
    ['[{"path":"/m/v","path":"/m","value":"12"}]', '[{"path":"/m/v","path":"/m","value":"12"}]'],
    ['[{"path":"/m/v","value":"12","value":"12"}]', '[{"path":"/m/v","value":"12","value":"x"}]'],
  ]
  for (const [text, expected] of rows) t.equal(marked(text), expected)
  t.end()
})

t.test('text that ends too early, and other broken text, has no places', t => {
  const whole = '{"m":{"v":"12","a":[{}]}}'
  t.equal(marked(whole), whole.replace('12', 'x'))
  for (let end = 0; end < whole.length; end++)
    t.equal(marked(whole.slice(0, end)), whole.slice(0, end))
  for (const text of [
    '}',
    ']]',
    '12',
    '{"m":{"\\u00":"12","\\x":"12"}}',
    '{"m":{"v\\',
    '{"m":{"v\\"',
  ])
    t.equal(marked(text), text)
  t.end()
})
