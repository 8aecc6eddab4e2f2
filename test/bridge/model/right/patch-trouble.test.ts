// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  isOwnAnnotation,
  isOwnLabel,
  nodePatchTrouble,
  podPatchTrouble,
} from '../../../../bridge/model/right/patch-trouble.js'
import type { JsonMap } from '../../../../core/json.js'

t.test('labels and annotations that a node may give itself', t => {
  const rows: [key: string, isOwn: boolean][] = [
    ['site', true],
    ['example.com/site', true],
    ['kubernetes.io/hostname', true],
    ['topology.kubernetes.io/zone', true],
    ['node.kubernetes.io/instance-type', true],
    ['x.node.kubernetes.io/y', true],
    ['kubelet.kubernetes.io/y', true],
    ['node-role.kubernetes.io/edge', true],
    ['node-role.kubernetes.io/master', false],
    ['node-restriction.kubernetes.io/x', false],
    ['app.kubernetes.io/x', false],
    ['k8s.io/x', false],
    ['edge-health/vouched', false],
    ['notkubernetes.io/x', true],
  ]
  for (const [key, isOwn] of rows) t.equal(isOwnLabel(key), isOwn, key)
  t.strictSame(['a', 'nodeunhealth', 'edge-health/reason'].map(isOwnAnnotation), [
    true,
    false,
    false,
  ])
  t.end()
})

const conditions = (...items: unknown[]): JsonMap => ({ status: { conditions: items } })

t.test("what a patch of a node's status may not do", t => {
  const rows: [claim: string, patch: JsonMap, trouble: string | undefined][] = [
    ['nothing', {}, undefined],
    [
      "a kubelet's",
      {
        metadata: {
          name: 'a',
          uid: 'u',
          resourceVersion: '1',
          annotations: { x: 'y' },
          labels: { z: null },
        },
        status: {
          '$setElementOrder/conditions': [{ type: 'PeerHealth' }, { type: 'Ready' }],
          conditions: [
            { type: 'Ready', status: 'True' },
            { type: 'DiskPressure', $patch: 'delete' },
          ],
          images: [],
        },
      },
      undefined,
    ],
    ['a spec', { spec: { taints: [] } }, 'it must not change spec'],
    ['the whole object', { $patch: 'replace' }, 'it must not change $patch'],
    [
      'an owner',
      { metadata: { ownerReferences: [] } },
      'it must not change metadata.ownerReferences',
    ],
    ['a finalizer', { metadata: { $patch: 'replace' } }, 'it must not change metadata.$patch'],
    [
      'a label',
      { metadata: { labels: { 'edge-health/vouched': 'true' } } },
      'it must not give itself the label edge-health/vouched',
    ],
    [
      'taking one off',
      { metadata: { annotations: { nodeunhealth: null } } },
      'it must not give itself the annotation nodeunhealth',
    ],
    ['no labels at all', { metadata: { labels: null } }, 'its metadata.labels must be an object'],
    [
      'no annotations at all',
      { metadata: { annotations: null } },
      'its metadata.annotations must be an object',
    ],
    [
      'all labels anew',
      { metadata: { labels: { $patch: 'delete' } } },
      'it must not give itself the label $patch',
    ],
    [
      'only some annotations',
      { metadata: { annotations: { $retainKeys: ['x'] } } },
      'it must not give itself the annotation $retainKeys',
    ],
    ['metadata null', { metadata: null }, 'its metadata must be an object'],
    ['metadata that is none', { metadata: 'x' }, 'its metadata must be an object'],
    [
      "its peers' word",
      conditions({ type: 'PeerHealth', status: 'True' }),
      'only its peers set condition PeerHealth',
    ],
    [
      'taking it off',
      conditions({ type: 'PeerHealth', $patch: 'delete' }),
      'only its peers set condition PeerHealth',
    ],
    [
      'all conditions anew',
      conditions({ $patch: 'replace' }),
      'its conditions must not be replaced as a whole',
    ],
    [
      'all conditions anew, with a type beside it',
      conditions({ type: 'Ready', status: 'True' }, { type: 'x', $patch: 'replace' }),
      'its conditions must not be replaced as a whole',
    ],
    [
      'deleting what has no type',
      conditions({ type: null, $patch: 'delete' }),
      'its conditions must not be replaced as a whole',
    ],
    ['no conditions', { status: { conditions: null } }, 'its conditions must be a list'],
    ['no status', { status: null }, 'its status must be an object'],
    ['a status anew', { status: { $patch: 'replace' } }, 'it must not use $patch'],
    ['only some keys', { status: { $retainKeys: ['x'] } }, 'it must not use $retainKeys'],
    ['odd items', conditions(7, null), undefined],
  ]
  for (const [claim, patch, trouble] of rows) t.equal(nodePatchTrouble(patch), trouble, claim)
  t.end()
})

t.test("what a patch of a pod's status may not do", t => {
  const rows: [claim: string, patch: JsonMap, trouble: string | undefined][] = [
    [
      "a kubelet's",
      { metadata: { uid: 'u' }, status: { phase: 'Running', $patch: 'x' } },
      undefined,
    ],
    ['no uid', { status: {} }, undefined],
    ['another pod', { metadata: { uid: 'v' } }, 'it is about another pod of that name'],
    ['a label', { metadata: { labels: { app: 'x' } } }, 'it must not change metadata.labels'],
    ['a spec', { spec: {} }, 'it must not change spec'],
  ]
  for (const [claim, patch, trouble] of rows) t.equal(podPatchTrouble(patch, 'u'), trouble, claim)
  t.end()
})
