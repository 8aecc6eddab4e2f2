// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  copyJson,
  freeze,
  isMap,
  jsonBytes,
  jsonWork,
  sameJson,
  setKey,
  VALUE_WORK,
  type JsonMap,
} from '../../core/json.js'

t.test('a map is {…} and nothing else', t => {
  const rows: [value: unknown, want: boolean][] = [
    [{}, true],
    [{ a: 1 }, true],
    [[], false],
    [null, false],
    ['{}', false],
    [undefined, false],
  ]
  for (const [value, want] of rows) t.equal(isMap(value), want, JSON.stringify(value))
  t.end()
})

t.test('equal is equal whatever the order of the keys, and lists keep theirs', t => {
  t.ok(sameJson({ a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 }))
  t.notOk(sameJson([1, 2], [2, 1]))
  t.notOk(sameJson({ a: 1 }, { a: '1' }))
  t.end()
})

t.test('the size of a value is that of its JSON in bytes', t => {
  const rows: [value: unknown, want: number][] = [
    [undefined, 0],
    [null, 4],
    [{ a: [1, 'é'] }, 14],
  ]
  for (const [value, want] of rows) t.equal(jsonBytes(value), want)
  t.end()
})

t.test('small values cost work beside their characters, and keys that make maps dear more', t => {
  const wide = Object.fromEntries(Array.from({ length: 129 }, (_, at) => [`k${100 + at}`, 0]))
  const rows: [value: unknown, values: number, characters: number][] = [
    [undefined, 1, 0],
    [null, 1, 0],
    ['text', 1, 4],
    [[], 1, 0],
    [[[], {}, 'a'], 4, 1],
    [{ key: { a: 'bc' } }, 3 + 2 * 8, 6],
    [[{ a: 1 }, { a: 2 }, { a: { a: 3 } }], 8 + 8, 4],
    [{ a: 1, b: { c: 2 } }, 4 + 3 * 8, 3],
    [wide, 1 + 129 * (8 + 1), 129 * 4],
    [[wide, wide], 1 + 2 * (1 + 129 * (8 + 1)), 2 * 129 * 4],
  ]
  for (const [value, values, characters] of rows)
    t.equal(jsonWork(value), values * VALUE_WORK + characters)
  t.end()
})

t.test('a copy shares nothing, and its texts are made by a function', t => {
  const value = JSON.parse('{ "a": [{ "a": "a" }, 1, null], "__proto__": "a" }') as JsonMap
  const copy = copyJson(value) as JsonMap
  t.strictSame(copy, value)
  t.strictSame(Object.keys(copy), ['a', '__proto__'])
  Object.assign((copy['a'] as object[])[0]!, { a: 'b' })
  t.match(value, { a: [{ a: 'a' }] })
  const louder = copyJson(value, text => `${text}!`)
  t.equal(JSON.stringify(louder), '{"a":[{"a":"a!"},1,null],"__proto__":"a!"}')
  t.end()
})

t.test('__proto__ is a key like any other', t => {
  const map: JsonMap = {}
  setKey(map, '__proto__', { polluted: true })
  t.strictSame(Object.keys(map), ['__proto__'])
  t.equal(map['polluted'], undefined)
  setKey(map, 'constructor', 1)
  t.strictSame(Object.keys(map), ['__proto__', 'constructor'])
  t.end()
})

t.test('what is frozen is frozen all the way down', t => {
  const value = freeze({ list: [{ a: 1 }], frozen: Object.freeze({ b: 1 }) })
  t.throws(() => Object.assign(value.list[0]!, { a: 2 }), TypeError)
  t.throws(() => value.list.push({ a: 2 }), TypeError)
  t.equal(freeze('text'), 'text')
  t.equal(freeze(null), null)
  t.end()
})
