// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { listAt, mapAt, mapsAt, textAt, valueAt } from '../../core/json-at.js'

t.test('what is not there is nothing, and no key of a prototype is there', t => {
  t.equal(valueAt({ a: { b: 1 } }, 'a', 'b'), 1)
  for (const keys of [['b'], ['a', 'b', 'c'], ['constructor'], ['a', 'toString']])
    t.equal(valueAt({ a: { b: 1 } }, ...keys), undefined, keys.join('.'))
  t.equal(valueAt('itself'), 'itself')
  t.end()
})

t.test('a value of another type counts as missing', t => {
  const object = { text: 'a', map: { b: 1 }, list: [{ c: 1 }, 'd', [], null], none: null }
  const rows: [key: string, text: string, map: object, list: unknown, maps: unknown][] = [
    ['text', 'a', {}, undefined, []],
    ['map', '', { b: 1 }, undefined, []],
    ['list', '', {}, object.list, [{ c: 1 }]],
    ['none', '', {}, undefined, []],
    ['missing', '', {}, undefined, []],
  ]
  for (const [key, text, map, list, maps] of rows) {
    t.equal(textAt({ object }, 'object', key), text, key)
    t.strictSame(mapAt({ object }, 'object', key), map, key)
    t.equal(listAt({ object }, 'object', key), list, key)
    t.strictSame(mapsAt({ object }, 'object', key), maps, key)
  }
  t.end()
})
