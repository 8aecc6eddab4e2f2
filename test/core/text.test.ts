// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  ageText,
  clean,
  cleanLines,
  listed,
  plain,
  secondsSince,
  table,
  type Paint,
} from '../../core/text.js'

t.test('ages in the largest unit that still says something', t => {
  const rows: [number | null, string][] = [
    [null, '–'],
    [0, '0 s'],
    [119.4, '119 s'],
    [120, '2 min'],
    [7_199, '120 min'],
    [7_200, '2 h'],
    [172_800, '2 d'],
  ]
  for (const [seconds, want] of rows) t.equal(ageText(seconds), want, String(seconds))
  t.end()
})

t.test('a time that has not come yet is no age', t => {
  const at = '2026-01-01T10:00:00Z'
  t.equal(secondsSince('2026-01-01T09:59:58Z', at), 2)
  t.equal(secondsSince('2026-01-01T10:00:05Z', at), 0)
  t.equal(secondsSince(null, at), null)
  t.end()
})

t.test('names of a list, and how many more there are', t => {
  t.equal(listed([]), '')
  t.equal(listed(['a', 'b']), 'a, b')
  t.equal(listed(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']), 'a, b, c, d, e, f and 2 more')
  t.equal(listed(['a', 'b', 'c'], 2), 'a, b and 1 more')
  t.end()
})

t.test('columns are as wide as their widest cell; control characters never get out', t => {
  const paint: Paint = (colour, text) => `<${colour}>${text}</>`
  const rows = [
    ['A', 'B'],
    [{ text: 'long\u001b[2J', colour: 'red' as const }, { text: 'x' }],
    ['y', ''],
  ]
  t.equal(table(rows, plain), 'A         B\nlong [2J  x\ny\n')
  t.equal(table(rows, paint), 'A         B\n<red>long [2J</>  x\ny\n')
  t.equal(clean('a\r\n\tb'), 'a b')
  t.equal(clean('a\u001b[31m\u009b2Jb'), 'a [31m 2Jb')
  t.equal(clean('dead\u202eyhtlaeh\u2066\u200b\u2028b\u2029'), 'dead yhtlaeh b ')
  t.equal(clean('Zürich – 東京 é'), 'Zürich – 東京 é')
  t.equal(cleanLines('a\u001bb\nc\u202ed\n'), 'a b\nc d\n')
  t.end()
})
