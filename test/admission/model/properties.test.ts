// SPDX-License-Identifier: Apache-2.0
// Any review: an answer, never a crash; and a patch applies, and changes what it is about alone.
import assert from 'node:assert/strict'
import t from 'tap'
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { listAt, mapsAt } from '../../../core/json-at.js'
import { reviewPaths } from '../../../admission/model/decide.js'
import { answerReview, parseReview } from '../../../admission/model/review.js'
import {
  after,
  decideOn,
  FOREIGN,
  knowing,
  makeAddress,
  makeEndpoint,
  makeEndpoints,
  makeNode,
  makePod,
  makeReview,
  makeSlice,
  NO_EXECUTE,
  NO_SCHEDULE,
  SUPEREDGE,
  VOUCHED,
} from '../../../testkit/admission/reviews.js'
import fc, { numberOf } from '../../../testkit/properties.js'

const numRuns = numberOf('FC_RUNS') ?? 1_000

const nodeName = fc.constantFrom('n1', 'n2', 'n3', 'n4', undefined)
const flag = fc.constantFrom<unknown>(true, false, undefined, null, 'yes')
const junk = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(null, [], {}, ''))
const taint = fc.oneof(fc.constantFrom<unknown>(FOREIGN, NO_EXECUTE, NO_SCHEDULE), junk)
const node = fc
  .record({
    ready: fc.constantFrom('Unknown', 'Unknown', 'True', 'False', ''),
    isMarked: fc.boolean(),
    word: fc.record({ agoMs: fc.integer({ min: -10_000, max: 60_000 }) }),
    taints: fc.oneof(fc.array(taint, { maxLength: 6 }), junk),
  })
  .map(makeNode)
const address = fc
  .tuple(fc.integer({ min: 1, max: 5 }), nodeName)
  .map(([pod, name]) => makeAddress(pod, name))
const addresses = fc.array(fc.oneof({ weight: 5, arbitrary: address }, junk), { maxLength: 5 })
const endpoints = fc.tuple(addresses, addresses).map(lists => makeEndpoints(...lists))
const endpoint = fc
  .tuple(fc.integer({ min: 1, max: 5 }), nodeName, flag, flag, flag)
  .map(([pod, name, ready, serving, terminating]) =>
    makeEndpoint(pod, name, { ready, serving, terminating }),
  )
const slice = fc
  .array(fc.oneof({ weight: 5, arbitrary: endpoint }, junk), { maxLength: 6 })
  .map(makeSlice)
const pod = fc
  .tuple(nodeName, fc.constantFrom('True', 'False', 'Unknown'))
  .map(([name, ready]) => makePod(name, ready))

const subjects = { '/node-taint': node, '/pod-status': pod, '/endpoint': endpoints, '/endpointslice': slice } as const // prettier-ignore
const review = fc.constantFrom(...reviewPaths).chain(path =>
  fc
    .tuple(fc.oneof({ weight: 9, arbitrary: subjects[path] }, junk), subjects[path])
    .filter(([object]) => isMap(object))
    .map(([object, old]) => ({ path, object, review: makeReview(path, object, old) })),
)
const known = fc
  .constantFrom(VOUCHED, SUPEREDGE)
  .map(rules => knowing([{ name: 'n1' }, { name: 'n2', isMarked: true }, { name: 'n3', ready: 'True' }], rules)) // prettier-ignore

/** Where a path's patches are. */
const PARTS = { '/node-taint': ['spec', 'taints'], '/pod-status': [], '/endpoint': ['subsets'], '/endpointslice': ['endpoints'] } as const // prettier-ignore

const without = (object: unknown, [key, ...rest]: readonly string[]): unknown => {
  if (!isMap(object) || key === undefined) return object
  const { [key]: inner, ...others } = object
  return rest.length === 0 ? others : { ...others, [key]: without(inner, rest) }
}

/** Every address with all that is told of it but whether it is ready. */
const addressesIn = (object: unknown): readonly string[] =>
  [
    ...mapsAt(object, 'subsets').flatMap(subset =>
      ['addresses', 'notReadyAddresses'].flatMap(key => listAt(subset, key) ?? []),
    ),
    ...(listAt(object, 'endpoints') ?? []).map(endpoint => without(endpoint, ['conditions'])),
  ]
    .map(address => JSON.stringify(address))
    .sort()

t.test('a decision changes its list alone, loses no address, and holds when it is repeated', t => {
  let changed = 0
  fc.assert(
    fc.property(review, known, ({ path, object, review }, known) => {
      const decision = decideOn(path, review, known)
      if (decision.kind !== 'changed') return
      changed++
      const patched = after(object, decision) as JsonMap
      assert.deepEqual(without(patched, PARTS[path]), without(object, PARTS[path]))
      assert.deepEqual(addressesIn(patched), addressesIn(object))
      const { request } = review as { request: JsonMap }
      const again = decideOn(path, makeReview(path, patched, request['oldObject']), known)
      assert.notEqual(again.kind, 'changed', 'once is enough')
    }),
    { numRuns },
  )
  t.ok(changed > numRuns / 50, `${changed} of ${numRuns} were changed`)
  t.end()
})

t.test('whatever arrives is answered or refused in words', t => {
  const outcomes = { answered: 0, refused: 0 }
  const broken = review.chain(({ path, review }) =>
    fc
      .tuple(fc.constantFrom(...Object.keys(review['request'] as JsonMap)), junk)
      .map(([key, value]) => ({
        path,
        raw: { ...review, request: { ...(review['request'] as JsonMap), [key]: value } },
      })),
  )
  const any = fc.oneof(
    { weight: 9, arbitrary: broken },
    { weight: 1, arbitrary: junk.map(raw => ({ path: '/endpoint' as const, raw })) },
  )
  fc.assert(
    fc.property(any, known, ({ path, raw }, known) => {
      try {
        const parsed = parseReview(raw)
        const answer = answerReview(parsed, decideOn(path, raw as JsonMap, known))
        assert.equal((answer as { response: JsonMap }).response['uid'], parsed.uid)
        outcomes.answered++
      } catch (error) {
        assert.ok(error instanceof InvalidInputError)
        outcomes.refused++
      }
    }),
    { numRuns },
  )
  t.ok(Math.min(outcomes.answered, outcomes.refused) > numRuns / 100, JSON.stringify(outcomes))
  t.end()
})
