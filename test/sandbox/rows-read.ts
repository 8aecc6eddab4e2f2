// SPDX-License-Identifier: Apache-2.0
// Conformance rows: lists, events of both APIs, paths.
import type { Row } from '../../testkit/kube/conformance.js'
import {
  three,
  NODES,
  MAPS,
  EVENTS,
  NEW_EVENTS,
  SECRETS,
  node,
  map,
  post,
  get,
  refused,
} from './conformance-words.js'

const LIST = `${NODES}?labelSelector=l={id}`
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json'

export const listing: readonly Row[] = [
  [
    'a list has a kind, a version and ordered items',
    ...three('q').toReversed(),
    get(`${LIST}q`, {
      kind: 'NodeList',
      apiVersion: 'v1',
      'items.#': 3,
      'items.0.metadata.name': '{id}-qa',
      'items.2.metadata.name': '{id}-qc',
      'items.0.kind': null,
    }),
  ],
  [
    'an empty list is a list',
    get(`${LIST}none`, { items: [] }),
    get(`/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name={id}none`, {
      kind: 'LeaseList',
      items: [],
    }),
  ],
  [
    'label selectors choose',
    ...three('r'),
    ...(
      [
        ['n=a', 1],
        ['n==a', 1],
        ['n!=a', 2],
        ['n in (a,b)', 2],
        ['n notin (a,b)', 1],
        ['n', 3],
        ['!n', 0],
        ['other!=x', 3],
        ['other notin (x)', 3],
        ['n in (a),n!=a', 0],
        [' n = a ', 1],
      ] as const
    ).map(([selector, count]) =>
      get(`${LIST}r,${encodeURIComponent(selector)}`, { 'items.#': count }),
    ),
  ],
  ...['a=b=c', 'a in b', '=x', 'a in (', '-a=b', 'a=!b', 'a b'].map((selector): Row => [
    `the label selector ${selector} is refused`,
    {
      do: `GET ${NODES}?labelSelector=${encodeURIComponent(selector)}`,
      want: refused(400, 'BadRequest'),
    },
  ]),
  [
    'field selectors choose',
    ...three('s'),
    get(`${NODES}?fieldSelector=metadata.name={id}-sb`, { 'items.#': 1 }),
    get(`${LIST}s&fieldSelector=metadata.name!={id}-sb`, { 'items.#': 2 }),
    get(`${LIST}s&fieldSelector=spec.unschedulable=false`, { 'items.#': 3 }),
    post(MAPS, map('f1')),
    get('/api/v1/configmaps?fieldSelector=metadata.namespace=default,metadata.name={id}-f1', {
      'items.#': 1,
    }),
    get('/api/v1/configmaps?fieldSelector=metadata.namespace=x,metadata.name={id}-f1', {
      'items.#': 0,
    }),
    post(SECRETS, { metadata: { name: '{id}-f2' }, type: 'x/y' }),
    get(`${SECRETS}?fieldSelector=type=x/y,metadata.name={id}-f2`, { 'items.#': 1 }),
  ],
  [
    'an unknown field is refused',
    {
      do: `GET ${NODES}?fieldSelector=spec.none=1`,
      want: refused(400, 'BadRequest'),
    },
    { do: `GET ${NODES}?fieldSelector=metadata.name`, want: refused(400, 'BadRequest') },
  ],
  [
    'pages continue in a consistent state',
    ...three('t'),
    {
      do: `GET ${LIST}t&limit=2`,
      save: { go: 'metadata.continue', first: 'metadata.resourceVersion' },
      want: { status: 200, 'items.#': 2, 'metadata.remainingItemCount': null },
    },
    { do: `DELETE ${NODES}/{id}-tc`, want: { status: 200 } },
    get(`${LIST}t&limit=2&continue={go}`, {
      'items.#': 1,
      'items.0.metadata.name': '{id}-tc',
      'metadata.continue': null,
      'metadata.resourceVersion': '{first}',
    }),
  ],
  [
    'without selectors the remaining items are counted',
    post('/api/v1/namespaces', { metadata: { name: '{id}-pages' } }),
    ...['a', 'b', 'c'].map(name =>
      post('/api/v1/namespaces/{id}-pages/secrets', { metadata: { name } }),
    ),
    get('/api/v1/namespaces/{id}-pages/secrets?limit=1', { 'metadata.remainingItemCount': 2 }),
  ],
  [
    'a broken continue token is refused',
    { do: `GET ${NODES}?limit=1&continue=xxx`, want: refused(400, 'BadRequest') },
  ],
  [
    'a list may ask for an exact version',
    ...three('v'),
    get(`${NODES}/{id}-va`, {}, { old: 'metadata.resourceVersion' }),
    get(`${LIST}v`, {}, { now: 'metadata.resourceVersion' }),
    { do: `DELETE ${NODES}/{id}-va`, want: { status: 200 } },
    get(`${LIST}v&resourceVersion={now}&resourceVersionMatch=Exact`, {
      'items.#': 3,
      'metadata.resourceVersion': '{now}',
    }),
    get(`${LIST}v&resourceVersion={old}&resourceVersionMatch=Exact`, { 'items.#': 1 }),
    get(`${LIST}v&resourceVersion={old}&resourceVersionMatch=NotOlderThan`, { 'items.#': 2 }),
    get(`${LIST}v&resourceVersion={old}`, { 'items.#': 2 }),
    get(`${LIST}v&resourceVersion={old}&limit=5`, { 'items.#': 1 }),
  ],
  [
    'a version of the future is refused',
    {
      do: `GET ${NODES}?resourceVersion=99999999&resourceVersionMatch=NotOlderThan`,
      want: refused(504, 'Timeout', {
        'details.causes.0.reason': 'ResourceVersionTooLarge',
        'details.retryAfterSeconds': 1,
      }),
    },
  ],
  ...(
    [
      ['resourceVersion=x', 400, 'BadRequest'],
      ['resourceVersionMatch=Exact', 422, 'Invalid'],
      ['resourceVersion=1&resourceVersionMatch=x', 422, 'Invalid'],
      ['resourceVersion=0&resourceVersionMatch=Exact', 422, 'Invalid'],
      ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 422, 'Invalid'],
    ] as const
  ).map(([query, status, reason]): Row => [
    `the list query ${query} is refused`,
    { do: `GET ${NODES}?${query}`, want: refused(status, reason) },
  ]),
  [
    'metadata alone can be had',
    ...three('w'),
    {
      do: `GET ${LIST}w`,
      accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      want: {
        status: 200,
        kind: 'PartialObjectMetadataList',
        'items.#': 3,
        'items.0.kind': 'PartialObjectMetadata',
        'items.0.spec': null,
      },
    },
    {
      do: `GET ${NODES}/{id}-wa`,
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      want: { status: 200, kind: 'PartialObjectMetadata', 'metadata.name': '{id}-wa', spec: null },
    },
    {
      do: `GET ${NODES}/{id}-wa`,
      accept: TABLE,
      want: {
        status: 200,
        kind: 'Table',
        'rows.0.cells.0': '{id}-wa',
        'rows.0.cells.1': 'Unknown',
        'columnDefinitions.0.name': 'Name',
        'columnDefinitions.1.name': 'Status',
        'columnDefinitions.4.name': 'Version',
      },
    },
  ],
  [
    'a Table may come without its objects',
    ...three('v'),
    {
      do: `GET ${LIST}v&includeObject=None`,
      accept: TABLE,
      want: {
        status: 200,
        kind: 'Table',
        'rows.#': 3,
        'rows.0.cells.0': '{id}-va',
        'rows.0.object': null,
        'columnDefinitions.0.format': 'name',
        'columnDefinitions.5.name': 'Internal-IP',
      },
    },
    {
      do: `GET ${LIST}v&includeObject=Some`,
      accept: TABLE,
      want: refused(400, 'BadRequest'),
    },
    { do: `GET ${LIST}v&includeObject=Some`, want: { status: 200, kind: 'NodeList' } },
  ],
  [
    'a form that nobody makes is refused',
    { do: `GET ${NODES}`, accept: 'text/html', want: { status: 406, reason: 'NotAcceptable' } },
  ],
]

const about = { kind: 'Node', name: '{id}-n', uid: 'u', apiVersion: 'v1' }

export const events: readonly Row[] = [
  [
    'both event APIs show one event',
    post(
      NEW_EVENTS,
      {
        metadata: { name: '{id}-e1' },
        regarding: about,
        note: 'hello',
        reason: 'PeersCondemned',
        action: 'Judge',
        type: 'Warning',
        eventTime: '2026-01-01T00:00:00.000000Z',
        reportingController: 'edge-health',
        reportingInstance: 'edge-health-a',
      },
      { note: 'hello', message: null, 'regarding.name': '{id}-n', apiVersion: 'events.k8s.io/v1' },
    ),
    get(`${EVENTS}/{id}-e1`, {
      apiVersion: 'v1',
      message: 'hello',
      note: null,
      reportingComponent: 'edge-health',
      'involvedObject.name': '{id}-n',
    }),
    get(
      `${EVENTS}?fieldSelector=involvedObject.name={id}-n,involvedObject.kind=Node,type=Warning`,
      {
        'items.#': 1,
      },
    ),
    get(`${NEW_EVENTS}?fieldSelector=regarding.name={id}-n,reason=PeersCondemned`, {
      'items.#': 1,
    }),
    {
      do: `GET ${NEW_EVENTS}?fieldSelector=involvedObject.name=x`,
      want: refused(400, 'BadRequest'),
    },
  ],
  [
    'the new event API asks for time, controller, action and reason',
    {
      do: `POST ${NEW_EVENTS}`,
      body: { metadata: { name: '{id}-e2' }, regarding: about, type: 'Normal' },
      want: refused(422, 'Invalid', { 'details.causes.0.field': 'eventTime' }),
    },
  ],
  [
    'an event about a node lives in default',
    post(EVENTS, {
      metadata: { name: '{id}-e3' },
      involvedObject: about,
      message: 'm',
      reason: 'R',
      type: 'Normal',
    }),
    {
      do: 'POST /api/v1/namespaces/kube-public/events',
      body: { metadata: { name: '{id}-e4' }, involvedObject: about, reason: 'R', type: 'Normal' },
      want: refused(422, 'Invalid', { 'details.causes.0.field': 'involvedObject.namespace' }),
    },
  ],
]

export const paths: readonly Row[] = [
  ['an unknown path is not a Status', { do: 'GET /nothing', want: { status: 404, kind: null } }],
  [
    'a group that nobody serves is no Status either',
    { do: 'GET /apis/none.io/v1/x', want: { status: 404, text: '404 page not found' } },
  ],
  ...[
    '/api/v1/nothing',
    '/api/v1/namespaces/default/nothing/x',
    '/apis/coordination.k8s.io/v1/nothing',
  ].map((path): Row => [
    `${path} is not served`,
    {
      do: `GET ${path}`,
      want: refused(404, 'NotFound', {
        message: 'the server could not find the requested resource',
        details: {},
      }),
    },
  ]),
  [
    'openapi may be missing, health is not',
    { do: 'GET /livez', want: { status: 200, text: 'ok' } },
    { do: 'GET /readyz', want: { status: 200, text: 'ok' } },
    { do: 'GET /healthz', want: { status: 200, text: 'ok' } },
    get('/version', { major: '1', minor: '36' }),
  ],
  ...(
    [
      `PUT ${NODES}`,
      `POST ${NODES}/x`,
      `PATCH ${NODES}`,
      'POST /api/v1/configmaps',
      `DELETE ${NODES}/x/status`,
    ] as const
  ).map((request): Row => [
    `${request} is no request of this API`,
    {
      do: request,
      body: {},
      want: refused(405, 'MethodNotAllowed', {
        message: 'the server does not allow this method on the requested resource',
      }),
    },
  ]),
  [
    'discovery names resources, verbs and short names',
    get('/api', { kind: 'APIVersions', versions: ['v1'] }),
    get('/api/v1', { kind: 'APIResourceList', groupVersion: 'v1' }),
    get('/apis', { kind: 'APIGroupList' }),
    get('/apis/coordination.k8s.io', {
      kind: 'APIGroup',
      name: 'coordination.k8s.io',
      'preferredVersion.version': 'v1',
    }),
    get('/apis/coordination.k8s.io/v1', {
      'resources.0.name': 'leases',
      'resources.0.kind': 'Lease',
      'resources.0.namespaced': true,
      'resources.0.singularName': 'lease',
    }),
  ],
  [
    'a token review knows a token from a stranger',
    {
      do: 'POST /apis/authentication.k8s.io/v1/tokenreviews',
      body: { spec: { token: 'stranger' } },
      want: { status: 201, 'status.authenticated': null },
    },
    {
      do: 'POST /apis/authentication.k8s.io/v1/tokenreviews',
      body: { spec: { token: '{token}' } },
      want: { status: 201, 'status.authenticated': true },
    },
  ],
  [
    'a body beyond 3 MiB is refused',
    {
      do: `POST ${MAPS}`,
      body: map('big', { data: { a: 'x'.repeat(3_200_000) } }),
      want: refused(413, 'RequestEntityTooLarge'),
    },
  ],
  [
    'one object can be had by GET with a version',
    post(NODES, node('g1')),
    // Version 0 is whatever a cache holds: first it must have come so far.
    get(`${NODES}/{id}-g1?resourceVersion={rv}`, { kind: 'Node' }),
    get(`${NODES}/{id}-g1?resourceVersion=0`, { 'metadata.name': '{id}-g1' }),
    get(`${NODES}/{id}-g1/status`, { kind: 'Node' }),
  ],
]
