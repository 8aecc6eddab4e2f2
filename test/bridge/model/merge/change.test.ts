// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { isNews, printOf, type Seen } from '../../../../bridge/model/merge/change.js'
import type { ObjectType } from '../../../../bridge/model/resource/kinds.js'
import type { JsonMap } from '../../../../core/json.js'
import fc from '../../../../testkit/properties.js'
import { pod } from '../objects.js'

t.test('what is a change to an edge', t => {
  const gate = { readinessGates: [{ conditionType: 'example.com/lb' }] }
  const conditions = (status: string) => ({
    status: {
      conditions: [
        { type: 'example.com/lb', status },
        { type: 'Ready', status: 'True' },
      ],
    },
  })
  const rows: [claim: string, type: ObjectType, one: JsonMap, other: JsonMap, isChange: boolean][] =
    [
      [
        'another version alone',
        'pod',
        pod('a'),
        pod('a', {}, { metadata: { resourceVersion: '11' } }),
        false,
      ],
      ['who wrote it', 'pod', pod('a'), pod('a', {}, { metadata: { managedFields: [1] } }), false],
      ['a generation', 'pod', pod('a'), pod('a', {}, { metadata: { generation: 2 } }), false],
      ['its own status', 'pod', pod('a'), pod('a', {}, { status: { phase: 'Failed' } }), false],
      [
        'kind and version, which lists leave out',
        'pod',
        pod('a'),
        { ...pod('a'), kind: 'Pod', apiVersion: 'v1' },
        false,
      ],
      [
        'an image',
        'pod',
        pod('a', { containers: [{ image: 'a' }] }),
        pod('a', { containers: [{ image: 'b' }] }),
        true,
      ],
      ['a label', 'pod', pod('a'), pod('a', {}, { metadata: { labels: { a: 'b' } } }), true],
      [
        'its deletion',
        'pod',
        pod('a'),
        pod('a', {}, { metadata: { deletionTimestamp: 'now' } }),
        true,
      ],
      [
        'a gate that others open',
        'pod',
        pod('a', gate, conditions('False')),
        pod('a', gate, conditions('True')),
        true,
      ],
      [
        'a condition that is no gate',
        'pod',
        pod('a', {}, conditions('False')),
        pod('a', {}, conditions('True')),
        false,
      ],
      ['no conditions yet', 'pod', pod('a', gate), pod('a', gate, conditions('True')), true],
      ["a node's heartbeat", 'node', { status: { x: 1 } }, { status: { x: 2 } }, false],
      ["a node's taint", 'node', { spec: {} }, { spec: { taints: [] } }, true],
      ["a ConfigMap's data", 'configmap', { data: { a: '1' } }, { data: { a: '2' } }, true],
      [
        "a claim's status",
        'persistentvolumeclaim',
        { status: { a: 1 } },
        { status: { a: 2 } },
        true,
      ],
    ]
  for (const [claim, type, one, other, isChange] of rows)
    t.equal(printOf(type, one) !== printOf(type, other), isChange, claim)
  t.match(printOf('pod', pod('a')), /^[\w-]{11}$/)
  t.end()
})

t.test('which changes edges are sent', t => {
  const seen = (raw: JsonMap, uid = 'uid-a'): Seen => ({ uid, print: printOf('pod', raw) })
  const now = seen(pod('a'))
  const rows: [claim: string, before: Seen | undefined, after: Seen | undefined, is: boolean][] = [
    ['a new one', undefined, now, true],
    ['one that is known, again', now, seen(pod('a')), false],
    ['a change', now, seen(pod('a', { containers: [{ image: 'b' }] })), true],
    ['another one of that name, however alike', now, seen(pod('a'), 'uid-b'), true],
    ['its end', now, undefined, true],
    ['one that nobody has or had', undefined, undefined, false],
  ]
  for (const [claim, before, after, is] of rows) t.equal(isNews(before, after), is, claim)
  t.end()
})

t.test('the order of keys in a status, and its content, are never news', t => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (one, other) => {
      t.equal(
        printOf('pod', { ...pod('a'), status: one }),
        printOf('pod', { ...pod('a'), status: other }),
      )
    }),
  )
  t.end()
})
