// SPDX-License-Identifier: Apache-2.0
// Conformance rows: JSON patch, down to what the real server's library makes of pointers, indices and missing values.
import type { Row, Step } from '../../testkit/kube/conformance.js'
import {
  MAPS,
  NODES,
  NOT_READY,
  SECRETS,
  taint,
  node,
  map,
  post,
  patch,
  refused,
} from './conformance-words.js'

/** A key that an object literal cannot spell. */
const PROTO = '__proto__'

const [a, b, c] = ['a', 'b', 'c'].map(taint)

/** A config map with some data, patched. */
const onMap = (
  name: string,
  data: Readonly<Record<string, unknown>>,
  ...operations: readonly (readonly [list: unknown, want: Record<string, unknown>])[]
): Step[] => [
  post(MAPS, map(name, { data })),
  ...operations.map(([list, want]) => patch('json-patch', `${MAPS}/{id}-${name}`, list, want)),
]

/** A node with taints a, b, c, not-ready, patched. */
const onTaints = (name: string, list: unknown, want: Record<string, unknown>): Step[] => [
  post(NODES, node(name, { spec: { taints: [a, b, c] } })),
  patch('json-patch', `${NODES}/{id}-${name}`, list, want),
]

const INVALID = refused(422, 'Invalid')
const T = '/spec/taints'

const onLists: readonly (readonly [claim: string, list: unknown, want: Record<string, unknown>])[] =
  [
    [
      'moves an item to the front',
      [{ op: 'move', from: `${T}/2`, path: `${T}/0` }],
      { 'spec.taints': [c, a, b, NOT_READY] },
    ],
    [
      'moves an item to the end',
      [{ op: 'move', from: `${T}/0`, path: `${T}/-` }],
      { 'spec.taints': [b, c, NOT_READY, a] },
    ],
    [
      'moves by the indices that are left when the item is gone',
      [{ op: 'move', from: `${T}/0`, path: `${T}/3` }],
      { 'spec.taints': [b, c, NOT_READY, a] },
    ],
    [
      'does not move beyond the items that are left',
      [{ op: 'move', from: `${T}/0`, path: `${T}/4` }],
      INVALID,
    ],
    [
      'moves a part of an item that is gone into the one that takes its place',
      [{ op: 'move', from: `${T}/0`, path: `${T}/0/value` }],
      INVALID,
    ],
    [
      'copies an item',
      [
        { op: 'copy', from: `${T}/1`, path: `${T}/1` },
        { op: 'replace', path: `${T}/1/key`, value: 'd' },
      ],
      { 'spec.taints': [a, taint('d'), b, c, NOT_READY] },
    ],
    [
      'removes an item, then by the new index',
      [
        { op: 'remove', path: `${T}/0` },
        { op: 'remove', path: `${T}/0` },
      ],
      { 'spec.taints': [c, NOT_READY] },
    ],
    [
      'adds before an item',
      [{ op: 'add', path: `${T}/1`, value: taint('d') }],
      { 'spec.taints': [a, taint('d'), b, c, NOT_READY] },
    ],
    [
      'adds at the index after the last',
      [{ op: 'add', path: `${T}/4`, value: taint('d') }],
      { 'spec.taints': [a, b, c, NOT_READY, taint('d')] },
    ],
    [
      'does not add two after the last',
      [{ op: 'add', path: `${T}/5`, value: taint('d') }],
      INVALID,
    ],
    ['does not remove behind the last', [{ op: 'remove', path: `${T}/4` }], INVALID],
    ['does not remove at -', [{ op: 'remove', path: `${T}/-` }], INVALID],
    ['does not replace at -', [{ op: 'replace', path: `${T}/-`, value: taint('d') }], INVALID],
    ['does not copy from -', [{ op: 'copy', from: `${T}/-`, path: `${T}/0` }], INVALID],
    ['removes the last by -1', [{ op: 'remove', path: `${T}/-1` }], { 'spec.taints': [a, b, c] }],
    [
      'replaces by an index from the end',
      [{ op: 'replace', path: `${T}/-4`, value: taint('d') }],
      { 'spec.taints': [taint('d'), b, c, NOT_READY] },
    ],
    [
      'adds at the end by -1, before the last by -2',
      [
        { op: 'add', path: `${T}/-1`, value: taint('d') },
        { op: 'add', path: `${T}/-2`, value: taint('e') },
      ],
      { 'spec.taints': [a, b, c, NOT_READY, taint('e'), taint('d')] },
    ],
    [
      'does not count further from the end than there are items',
      [{ op: 'remove', path: `${T}/-5` }],
      INVALID,
    ],
    [
      'adds one further from the end than there are items',
      [{ op: 'add', path: `${T}/-5`, value: taint('d') }],
      { 'spec.taints': [taint('d'), a, b, c, NOT_READY] },
    ],
    [
      'goes through an index from the end',
      [{ op: 'replace', path: `${T}/-2/key`, value: 'd' }],
      { 'spec.taints': [a, b, taint('d'), NOT_READY] },
    ],
    [
      'reads an index with zeros and a sign as a number',
      [{ op: 'test', path: `${T}/+01/key`, value: 'b' }],
      { 'spec.taints.#': 4 },
    ],
    ['needs a number as index', [{ op: 'remove', path: `${T}/x` }], INVALID],
    ['needs a number and no more', [{ op: 'remove', path: `${T}/1.0` }], INVALID],
    ['needs some index', [{ op: 'remove', path: `${T}/` }], INVALID],
    [
      'tests an item whatever the order of its keys',
      [{ op: 'test', path: `${T}/0`, value: { effect: 'NoExecute', key: 'a' } }],
      { 'spec.taints.#': 4 },
    ],
    [
      'tests a whole list',
      [{ op: 'test', path: T, value: [a, b, c, NOT_READY] }],
      { 'spec.taints.#': 4 },
    ],
    ['tests a list in its order', [{ op: 'test', path: T, value: [b, a, c, NOT_READY] }], INVALID],
    ['tests an item wholly', [{ op: 'test', path: `${T}/0`, value: { key: 'a' } }], INVALID],
    ['does not test at -', [{ op: 'test', path: `${T}/-`, value: null }], INVALID],
  ]

const onKeys: readonly Row[] = [
  [
    'a JSON patch reads ~0 and ~1 in one pass',
    ...onMap('j1', { a: '1' }, [
      [
        { op: 'add', path: '/metadata/annotations', value: {} },
        { op: 'add', path: '/metadata/annotations/x.io~1y', value: 'slash' },
        { op: 'test', path: '/metadata/annotations/x.io~1y', value: 'slash' },
        { op: 'copy', from: '/metadata/annotations/x.io~1y', path: '/metadata/annotations/z' },
        { op: 'remove', path: '/metadata/annotations/x.io~1y' },
      ],
      { 'metadata.annotations': { z: 'slash' } },
    ]),
    ...onMap('j2', { a: '1' }, [
      [
        { op: 'add', path: '/data/~0', value: 'tilde' },
        { op: 'add', path: '/data/~01', value: 'tilde and one' },
        { op: 'move', from: '/data/~0', path: '/data/b' },
        { op: 'move', from: '/data/~01', path: '/data/c' },
      ],
      { data: { a: '1', b: 'tilde', c: 'tilde and one' } },
    ]),
    ...onMap('j3', { a: '1' }, [
      [
        { op: 'add', path: '/data/~~1', value: 'tilde and slash' },
        { op: 'move', from: '/data/~0~1', path: '/data/~2' },
        { op: 'move', from: '/data/~02', path: '/data/d' },
      ],
      { data: { a: '1', d: 'tilde and slash' } },
    ]),
  ],
  [
    'a key that must be escaped is no key of a config map',
    ...onMap('j4', { a: '1' }, [[{ op: 'add', path: '/data/~0', value: 'x' }], INVALID]),
  ],
  [
    'keys named constructor and __proto__ are keys like any other',
    ...onMap(
      'j5',
      { a: '1' },
      [
        [
          { op: 'test', path: '/data/constructor', value: null },
          { op: 'test', path: `/data/${PROTO}`, value: null },
          { op: 'add', path: '/data/constructor', value: 'c' },
          { op: 'add', path: `/data/${PROTO}`, value: 'p' },
        ],
        { data: { a: '1', constructor: 'c', [PROTO]: 'p' } },
      ],
      [
        [
          { op: 'test', path: `/data/${PROTO}`, value: 'p' },
          { op: 'move', from: `/data/${PROTO}`, path: '/data/toString' },
          { op: 'copy', from: '/data/constructor', path: `/data/${PROTO}` },
          { op: 'remove', path: '/data/constructor' },
        ],
        { data: { a: '1', toString: 'p', [PROTO]: 'c' } },
      ],
      [[{ op: 'remove', path: '/data/constructor' }], INVALID],
      [[{ op: 'remove', path: '/data/hasOwnProperty' }], INVALID],
    ),
    patch(
      'merge',
      `${MAPS}/{id}-j5`,
      { data: { [PROTO]: 'm', constructor: 'm', toString: null } },
      {
        data: { a: '1', constructor: 'm', [PROTO]: 'm' },
      },
    ),
    patch(
      'strategic',
      `${MAPS}/{id}-j5`,
      { data: { [PROTO]: null, valueOf: 's' } },
      {
        data: { a: '1', constructor: 'm', valueOf: 's' },
      },
    ),
    post(MAPS, map('j6', { data: { [PROTO]: 'p', constructor: 'c' } }), {
      data: { [PROTO]: 'p', constructor: 'c' },
    }),
  ],
  [
    'a JSON patch moves and copies keys',
    ...onMap(
      'j7',
      { a: '1', b: '2' },
      [
        [
          { op: 'move', from: '/data/a', path: '/data/b' },
          { op: 'copy', from: '/data/b', path: '/data/c' },
        ],
        { data: { b: '1', c: '1' } },
      ],
      [[{ op: 'move', from: '/data/b', path: '/data/b' }], { data: { b: '1', c: '1' } }],
      [[{ op: 'move', from: '/data/none', path: '/data/d' }], INVALID],
      [[{ op: 'move', from: '/data', path: '/data/d' }], INVALID],
      [[{ op: 'move', path: '/data/d' }], INVALID],
      [[{ op: 'copy', path: '/data/d' }], INVALID],
      [[{ op: 'copy', from: '/none/a', path: '/data/d' }], INVALID],
    ),
  ],
  [
    'a missing value is null, and null is an empty text',
    ...onMap(
      'j8',
      { a: '1' },
      [[{ op: 'add', path: '/data/b' }], { data: { a: '1', b: '' } }],
      [[{ op: 'replace', path: '/data/a', value: null }], { data: { a: '', b: '' } }],
      [[{ op: 'copy', from: '/data/none', path: '/data/c' }], { data: { a: '', b: '', c: '' } }],
    ),
    post(MAPS, map('j9', { data: { a: null } }, { labels: { l: null } }), {
      data: { a: '' },
      'metadata.labels': { l: '' },
    }),
    post(
      SECRETS,
      { metadata: { name: '{id}-j9' }, data: { a: null }, stringData: { b: null } },
      {
        data: { a: '', b: '' },
      },
    ),
  ],
  [
    'a JSON patch that tests for no value tests for null',
    ...onMap(
      'j17',
      { a: '1' },
      [[{ op: 'test', path: '/data/none' }], { data: { a: '1' } }],
      [[{ op: 'test', path: '/data/a' }], INVALID],
    ),
  ],
  [
    'the whole document cannot become a text',
    ...onMap('j18', { a: '1' }, [[{ op: 'replace', path: '', value: 'x' }], INVALID]),
  ],
  [
    'a JSON patch takes values by their kind',
    ...onMap(
      'j10',
      { a: '1' },
      [[{ op: 'test', path: '/data/a', value: 1 }], INVALID],
      [[{ op: 'add', path: '/data/a', value: 1 }], INVALID],
      [[{ op: 'add', path: '/data/a/b', value: 'x' }], INVALID],
      [[{ op: 'test', path: '/data', value: { a: '1' } }], {}],
      [[{ op: 'replace', path: '/data', value: { z: '2' } }], { data: { z: '2' } }],
    ),
  ],
  [
    'a pointer may lack its slash',
    ...onMap(
      'j11',
      { a: '1' },
      [[{ op: 'add', path: 'x/data/b', value: '2' }], { data: { a: '1', b: '2' } }],
      [[{ op: 'add', path: 'data', value: { c: '3' } }], INVALID],
    ),
  ],
  [
    'the whole document can be tested and replaced, and nothing else',
    ...onMap(
      'j12',
      { a: '1' },
      [[{ op: 'remove', path: '' }], INVALID],
      [[{ op: 'add', path: '', value: {} }], INVALID],
      [[{ op: 'test', path: '', value: {} }], INVALID],
      [[{ op: 'replace', path: '', value: [] }], INVALID],
      [
        [{ op: 'replace', path: '', value: map('j12', { data: { b: '2' } }) }],
        { data: { b: '2' }, 'metadata.uid': '{uid}' },
      ],
      [[{ op: 'replace', path: '', value: map('j13') }], refused(400, 'BadRequest')],
    ),
  ],
  [
    'a JSON patch is a list of operations',
    ...onMap(
      'j14',
      { a: '1' },
      [null, { 'metadata.resourceVersion': '{rv}' }],
      [[1], refused(400, 'BadRequest')],
      [[{ op: 1, path: '/data' }], refused(400, 'BadRequest')],
      [[{ op: 'remove', path: 1 }], refused(400, 'BadRequest')],
      [[{ op: 'copy', path: '/data/a', from: 1 }], refused(400, 'BadRequest')],
      [[null], INVALID],
      [[{}], INVALID],
      [[{ op: 'remove' }], INVALID],
      [[{ path: '/data' }], INVALID],
      [[{ op: 'Remove', path: '/data/a' }], INVALID],
      [[{ op: 'remove', path: '/data/a', more: 1 }], { data: null }],
    ),
  ],
  [
    'a JSON patch tests numbers as they are written',
    ...onMap('j15', { a: '1' }),
    {
      do: 'PATCH /api/v1/namespaces/default/configmaps/{id}-j15',
      type: 'json-patch',
      body: '[{"op":"add","path":"/x","value":1},{"op":"test","path":"/x","value":1.0}]',
      want: INVALID,
    },
  ],
  [
    'a JSON patch has at most 10000 operations',
    ...onMap('j16', { a: '1' }, [
      Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/a', value: '1' })),
      refused(413, 'RequestEntityTooLarge'),
    ]),
  ],
]

export const jsonPatching: readonly Row[] = [
  ...onLists.map(([claim, list, want], i): Row => [
    `in a list, a JSON patch ${claim}`,
    ...onTaints(`jl${i}`, list, want),
  ]),
  ...onKeys,
]
