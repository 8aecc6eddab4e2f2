// SPDX-License-Identifier: Apache-2.0
// Rules of field ownership that hold for any object; what single requests do is in the conformance rows.
import t from 'tap'
import { isMap, type JsonMap } from '../../core/json.js'
import { schemaRules, type FieldRules } from '../../sandbox/api/fields/field-rules.js'
import {
  fieldsOf,
  fromFieldsV1,
  pathOf,
  shownPath,
  textOf,
  toFieldsV1,
} from '../../sandbox/api/fields/field-set.js'
import { mergeApplied, withoutFields } from '../../sandbox/api/fields/merge.js'
import fc from '../../testkit/properties.js'

const RULES: FieldRules = { s: 'set', m: { keys: ['n'], defaults: { n: 0 } }, a: 'atomic' }
const scalar = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('x', 'y', true))
const inner = fc.dictionary(fc.constantFrom('p', 'q', 'r'), scalar)
const object = fc
  .record(
    {
      s: fc.uniqueArray(scalar, { maxLength: 3 }),
      m: fc.uniqueArray(
        inner.chain(rest => fc.integer({ min: 0, max: 3 }).map((n): JsonMap => ({ n, ...rest }))),
        { selector: item => item['n'], maxLength: 3 },
      ),
      a: inner,
      o: fc.record({ i: inner, k: scalar }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  .map(value => JSON.parse(JSON.stringify(value)) as JsonMap)

const fields = (value: JsonMap): ReadonlyMap<string, unknown> =>
  fieldsOf(value, RULES, { withMaps: false, without: [] })
/** Empty maps and lists stand for themselves only as long as nothing is in them. */
const values = (value: JsonMap): [string, unknown][] =>
  [...fields(value)].filter(([path, at]) => {
    if (isMap(at) || Array.isArray(at)) return Object.keys(at).length > 0
    return at !== undefined || !pathOf(path).at(-1)!.startsWith('f:')
  })

t.test('fields are read back as they were written', t => {
  fc.assert(
    fc.property(object, value => {
      const set = new Set(fields(value).keys())
      const back = fromFieldsV1(JSON.parse(JSON.stringify(toFieldsV1(set))))
      return [...set].sort().join('\n') === [...back].sort().join('\n')
    }),
  )
  t.end()
})

t.test('what is applied is there, a second time changes nothing, and nothing else is lost', t => {
  fc.assert(
    fc.property(object, object, (live, applied) => {
      const before = JSON.stringify([live, applied])
      const once = mergeApplied(live, applied, RULES) as JsonMap
      t.equal(JSON.stringify([live, applied]), before)
      t.strictSame(mergeApplied(once, applied, RULES), once)
      const is = fields(once)
      for (const [path, value] of values(applied))
        t.strictSame(is.get(path), value, shownPath(path))
      for (const [path] of values(live)) t.ok(is.has(path), shownPath(path))
    }),
    { numRuns: 50 },
  )
  t.end()
})

t.test('a field that goes takes with it what is inside, and no other', t => {
  const some = object.filter(value => values(value).length > 0)
  fc.assert(
    fc.property(some, fc.nat(), (value, pick) => {
      // The key of an item is owned by whoever owns the item, and never goes alone.
      const all = values(value).flatMap(([path]) => (pathOf(path).at(-1) === 'f:n' ? [] : [path]))
      const gone = all[pick % all.length]!
      const left = new Map(values(withoutFields(value, new Set([gone]), RULES)))
      t.notOk(left.has(gone))
      for (const path of all)
        if (!path.startsWith(gone))
          t.ok(left.has(path), `${shownPath(path)} without ${shownPath(gone)}`)
    }),
    { numRuns: 50 },
  )
  t.end()
})

t.test('no writer owns what the server sets, nor what its request does not write', t => {
  const value = {
    apiVersion: 'v1',
    metadata: { name: 'n', uid: 'u', managedFields: [{}], labels: { l: 'x' } },
    status: { phase: 'Up' },
  }
  const set = fieldsOf(value, {}, { withMaps: true, without: ['status'] })
  t.strictSame([...set.keys()].map(shownPath), ['.metadata.labels', '.metadata.labels.l'])
  t.equal(shownPath(textOf(['f:m', 'k:{"a":1,"b":"x"}', 'f:s', 'v:"y"'])), '.m[a=1,b="x"].s[="y"]')
  t.end()
})

t.test('a schema says which lists have items of their own', t => {
  const list = (kind: string, more: object = {}) => ({
    type: 'array',
    'x-kubernetes-list-type': kind,
    ...more,
  })
  const item = { type: 'object', properties: { tags: list('set') } }
  const spec = {
    properties: {
      plain: list('atomic'),
      named: list('map', { 'x-kubernetes-list-map-keys': ['n'], items: item }),
      one: { type: 'object', 'x-kubernetes-map-type': 'atomic' },
    },
  }
  t.strictSame(schemaRules({ properties: { spec } }), {
    'spec.named': { keys: ['n'] },
    'spec.named[].tags': 'set',
    'spec.one': 'atomic',
  })
  t.end()
})
