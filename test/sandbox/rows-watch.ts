// SPDX-License-Identifier: Apache-2.0
// Conformance rows: watches.
import type { Row, Step } from '../../testkit/kube/conformance.js'
import {
  three,
  NODES,
  MAPS,
  ready,
  node,
  map,
  post,
  get,
  patch,
  refused,
} from './conformance-words.js'

const W = (l: string, more = ''): string => `${NODES}?watch=true&labelSelector=l={id}${l}${more}`

const L = (l: string): string => `${NODES}?labelSelector=l={id}${l}`

export const watching: readonly Row[] = [
  [
    'a watch from a version sees what follows',
    ...three('xa'),
    { watch: W('xa', '&resourceVersion={rv}'), as: 'w' },
    { events: 'w', want: [] },
    patch('merge', `${NODES}/{id}-xab`, { metadata: { annotations: { a: 'b' } } }),
    patch('merge', `${NODES}/{id}-xab`, { metadata: { annotations: { a: 'b' } } }),
    { do: `DELETE ${NODES}/{id}-xaa`, want: { status: 200 } },
    { events: 'w', want: ['MODIFIED {id}-xab', 'DELETED {id}-xaa'] },
    { events: 'w', want: [] },
  ],
  [
    'a watch without a version, or from 0, begins with what is there',
    ...three('xb'),
    { watch: W('xb'), as: 'w' },
    { events: 'w', want: ['ADDED {id}-xba', 'ADDED {id}-xbb', 'ADDED {id}-xbc'] },
    { watch: W('xb', '&resourceVersion=0'), as: 'v' },
    { events: 'v', want: ['ADDED {id}-xba', 'ADDED {id}-xbb', 'ADDED {id}-xbc'] },
  ],
  [
    'an old version replays',
    post(NODES, node('xc1', {}, { l: '{id}xc' })),
    post(MAPS, map('xc'), {}),
    patch('merge', `${NODES}/{id}-xc1`, { metadata: { annotations: { a: 'b' } } }),
    post(NODES, node('xc2', {}, { l: '{id}xc' })),
    { do: `DELETE ${NODES}/{id}-xc1`, want: { status: 200 } },
    { watch: W('xc', '&resourceVersion={after}'), as: 'w' },
    { events: 'w', want: ['ADDED {id}-xc2', 'DELETED {id}-xc1'] },
  ],
  [
    'leaving the selection is DELETED, entering it is ADDED',
    post(NODES, node('xd1', {}, { l: '{id}xd' })),
    { watch: W('xd', '&resourceVersion={rv}'), as: 'w' },
    { watch: W('other', '&resourceVersion={rv}'), as: 'v' },
    patch('merge', `${NODES}/{id}-xd1`, { metadata: { labels: { l: '{id}other' } } }),
    patch('merge', `${NODES}/{id}-xd1`, { metadata: { labels: { l: '{id}xd' } } }),
    { events: 'w', want: ['DELETED {id}-xd1', 'ADDED {id}-xd1'] },
    { events: 'v', want: ['ADDED {id}-xd1', 'DELETED {id}-xd1'] },
  ],
  [
    'one object can be watched by name',
    ...three('xe'),
    {
      watch: `${NODES}?watch=1&fieldSelector=metadata.name={id}-xeb&resourceVersion={rv}`,
      as: 'w',
    },
    patch('merge', `${NODES}/{id}-xea`, { metadata: { annotations: { a: 'b' } } }),
    patch('merge', `${NODES}/{id}-xeb/status`, { status: { conditions: [ready('True')] } }),
    { events: 'w', want: ['MODIFIED {id}-xeb'] },
  ],
  [
    'a watch of Tables names its columns once; who leaves the selection is DELETED',
    ...three('xt'),
    {
      watch: W('xt', '&includeObject=None&resourceVersion={rv}'),
      as: 'w',
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json',
    },
    patch('merge', `${NODES}/{id}-xta/status`, { status: { conditions: [ready('True')] } }),
    patch('merge', `${NODES}/{id}-xtb`, { metadata: { labels: { l: '{id}other' } } }),
    { do: `DELETE ${NODES}/{id}-xtc`, want: { status: 200 } },
    {
      events: 'w',
      want: [
        'MODIFIED row and columns of {id}-xta',
        'DELETED row of {id}-xtb',
        'DELETED row of {id}-xtc',
      ],
    },
  ],
  [
    'initial events end with a bookmark',
    ...three('xf'),
    {
      watch: W(
        'xf',
        '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
      ),
      as: 'w',
    },
    {
      events: 'w',
      want: ['ADDED {id}-xfa', 'ADDED {id}-xfb', 'ADDED {id}-xfc', 'BOOKMARK end'],
    },
    {
      watch: W(
        'xf',
        '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={rv}',
      ),
      as: 'v',
    },
    {
      events: 'v',
      want: ['ADDED {id}-xfa', 'ADDED {id}-xfb', 'ADDED {id}-xfc', 'BOOKMARK end'],
    },
  ],
  [
    'initial events can be declined',
    ...three('xg'),
    {
      watch: W(
        'xg',
        '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion={rv}',
      ),
      as: 'w',
    },
    { events: 'w', want: [] },
  ],
  ...(
    [
      ['sendInitialEvents=true', 422, 'Invalid'],
      ['resourceVersionMatch=NotOlderThan&resourceVersion=1', 422, 'Invalid'],
      ['sendInitialEvents=true&resourceVersionMatch=Exact', 422, 'Invalid'],
      ['labelSelector=a%3Db%3Dc', 400, 'BadRequest'],
      ['fieldSelector=spec.none=1', 400, 'BadRequest'],
    ] as const
  ).map(([query, status, reason]): Row => [
    `the watch query ${query} is refused`,
    { do: `GET ${NODES}?watch=true&${query}`, want: refused(status, reason) },
  ]),
  [
    'a watch from a version that is no number fails',
    {
      do: `GET ${NODES}?watch=true&resourceVersion=x`,
      want: { status: 500, code: 500, reason: null },
    },
  ],
  [
    'a watch from the future is silent',
    { watch: W('xh', '&resourceVersion=99999999'), as: 'w' },
    post(NODES, node('xh1', {}, { l: '{id}xh' })),
    { events: 'w', want: [] },
  ],
  [
    'a watch ends when its time is over',
    { watch: W('xi', '&timeoutSeconds=1'), as: 'w' },
    { events: 'w', want: ['end'] },
  ],
  [
    'a namespace can be watched alone',
    post('/api/v1/namespaces', { metadata: { name: '{id}-w' } }),
    { watch: '/api/v1/namespaces/{id}-w/configmaps?watch=true&resourceVersion={rv}', as: 'w' },
    { watch: '/api/v1/configmaps?watch=true&labelSelector=l={id}xj&resourceVersion={rv}', as: 'v' },
    post(MAPS, map('xj1', {}, { labels: { l: '{id}xj' } })),
    post('/api/v1/namespaces/{id}-w/configmaps', map('xj2', {}, { labels: { l: '{id}xj' } })),
    { events: 'w', want: ['ADDED {id}-xj2'] },
    { events: 'v', want: ['ADDED {id}-xj1', 'ADDED {id}-xj2'] },
  ],
  [
    'a watch that allows bookmarks has one before its end when there is news',
    ...three('xk'),
    { watch: W('xk', '&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion={rv}'), as: 'w' },
    post(NODES, node('xkd')),
    { events: 'w', want: ['BOOKMARK'] },
  ],
  [
    'a watch that does not allow bookmarks has none',
    ...three('xl'),
    { watch: W('xl', '&timeoutSeconds=3&resourceVersion={rv}'), as: 'w' },
    post(NODES, node('xld')),
    { events: 'w', want: ['end'] },
  ],
]

/** Three nodes, and {rv} is not the last that happened. */
const later = (l: string): Step[] => [
  ...three(l),
  patch('merge', `${NODES}/{id}-${l}a`, { metadata: { annotations: { x: 'y' } } }),
]

/** Sent by a client that went away for too long. */
export const forgetting: readonly Row[] = [
  [
    'a watch from a forgotten version is an ERROR 410 in its stream',
    ...later('ya'),
    { forget: true },
    { watch: W('ya', '&resourceVersion={rv}'), as: 'w' },
    { events: 'w', want: ['ERROR 410 Expired', 'end'] },
    {
      watch: W('ya', '&resourceVersion={rv}&allowWatchBookmarks=true&timeoutSeconds=10'),
      as: 'v',
    },
    { events: 'v', want: ['ERROR 410 Expired', 'end'] },
    { watch: W('ya', '&resourceVersion=1'), as: 'u' },
    { events: 'u', want: ['ERROR 410 Expired', 'end'] },
  ],
  [
    'a list of a forgotten version is refused, one not older than it is not',
    ...later('yb'),
    { forget: true },
    {
      do: `GET ${NODES}?resourceVersion={rv}&resourceVersionMatch=Exact`,
      want: refused(410, 'Expired', { details: null }),
    },
    { do: `GET ${NODES}?resourceVersion={rv}&limit=2`, want: refused(410, 'Expired') },
    get(`${L('yb')}&resourceVersion={rv}&resourceVersionMatch=NotOlderThan`, { 'items.#': 3 }),
    get(`${L('yb')}&resourceVersion={rv}`, { 'items.#': 3 }),
    get(`${L('yb')}&resourceVersion=0`, { 'items.#': 3 }),
  ],
  [
    'a forgotten page is refused with a token that goes on all the same',
    ...three('yc'),
    get(`${L('yc')}&limit=1`, { 'items.0.metadata.name': '{id}-yca' }, { go: 'metadata.continue' }),
    post(NODES, node('ycd', {}, { l: '{id}yc' })),
    { forget: true },
    {
      do: `GET ${L('yc')}&limit=1&continue={go}`,
      save: { on: 'metadata.continue' },
      want: refused(410, 'Expired', { details: null }),
    },
    get(`${L('yc')}&limit=5&continue={on}`, {
      'items.#': 3,
      'items.0.metadata.name': '{id}-ycb',
      'items.2.metadata.name': '{id}-ycd',
      'metadata.continue': null,
    }),
  ],
  [
    'after a relist a watch goes on',
    ...later('yd'),
    { forget: true },
    get(L('yd'), { 'items.#': 3 }, { now: 'metadata.resourceVersion' }),
    { watch: W('yd', '&resourceVersion={now}'), as: 'w' },
    patch('merge', `${NODES}/{id}-yda`, { metadata: { annotations: { a: 'b' } } }),
    { events: 'w', want: ['MODIFIED {id}-yda'] },
    {
      watch: W(
        'yd',
        '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={rv}',
      ),
      as: 'v',
    },
    {
      events: 'v',
      want: ['ADDED {id}-yda', 'ADDED {id}-ydb', 'ADDED {id}-ydc', 'BOOKMARK end'],
    },
  ],
]
