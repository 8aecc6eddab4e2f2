// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { compare } from './compare.js'
import { firstDifference } from './first-difference.js'
import type { RawAnswer } from './raw-call.js'

const answer = (body: unknown, status = 200): RawAnswer => ({
  ...{ status, end: 'complete', headers: new Map() },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})

const get = (target: string) => ({ method: 'GET', target })
const node = get('/api/v1/nodes/a')
const beta = '/apis/discovery.k8s.io/v1beta1'

const same = [
  ['themselves', node, answer('{"a":1}'), answer('{"a":1}')],
  ['large numbers, pretty or not', node, answer('{\n  "a": 9223372036854775807\n}'), answer('{"a":9223372036854775807}')],
  ['times in YAML', node, answer('creationTimestamp: "2026"\n'), answer('creationTimestamp: "2027"\n')],
  ['a list of v1beta1 that is made here', get(`${beta}/endpointslices?limit=1`), answer('', 404), answer('{}')],
  ['managed fields, in whatever order', node, answer({ managedFields: [{ a: 1 }, { b: 2 }] }), answer({ managedFields: [{ b: 2 }, { a: 1 }] })],
  ['one of a namespace', get(`${beta}/namespaces/a/endpointslices`), answer('', 404), answer('', 400)],
] as const // prettier-ignore
for (const [what, call, straight, wrapped] of same)
  t.equal(compare(call, straight, wrapped).kind, 'same', what)

const different = [
  ['a digit of a large number', node, answer('{"a": 9223372036854775807}'), answer('{"a":9223372036854775806}')],
  ['times that are no times of ours', node, answer('renewTime: "2026"\n'), answer('renewTime: "2027"\n')],
  ['an object that is missing straight', get(`${beta}/namespaces/a/endpointslices/b`), answer('', 404), answer('{}')],
  ['what is found here alone', get('/apis/discovery.k8s.io/v1beta2/endpointslices'), answer('', 404), answer('{}')],
  ['the order of anything else', node, answer({ taints: [{ a: 1 }, { b: 2 }] }), answer({ taints: [{ b: 2 }, { a: 1 }] })],
  ['endpoints here alone', node, answer({ endpoints: [] }), answer({ endpoints: [1] })],
] as const // prettier-ignore
for (const [what, call, straight, wrapped] of different)
  t.equal(compare(call, straight, wrapped).kind, 'different', what)

const parting: readonly (readonly [one: unknown, other: unknown, said: string])[] = [
  [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, 'at .a[1].b: straight 2, wrapper 3'],
  [{ a: 1 }, { a: 1, b: null }, 'at .b: straight (none), wrapper null'],
  [[1], [1, 2], 'at [1]: straight (none), wrapper 2'],
  ['a\nb\n', 'a\nc\n', 'at [1]: straight "b", wrapper "c"'],
  [{}, [], 'at the top: straight {}, wrapper []'],
  [{ a: [] }, { a: [] }, 'the same'],
]
for (const [one, other, said] of parting) t.equal(firstDifference(one, other), said)
