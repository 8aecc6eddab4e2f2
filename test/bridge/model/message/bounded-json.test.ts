// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../../core/exact-json.js'
import t from 'tap'
import { InvalidInputError } from '../../../../core/errors.js'
import {
  MAX_FRAME_LENGTH,
  parseBoundedJson,
} from '../../../../bridge/model/message/bounded-json.js'
import fc from '../../../../testkit/properties.js'

const rule = (json: string): string => {
  try {
    parseBoundedJson('frame', json)
    return 'taken'
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    return `${error.rule}, got ${String(error.value)}`
  }
}

t.test('what is no JSON, or too much of it, is refused before it takes memory', t => {
  const rows: [claim: string, json: string, answer: string][] = [
    ['a small one', '{"a":[1,{"b":"c"}]}', 'taken'],
    ['nothing', '', 'must be JSON, got text of 0 characters'],
    ['half of one', '{"secret":"hush', 'must be JSON, got text of 15 characters'],
    ['64 levels', '['.repeat(64) + ']'.repeat(64), 'taken'],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), 'must be at most 64 levels deep, got 65'],
    ['65 that never close', '{"a":'.repeat(65), 'must be at most 64 levels deep, got 65'],
    ['brackets in a text are text', JSON.stringify('[{'.repeat(100)), 'taken'],
    ['behind a quote in a text too', JSON.stringify(`"${'['.repeat(100)}`), 'taken'],
    ['a backslash ends no text', JSON.stringify(`\\${'['.repeat(100)}\\`), 'taken'],
    ['a text that ends with half an escape', '"a\\', 'must be JSON, got text of 3 characters'],
    ['one after another is not deep', JSON.stringify(Array(1000).fill([])), 'taken'],
    ['99 998 values', JSON.stringify(Array(99_998).fill(0)), 'taken'],
    [
      'too many',
      JSON.stringify(Array(100_000).fill(0)),
      'must have at most 100000 values, got 100001',
    ],
    ['too many objects', '{},'.repeat(50_001), 'must have at most 100000 values, got 100001'],
    ['10 000 long numbers', JSON.stringify(Array(10_000).fill(1e15)), 'taken'],
    ['digits in a text', JSON.stringify(Array(10_001).fill('1'.repeat(16))), 'taken'],
    [
      'too many long numbers',
      `[${Array(10_001).fill('1'.repeat(40)).join()}]`,
      'must have at most 10000 numbers of 16 digits, got 10001',
    ],
    ['as long as it may be', JSON.stringify('a'.repeat(MAX_FRAME_LENGTH - 2)), 'taken'],
    [
      'one longer',
      JSON.stringify('a'.repeat(MAX_FRAME_LENGTH - 1)),
      `must be at most ${MAX_FRAME_LENGTH} characters long, got ${MAX_FRAME_LENGTH + 1}`,
    ],
  ]
  for (const [claim, json, answer] of rows) t.equal(rule(json), answer, claim)
  t.end()
})

t.test('what is taken is what JSON.parse says', t => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), json => {
      t.equal(writeExactJson(parseBoundedJson('frame', json)), JSON.stringify(JSON.parse(json)))
    }),
  )
  t.end()
})
