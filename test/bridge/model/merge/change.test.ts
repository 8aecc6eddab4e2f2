// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { changeOf, printOf } from '../../../../bridge/model/merge/change.js'
import type { ObjectType } from '../../../../bridge/model/resource/kinds.js'
import type { ObjectEvent } from '../../../../bridge/model/route/downstream.js'
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

t.test('what a watch says, and what edges are told', t => {
  const seen = (raw: JsonMap) => ({ uid: 'uid-a', print: printOf('pod', raw) })
  const now = pod('a')
  const changed = pod('a', { containers: [{ image: 'b' }] })
  const deleting = pod('a', {}, { metadata: { deletionTimestamp: 'now' } })
  const rows: [
    claim: string,
    event: ObjectEvent,
    object: JsonMap,
    before: JsonMap | undefined,
    told: ObjectEvent | undefined,
  ][] = [
    ['a new one', 'added', now, undefined, 'added'],
    ['one that is already going', 'added', deleting, undefined, 'modified'],
    ['one that is known, again', 'added', now, now, undefined],
    ['one that changed while nobody watched', 'added', changed, now, 'modified'],
    ['a change', 'modified', changed, now, 'modified'],
    ['no change', 'modified', now, now, undefined],
    ['a change of one that nobody knew', 'modified', now, undefined, 'modified'],
    ['its end', 'deleted', now, now, 'deleted'],
    ['the end of one that nobody knew', 'deleted', now, undefined, 'deleted'],
  ]
  for (const [claim, event, object, before, told] of rows)
    t.strictSame(
      changeOf(event, 'pod', object, before && seen(before)),
      { event: told, seen: event === 'deleted' ? undefined : seen(object) },
      claim,
    )
  t.equal(
    changeOf('added', 'pod', now, { ...seen(now), uid: 'older' }).event,
    'added',
    'another one of that name is new, however alike',
  )
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
