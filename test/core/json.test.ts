// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { freeze, isMap, jsonBytes, sameJson, setKey, type JsonMap } from '../../core/json.js'

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

t.test('__proto__ is a key like any other', t => {
  const map: JsonMap = {}
  setKey(map, '__proto__', { polluted: true })
  t.strictSame(Object.keys(map), ['__proto__'])
  t.equal(map['polluted'], undefined)
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
