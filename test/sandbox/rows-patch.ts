// SPDX-License-Identifier: Apache-2.0
// Conformance rows: PATCH.
import type { Row } from '../../testkit/kube/conformance.js'
import {
  NODES,
  MAPS,
  LEASES,
  NOT_READY,
  taint,
  ready,
  node,
  map,
  lease,
  post,
  get,
  patch,
  refused,
} from './conformance-words.js'

const A = `${NODES}/{id}-m`

export const patching: readonly Row[] = [
  [
    'a merge patch merges maps, replaces lists and deletes by null',
    post(NODES, node('m1', { spec: { taints: [taint('a')] } }, { x: '1', y: '2' })),
    patch(
      'merge',
      `${A}1`,
      { metadata: { labels: { x: null, z: '3' } }, spec: { taints: [taint('b')] } },
      {
        'metadata.labels': { run: '{id}-m1', y: '2', z: '3' },
        'spec.taints': [taint('b')],
      },
    ),
  ],
  [
    'a patch that changes nothing keeps the version',
    post(NODES, node('m2', {}, { x: '1' })),
    patch(
      'merge',
      `${A}2`,
      { metadata: { labels: { x: '1' } } },
      { 'metadata.resourceVersion': '{rv}' },
    ),
    patch('strategic', `${A}2`, {}, { 'metadata.resourceVersion': '{rv}' }),
    patch('json-patch', `${A}2`, [], { 'metadata.resourceVersion': '{rv}' }),
  ],
  [
    'a patch with another version conflicts',
    post(NODES, node('m3')),
    ...['merge', 'strategic'].map(type =>
      patch(
        type,
        `${A}3`,
        { metadata: { resourceVersion: '1', labels: { q: 'w' } } },
        refused(409, 'Conflict'),
      ),
    ),
    patch('merge', `${A}3`, { metadata: { resourceVersion: '{rv}', labels: { q: 'w' } } }),
    patch(
      'json-patch',
      `${A}3`,
      [
        { op: 'replace', path: '/metadata/resourceVersion', value: '1' },
        { op: 'add', path: '/metadata/labels/q', value: 'e' },
      ],
      refused(409, 'Conflict'),
    ),
  ],
  [
    'the main resource does not change the status, the status not the spec',
    post(NODES, node('m4')),
    patch(
      'merge',
      `${A}4`,
      { status: { conditions: [ready('True')] } },
      { 'metadata.resourceVersion': '{rv}' },
    ),
    patch(
      'merge',
      `${A}4/status`,
      {
        metadata: { annotations: { a: 'b' }, labels: { c: 'd' } },
        spec: { unschedulable: true },
        status: { conditions: [ready('True')] },
      },
      {
        'spec.unschedulable': null,
        'metadata.annotations': { a: 'b' },
        'metadata.labels.c': 'd',
        'status.conditions.0.status': 'True',
      },
    ),
  ],
  [
    'taints are one atomic list in a strategic patch',
    post(NODES, node('m5', { spec: { taints: [taint('a'), taint('b')] } })),
    patch(
      'strategic',
      `${A}5`,
      { spec: { taints: [taint('c')] } },
      { 'spec.taints': [taint('c')] },
    ),
    patch('strategic', `${A}5`, { spec: { taints: null } }, { 'spec.taints': null }),
  ],
  [
    'conditions merge by type in a strategic patch, named ones first',
    post(NODES, node('m6')),
    patch('strategic', `${A}6/status`, {
      status: { conditions: [ready('True'), { type: 'B', status: 'True' }] },
    }),
    patch(
      'strategic',
      `${A}6/status`,
      {
        status: {
          conditions: [
            { type: 'C', status: 'True' },
            { type: 'B', status: 'False', reason: 'x' },
          ],
        },
      },
      {
        'status.conditions.#': 3,
        'status.conditions.0.type': 'C',
        'status.conditions.1.type': 'Ready',
        'status.conditions.2.type': 'B',
        'status.conditions.2.status': 'False',
        'status.conditions.2.reason': 'x',
      },
    ),
    patch(
      'strategic',
      `${A}6/status`,
      { status: { conditions: [{ type: 'D', status: 'True' }] } },
      {
        'status.conditions.#': 4,
        'status.conditions.0.type': 'D',
        'status.conditions.3.type': 'B',
      },
    ),
    patch(
      'strategic',
      `${A}6/status`,
      { status: { conditions: [{ $patch: 'delete', type: 'Ready' }] } },
      {
        'status.conditions.#': 3,
      },
    ),
    patch(
      'strategic',
      `${A}6/status`,
      {
        status: {
          '$setElementOrder/conditions': [{ type: 'B' }, { type: 'C' }, { type: 'D' }],
          conditions: [{ type: 'B', status: 'Unknown' }],
        },
      },
      {
        'status.conditions.#': 3,
        'status.conditions.0.type': 'B',
        'status.conditions.0.status': 'Unknown',
        'status.conditions.1.type': 'C',
      },
    ),
    patch(
      'strategic',
      `${A}6/status`,
      { status: { conditions: [{ $patch: 'replace' }, ready('True')] } },
      {
        'status.conditions.#': 1,
      },
    ),
  ],
  [
    'addresses merge by type in a strategic patch',
    post(NODES, node('m7')),
    patch('strategic', `${A}7/status`, {
      status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
    }),
    patch(
      'strategic',
      `${A}7/status`,
      { status: { addresses: [{ type: 'Hostname', address: 'h' }] } },
      {
        'status.addresses.#': 2,
      },
    ),
    patch(
      'strategic',
      `${A}7/status`,
      { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] } },
      {
        'status.addresses.#': 2,
      },
    ),
  ],
  [
    'a list item without its merge key is refused',
    post(NODES, node('m8')),
    patch('strategic', `${A}8/status`, { status: { conditions: [ready('True')] } }),
    patch(
      'strategic',
      `${A}8/status`,
      { status: { conditions: [{ status: 'True' }] } },
      { status: 500 },
    ),
  ],
  [
    'an unknown directive is refused',
    post(NODES, node('m8b')),
    patch('strategic', `${A}8b`, { metadata: { $patch: 'x' } }, { status: 500 }),
  ],
  [
    'a strategic patch replaces and empties maps',
    post(MAPS, map('m9', { data: { a: '1', b: '2' } })),
    patch(
      'strategic',
      `${MAPS}/{id}-m9`,
      { data: { $patch: 'replace', c: '3' } },
      { data: { c: '3' } },
    ),
    patch('strategic', `${MAPS}/{id}-m9`, { data: { d: '4', c: null } }, { data: { d: '4' } }),
    patch(
      'strategic',
      `${MAPS}/{id}-m9`,
      { data: { $retainKeys: ['e'], e: '5' } },
      { data: { e: '5' } },
    ),
    patch('strategic', `${MAPS}/{id}-m9`, { data: { $patch: 'delete' } }, { data: null }),
  ],
  [
    'finalizers merge as a set',
    post(MAPS, map('m10', {}, { finalizers: ['a/a', 'b/b'] })),
    patch(
      'strategic',
      `${MAPS}/{id}-m10`,
      { metadata: { finalizers: ['c/c'] } },
      {
        'metadata.finalizers': ['c/c', 'a/a', 'b/b'],
      },
    ),
    patch(
      'strategic',
      `${MAPS}/{id}-m10`,
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/a'] } },
      {
        'metadata.finalizers': ['c/c', 'b/b'],
      },
    ),
  ],
  [
    'a JSON patch adds, replaces, removes and tests',
    post(NODES, node('m11', { spec: { taints: [taint('a')] } })),
    patch(
      'json-patch',
      `${A}11`,
      [
        { op: 'test', path: '/metadata/resourceVersion', value: '{rv}' },
        { op: 'add', path: '/spec/taints/-', value: taint('z') },
        { op: 'remove', path: '/spec/taints/0' },
        { op: 'add', path: '/metadata/annotations', value: { a: 'b' } },
        { op: 'add', path: '/metadata/labels/x.io~1y', value: 'c' },
      ],
      {
        'spec.taints': [NOT_READY, taint('z')],
        'metadata.annotations': { a: 'b' },
        'metadata.labels[x.io/y]': 'c',
      },
    ),
  ],
  [
    'a JSON patch whose test fails changes nothing',
    post(NODES, node('m12')),
    patch(
      'json-patch',
      `${A}12`,
      [
        { op: 'add', path: '/metadata/labels/q', value: 'w' },
        { op: 'test', path: '/metadata/name', value: 'other' },
      ],
      refused(422, 'Invalid', {
        message: 'the server rejected our request due to an error in our request',
        details: {},
      }),
    ),
    get(`${A}12`, { 'metadata.labels.q': null, 'metadata.resourceVersion': '{rv}' }),
  ],
  ...(
    [
      ['removes what is not there', [{ op: 'remove', path: '/spec/none' }]],
      ['replaces outside a list', [{ op: 'replace', path: '/spec/taints/7', value: {} }]],
      ['adds below nothing', [{ op: 'add', path: '/metadata/annotations/a', value: 'b' }]],
      ['has an index outside the list', [{ op: 'add', path: '/spec/taints/9', value: {} }]],
      ['tests what is not there', [{ op: 'test', path: '/spec/none', value: 1 }]],
      ['has an unknown operation', [{ op: 'x', path: '/spec' }]],
    ] as const
  ).map(([what, body], index): Row => [
    `a JSON patch that ${what} is refused`,
    post(NODES, node(`m13${index}`)),
    patch('json-patch', `${A}13${index}`, body, refused(422, 'Invalid')),
  ]),
  [
    'a JSON patch may replace a missing key of a map, and test it for null',
    post(NODES, node('m13x')),
    patch(
      'json-patch',
      `${A}13x`,
      [
        { op: 'test', path: '/metadata/labels/q', value: null },
        { op: 'replace', path: '/metadata/labels/q', value: 'w' },
      ],
      { 'metadata.labels.q': 'w' },
    ),
  ],
  [
    'a JSON patch must be a list',
    post(NODES, node('m14')),
    patch('json-patch', `${A}14`, { op: 'remove', path: '/spec' }, refused(400, 'BadRequest')),
  ],
  [
    'a merge patch must be a map',
    post(NODES, node('m15')),
    patch('merge', `${A}15`, [1], refused(400, 'BadRequest')),
    patch('strategic', `${A}15`, [1], refused(400, 'BadRequest')),
    patch('merge', `${A}15`, '{"a"', refused(400, 'BadRequest')),
  ],
  [
    'a patch that leaves no valid object is refused',
    post(NODES, node('m16')),
    patch('merge', `${A}16`, { spec: { taints: [{ key: 'a' }] } }, refused(422, 'Invalid')),
    patch('merge', `${A}16`, { metadata: { labels: { a: 1 } } }, refused(422, 'Invalid')),
    patch('merge', `${A}16`, { spec: { taints: 'x' } }, refused(422, 'Invalid')),
    patch('merge', `${A}16`, { metadata: { name: 'other' } }, refused(400, 'BadRequest')),
  ],
  [
    'a patch needs an object',
    patch(
      'merge',
      `${A}17`,
      {},
      refused(404, 'NotFound', { message: 'nodes "{id}-m17" not found' }),
    ),
  ],
  [
    'a patch needs a patch type',
    post(NODES, node('m18')),
    patch('json', `${A}18`, {}, refused(415, 'UnsupportedMediaType')),
  ],
  [
    'a new lease map appears without its nulls',
    post(LEASES, lease('m19')),
    patch(
      'strategic',
      `${LEASES}/{id}-m19`,
      { spec: { holderIdentity: 'a', leaseDurationSeconds: null } },
      {
        spec: { holderIdentity: 'a' },
      },
    ),
    patch(
      'merge',
      `${LEASES}/{id}-m19`,
      { spec: { leaseDurationSeconds: 0 } },
      refused(422, 'Invalid'),
    ),
  ],
]
