// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { nodeToCreate, nodeUpdatePatch } from '../../../../bridge/model/merge/node.js'
import { SHOP } from '../objects.js'

t.test('an edge registers: what it says of itself, and no more', t => {
  const asked = {
    metadata: {
      name: 'shop-2',
      uid: 'x',
      ownerReferences: [{}],
      finalizers: ['x'],
      labels: {
        'kubernetes.io/hostname': 'shop-1',
        'node-role.kubernetes.io/edge': '',
        'node-role.kubernetes.io/control-plane': '',
        'node-restriction.kubernetes.io/team': 'a',
        'edge-health/vouched': 'true',
        site: 'north',
        odd: 7,
      },
      annotations: {
        nodeunhealth: 'no',
        'edge-health/reason': 'x',
        'volumes.kubernetes.io/attach': 'true',
      },
    },
    spec: {
      taints: [{ key: 'a', effect: 'NoSchedule' }],
      podCIDR: '10.0.0.0/8',
      unschedulable: false,
    },
    status: {
      capacity: { cpu: '1' },
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'PeerHealth', status: 'True' },
      ],
    },
  }
  t.strictSame(nodeToCreate(asked, SHOP), {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'shop-1',
      labels: {
        'kubernetes.io/hostname': 'shop-1',
        'node-role.kubernetes.io/edge': '',
        site: 'north',
      },
      annotations: { 'volumes.kubernetes.io/attach': 'true' },
    },
    spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
    status: { capacity: { cpu: '1' }, conditions: [{ type: 'Ready', status: 'True' }] },
  })
  t.strictSame(nodeToCreate({}, SHOP), {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'shop-1', labels: {}, annotations: {} },
    spec: {},
    status: {},
  })
  t.end()
})

t.test('labels and annotations are added to the existing ones, and none is removed', t => {
  const live = { metadata: { labels: { a: '1', b: '2' }, annotations: { c: '3' } } }
  const rows: [claim: string, asked: object, patch: unknown][] = [
    ['nothing new', { labels: { a: '1' }, annotations: { c: '3' } }, undefined],
    ['nothing at all', {}, undefined],
    ['a changed label', { labels: { a: '9' } }, { metadata: { labels: { a: '9' } } }],
    ['a new annotation', { annotations: { d: '4' } }, { metadata: { annotations: { d: '4' } } }],
    ['one that it may not have', { labels: { 'edge-health/vouched': 'true' } }, undefined],
  ]
  for (const [claim, metadata, patch] of rows)
    t.strictSame(nodeUpdatePatch(live, { metadata }), patch, claim)
  t.strictSame(nodeUpdatePatch({}, { metadata: { labels: { constructor: 'x' } } }), {
    metadata: { labels: { constructor: 'x' } },
  })
  t.end()
})
