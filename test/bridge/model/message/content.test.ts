// SPDX-License-Identifier: Apache-2.0
import { parseExactJson, writeExactJson } from '../../../../core/exact-json.js'
import t from 'tap'
import {
  contentDelete,
  contentObject,
  contentPatch,
} from '../../../../bridge/model/message/content.js'
import { InvalidInputError } from '../../../../core/errors.js'
import fc from '../../../../testkit/properties.js'

const PATCH = '{"status":{"phase":"Running","n":9007199254740993,"t":"a?>~"}}'
const standard = Buffer.from(PATCH).toString('base64')
const urlSafe = Buffer.from(PATCH).toString('base64url')

t.test('a patch in all the ways that edges of any age write one', t => {
  t.not(standard, urlSafe, 'the alphabets differ here')
  const rows: [claim: string, content: unknown, patch: string][] = [
    ['1.13 and later: text', PATCH, PATCH],
    ['nothing to change', '{}', '{}'],
    ['1.12: bytes', standard, PATCH],
    ['in the other alphabet, without padding', urlSafe, PATCH],
    ['an object', { status: {} }, '{"status":{}}'],
    ['an object of a frame', parseExactJson(PATCH), PATCH],
    ['with space before', ' {"a":1}', ' {"a":1}'],
  ]
  for (const [claim, content, patch] of rows) t.equal(contentPatch('patch', content), patch, claim)
  t.end()
})

t.test('an object', t => {
  for (const content of [{ a: 1 }, '{"a":1}', Buffer.from('{"a":1}').toString('base64')])
    t.strictSame(contentObject('lease', content), { a: 1 })
  t.end()
})

t.test('invalid content is refused, and not quoted', t => {
  const rows: [claim: string, content: unknown, message: string][] = [
    ['nothing', null, 'patch must be an object, got "object"'],
    ['a number', 7, 'patch must be an object, got "number"'],
    [
      'an empty text',
      '',
      'patch must be an object, or one as text or base64, got "text of 0 characters"',
    ],
    ['OK', 'OK', 'patch must be an object, or one as text or base64, got "text of 2 characters"'],
    [
      'a sentence',
      'not so',
      'patch must be an object, or one as text or base64, got "text of 6 characters"',
    ],
    [
      'bytes of another encoding',
      '/////w==',
      'patch must be an object, or one as text or base64, got "text of 8 characters"',
    ],
    ['a list', '[1]', 'patch must be an object, got "object"'],
    ['a text in a text', '"{}"', 'patch must be an object, got "string"'],
    ['half of one', '{"a":', 'patch must be JSON, got "text of 5 characters"'],
    [
      'half of one as bytes',
      Buffer.from('{"a":').toString('base64'),
      'patch must be JSON, got "text of 5 characters"',
    ],
    ['a deep one', '{"a":'.repeat(65), 'patch must be at most 64 levels deep, got 65'],
  ]
  for (const [claim, content, message] of rows) {
    t.throws(() => contentPatch('patch', content), { message, code: 'INVALID_INPUT' }, claim)
    t.throws(() => contentObject('patch', content), { message, code: 'INVALID_INPUT' }, claim)
  }
  t.end()
})

t.test("a pod's delete", t => {
  const uid = '22f9d1aa-8c6e-4b4b-9a60-3f6a5d1c0e77'
  const options = { gracePeriodSeconds: 0, preconditions: { uid } }
  const rows: [claim: string, content: unknown, answer: unknown][] = [
    ['the uid', uid, { kind: 'uid', uid }],
    ['as bytes', Buffer.from(uid).toString('base64'), { kind: 'uid', uid }],
    ['options', options, { kind: 'options', options }],
    ['as text', JSON.stringify(options), { kind: 'options', options }],
    [
      'as bytes',
      Buffer.from(JSON.stringify(options)).toString('base64'),
      { kind: 'options', options },
    ],
  ]
  for (const [claim, content, answer] of rows)
    t.strictSame(contentDelete('delete', content), answer, claim)
  t.throws(() => contentDelete('delete', 'web'), InvalidInputError)
  t.throws(() => contentDelete('delete', null), InvalidInputError)
  t.end()
})

t.test('an object survives every way', t => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), map => {
      const json = JSON.stringify(map)
      for (const encoding of ['base64', 'base64url'] as const) {
        const bytes = Buffer.from(json).toString(encoding)
        t.equal(writeExactJson(contentObject('x', bytes)), json)
        t.equal(contentPatch('x', bytes), json)
      }
      t.equal(writeExactJson(contentObject('x', json)), json)
    }),
  )
  t.end()
})
