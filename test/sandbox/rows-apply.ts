// SPDX-License-Identifier: Apache-2.0
// Conformance rows: server-side apply and who owns a field, scale, dry runs, custom resources, metadata alone.
import type { Row, Step } from '../../testkit/kube/conformance.js'
import {
  del,
  get,
  map,
  MAPS,
  patch,
  post,
  put,
  refused,
  SERVICES,
  type Body,
} from './conformance-words.js'

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const WIDGETS = '/apis/{id}.example.com/v1/namespaces/default/widgets'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** Apply as a manager; the answer's version is kept as {rv}. */
const apply = (manager: string, path: string, body: unknown, want: Body = {}): Step => ({
  do: `PATCH ${path}${path.includes('?') ? '&' : '?'}fieldManager=${manager}`,
  type: 'apply',
  body,
  save: { rv: 'metadata.resourceVersion', uid: 'metadata.uid' },
  want: { status: 200, ...want },
})
const made = { status: 201 }
const data = (values: Body): Body => ({ data: values })
const conflict = (owner: string, field: string): Body =>
  refused(409, 'Conflict', {
    message: `Apply failed with 1 conflict: conflict with "${owner}": ${field}`,
    'details.causes': [
      { reason: 'FieldManagerConflict', message: `conflict with "${owner}"`, field },
    ],
  })

const service = (name: string, spec: Body): Body => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: `{id}-${name}` },
  spec,
})

const deployment = (name: string, spec: Body = {}): Body => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: `{id}-${name}` },
  spec: {
    selector: { matchLabels: { app: `{id}-${name}` } },
    template: {
      metadata: { labels: { app: `{id}-${name}` } },
      spec: { containers: [{ name: 'web', image: 'web:1' }] },
    },
    ...spec,
  },
})

/** What a manager of the replicas alone applies. */
const replicasOf = (name: string, replicas: number): Body => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: `{id}-${name}` },
  spec: { replicas },
})

const integer = { type: 'integer' }
const SCHEMA = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: integer,
        colour: { type: 'string' },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string' }, size: integer },
          },
        },
      },
    },
    status: {
      type: 'object',
      properties: { replicas: integer, selector: { type: 'string' }, phase: { type: 'string' } },
    },
  },
}

/** A kind of the row's own, with status and scale. */
const defining: readonly Step[] = [
  post(DEFINITIONS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.{id}.example.com' },
    spec: {
      group: '{id}.example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: SCHEMA },
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.replicas',
              statusReplicasPath: '.status.replicas',
              labelSelectorPath: '.status.selector',
            },
          },
        },
      ],
    },
  }),
  { do: `GET ${WIDGETS}`, until: true, want: { status: 200, kind: 'WidgetList' } },
]

const widget = (name: string, more: Body = {}, metadata: Body = {}): Body => ({
  apiVersion: '{id}.example.com/v1',
  kind: 'Widget',
  metadata: { name, ...metadata },
  ...more,
})

export const applying: readonly Row[] = [
  [
    'an apply makes an object and owns what it says, no more',
    apply('a', `${MAPS}/{id}-aa`, map('aa', data({ k: '1' }), { labels: { l: 'x' } }), {
      ...made,
      data: { k: '1' },
      'metadata.managedFields.#': 1,
      'metadata.managedFields.0.manager': 'a',
      'metadata.managedFields.0.operation': 'Apply',
      'metadata.managedFields.0.apiVersion': 'v1',
      'metadata.managedFields.0.fieldsType': 'FieldsV1',
      'metadata.managedFields.0.fieldsV1': {
        'f:data': { 'f:k': {} },
        'f:metadata': { 'f:labels': { 'f:l': {} } },
      },
    }),
  ],
  [
    'an apply of the same writes nothing',
    apply('a', `${MAPS}/{id}-ab`, map('ab', data({ k: '1' })), made),
    apply('a', `${MAPS}/{id}-ab`, map('ab', data({ k: '1' })), {
      'metadata.resourceVersion': '{rv}',
    }),
  ],
  [
    'an apply over what another applied is a conflict, unless it is forced',
    apply('a', `${MAPS}/{id}-ac`, map('ac', data({ k: '1', l: '1' })), made),
    {
      do: `PATCH ${MAPS}/{id}-ac?fieldManager=b`,
      type: 'apply',
      body: map('ac', data({ k: '2' })),
      want: conflict('a', '.data.k'),
    },
    get(`${MAPS}/{id}-ac`, { data: { k: '1', l: '1' }, 'metadata.resourceVersion': '{rv}' }),
    apply('b', `${MAPS}/{id}-ac?force=true`, map('ac', data({ k: '2' })), {
      data: { k: '2', l: '1' },
      'metadata.managedFields.#': 2,
      'metadata.managedFields.0.manager': 'a',
      'metadata.managedFields.0.fieldsV1': { 'f:data': { 'f:l': {} } },
      'metadata.managedFields.1.fieldsV1': { 'f:data': { 'f:k': {} } },
    }),
  ],
  [
    'each conflict is named',
    apply('a', `${MAPS}/{id}-ad`, map('ad', data({ k: '1', l: '1' })), made),
    {
      do: `PATCH ${MAPS}/{id}-ad?fieldManager=b`,
      type: 'apply',
      body: map('ad', data({ k: '2', l: '2' })),
      want: refused(409, 'Conflict', {
        message: 'Apply failed with 2 conflicts: conflicts with "a":\n- .data.k\n- .data.l',
        'details.causes.#': 2,
      }),
    },
  ],
  [
    'what is applied no more goes, unless another owns it too',
    apply('a', `${MAPS}/{id}-ae`, map('ae', data({ k: '1', l: '1', m: '1' })), made),
    apply('b', `${MAPS}/{id}-ae`, map('ae', data({ l: '1' })), { 'metadata.managedFields.#': 2 }),
    apply('a', `${MAPS}/{id}-ae`, map('ae', data({ k: '1' })), { data: { k: '1', l: '1' } }),
    apply('b', `${MAPS}/{id}-ae`, map('ae'), {
      data: { k: '1' },
      'metadata.managedFields.0.fieldsV1': { 'f:data': { 'f:k': {} } },
    }),
  ],
  [
    'who updates a field owns it from then on',
    apply('a', `${MAPS}/{id}-af`, map('af', data({ k: '1', l: '1' })), made),
    patch('merge', `${MAPS}/{id}-af?fieldManager=u`, data({ k: '2' }), {
      'metadata.managedFields.#': 2,
      'metadata.managedFields.0.fieldsV1': { 'f:data': { 'f:l': {} } },
      'metadata.managedFields.1.manager': 'u',
      'metadata.managedFields.1.operation': 'Update',
      'metadata.managedFields.1.fieldsV1': { 'f:data': { 'f:k': {} } },
    }),
    {
      do: `PATCH ${MAPS}/{id}-af?fieldManager=a`,
      type: 'apply',
      body: map('af', data({ k: '1', l: '1' })),
      want: refused(409, 'Conflict', {
        'details.causes.#': 1,
        'details.causes.0.reason': 'FieldManagerConflict',
        'details.causes.0.field': '.data.k',
      }),
    },
  ],
  [
    'the entry of an owner can be taken away, and its fields are nobody’s',
    post(`${MAPS}?fieldManager=old`, map('ag', data({ k: '1', l: '1' }))),
    apply('a', `${MAPS}/{id}-ag`, map('ag', data({ k: '1' })), { 'metadata.managedFields.#': 2 }),
    patch(
      'json-patch',
      `${MAPS}/{id}-ag`,
      [
        { op: 'test', path: '/metadata/resourceVersion', value: '{rv}' },
        { op: 'test', path: '/metadata/managedFields/1/manager', value: 'old' },
        { op: 'remove', path: '/metadata/managedFields/1' },
      ],
      { 'metadata.managedFields.#': 1, 'metadata.managedFields.0.manager': 'a' },
    ),
    apply('a', `${MAPS}/{id}-ag`, map('ag', data({ m: '1' })), { data: { l: '1', m: '1' } }),
  ],
  [
    'a list whose items have names is owned item by item',
    apply(
      'a',
      `${SERVICES}/{id}-ah`,
      service('ah', { selector: { app: 'x' }, ports: [{ name: 'http', port: 80 }] }),
      {
        ...made,
        'metadata.managedFields.0.fieldsV1': {
          'f:spec': {
            'f:ports': {
              'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:name': {}, 'f:port': {} },
            },
            'f:selector': {},
          },
        },
      },
    ),
    apply(
      'b',
      `${SERVICES}/{id}-ah`,
      service('ah', { ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] }),
      { 'spec.ports.#': 2 },
    ),
    apply('a', `${SERVICES}/{id}-ah`, service('ah', { selector: { app: 'y' } }), {
      'spec.ports.#': 1,
      'spec.ports.0.name': 'dns',
      'spec.selector': { app: 'y' },
    }),
  ],
  [
    'an apply needs a manager, a kind and the name of its path',
    {
      do: `PATCH ${MAPS}/{id}-ai`,
      type: 'apply',
      body: map('ai'),
      want: refused(422, 'Invalid', { 'details.causes.0.field': 'fieldManager' }),
    },
    {
      do: `PATCH ${MAPS}/{id}-ai?fieldManager=a`,
      type: 'apply',
      body: { metadata: { name: '{id}-ai' } },
      want: { status: 400, kind: 'Status' },
    },
    {
      do: `PATCH ${MAPS}/{id}-ai?fieldManager=a`,
      type: 'apply',
      body: map('other'),
      want: refused(400, 'BadRequest'),
    },
    {
      do: `PATCH ${MAPS}/{id}-ai?fieldManager=a`,
      type: 'apply',
      body: map('ai', {}, { managedFields: [{ manager: 'x' }] }),
      want: refused(400, 'BadRequest'),
    },
    { do: `GET ${MAPS}/{id}-ai`, want: { status: 404 } },
  ],
  [
    'an apply with the uid of another object makes none',
    {
      do: `PATCH ${MAPS}/{id}-aj?fieldManager=a`,
      type: 'apply',
      body: map('aj', {}, { uid: '2b2e8b0c-8a36-4a0f-9d0c-1c2f7f7a0001' }),
      want: { status: 409, reason: 'Conflict' },
    },
    { do: `GET ${MAPS}/{id}-aj`, want: { status: 404 } },
  ],
]

export const scaling: readonly Row[] = [
  [
    'a scale shows and sets replicas, and its writer owns them',
    post(`${DEPLOYMENTS}?fieldManager=u`, deployment('sa', { replicas: 2 }), {
      'metadata.generation': 1,
    }),
    get(`${DEPLOYMENTS}/{id}-sa/scale`, {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      'metadata.name': '{id}-sa',
      'metadata.uid': '{uid}',
      'spec.replicas': 2,
      'status.replicas': 0,
      'status.selector': 'app={id}-sa',
    }),
    patch(
      'merge',
      `${DEPLOYMENTS}/{id}-sa/scale?fieldManager=h`,
      { spec: { replicas: 5 } },
      {
        kind: 'Scale',
        'spec.replicas': 5,
      },
    ),
    get(`${DEPLOYMENTS}/{id}-sa`, {
      'spec.replicas': 5,
      'metadata.generation': 2,
      'metadata.managedFields.#': 2,
    }),
    {
      do: `PUT ${DEPLOYMENTS}/{id}-sa/scale`,
      body: {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: { name: '{id}-sa', namespace: 'default', resourceVersion: '{rv}' },
        spec: { replicas: 6 },
      },
      want: refused(409, 'Conflict'),
    },
    {
      do: `PATCH ${DEPLOYMENTS}/{id}-sa/scale`,
      type: 'merge',
      body: { spec: { replicas: -1 } },
      want: { status: 422, reason: 'Invalid' },
    },
  ],
  [
    'replicas that are applied no more are 1 again',
    apply('a', `${DEPLOYMENTS}/{id}-sb`, deployment('sb', { replicas: 3 }), made),
    apply('a', `${DEPLOYMENTS}/{id}-sb`, deployment('sb'), { 'spec.replicas': 1 }),
  ],
  [
    'replicas are handed over by a second manager that applies them alone',
    apply('a', `${DEPLOYMENTS}/{id}-sc`, deployment('sc', { replicas: 3 }), made),
    apply('r', `${DEPLOYMENTS}/{id}-sc`, replicasOf('sc', 3), {
      'metadata.managedFields.#': 2,
    }),
    apply('a', `${DEPLOYMENTS}/{id}-sc`, deployment('sc'), { 'spec.replicas': 3 }),
  ],
  [
    'what a scale really wrote, an apply that does not name it leaves',
    apply('a', `${DEPLOYMENTS}/{id}-sd`, deployment('sd', { replicas: 3 }), made),
    patch('merge', `${DEPLOYMENTS}/{id}-sd/scale?fieldManager=h`, { spec: { replicas: 5 } }),
    apply('a', `${DEPLOYMENTS}/{id}-sd`, deployment('sd'), { 'spec.replicas': 5 }),
    {
      do: `PATCH ${DEPLOYMENTS}/{id}-sd?fieldManager=a`,
      type: 'apply',
      body: deployment('sd', { replicas: 3 }),
      want: refused(409, 'Conflict', { 'details.causes.0.field': '.spec.replicas' }),
    },
  ],
]

export const dryRunning: readonly Row[] = [
  [
    'a dry run answers as if, and leaves nothing',
    post(`${MAPS}?dryRun=All`, map('da', data({ k: '1' })), { data: { k: '1' } }),
    { do: `GET ${MAPS}/{id}-da`, want: { status: 404 } },
    apply('a', `${MAPS}/{id}-da?dryRun=All`, map('da', data({ k: '1' })), made),
    { do: `GET ${MAPS}/{id}-da`, want: { status: 404 } },
    post(MAPS, map('da', data({ k: '1' }))),
    patch('merge', `${MAPS}/{id}-da?dryRun=All`, data({ k: '2' }), { data: { k: '2' } }),
    put(`${MAPS}/{id}-da?dryRun=All`, map('da', data({ k: '3' })), { data: { k: '3' } }),
    del(`${MAPS}/{id}-da?dryRun=All`),
    del(`${MAPS}/{id}-da`, {}, { dryRun: ['All'] }),
    get(`${MAPS}/{id}-da`, { data: { k: '1' }, 'metadata.resourceVersion': '{rv}' }),
  ],
  [
    'a dry run is refused where the write would be',
    {
      do: `POST ${DEPLOYMENTS}?dryRun=All`,
      body: deployment('db', { selector: { matchLabels: { app: 'other' } } }),
      want: refused(422, 'Invalid'),
    },
  ],
]

export const custom: readonly Row[] = [
  [
    'a custom resource is served when it is defined',
    ...defining,
    post(WIDGETS, widget('a', { spec: { colour: 'red' } }), {
      kind: 'Widget',
      apiVersion: '{id}.example.com/v1',
      'metadata.generation': 1,
    }),
    { watch: `${WIDGETS}?watch=true&resourceVersion={rv}`, as: 'w' },
    patch('merge', `${WIDGETS}/a`, { spec: { colour: 'blue' } }, { 'metadata.generation': 2 }),
    post(WIDGETS, widget('b')),
    get(
      `${WIDGETS}?limit=1`,
      { 'items.#': 1, 'items.0.metadata.name': 'a' },
      { next: 'metadata.continue' },
    ),
    get(`${WIDGETS}?limit=1&continue={next}`, { 'items.#': 1, 'items.0.metadata.name': 'b' }),
    del(`${WIDGETS}/a`, { kind: 'Status', status: 200, 'details.name': 'a' }),
    { events: 'w', want: ['MODIFIED a', 'ADDED b', 'DELETED a'] },
    {
      do: `PATCH ${WIDGETS}/b`,
      type: 'strategic',
      body: { spec: {} },
      want: refused(415, 'UnsupportedMediaType'),
    },
    { do: `PUT ${WIDGETS}/b`, body: widget('b'), want: { status: 422, reason: 'Invalid' } },
  ],
  [
    'status and spec of a custom resource are written apart',
    ...defining,
    post(WIDGETS, widget('a', { spec: { colour: 'red' }, status: { phase: 'Up' } }), {
      status: 201,
      'status.phase': null,
    }),
    patch(
      'merge',
      `${WIDGETS}/a/status`,
      { metadata: { labels: { l: 'x' } }, spec: { colour: 'blue' }, status: { phase: 'Up' } },
      { 'spec.colour': 'red', 'metadata.labels': null, 'metadata.generation': 1 },
    ),
    patch(
      'merge',
      `${WIDGETS}/a`,
      { spec: { colour: 'blue' }, status: { phase: 'Down' } },
      {
        'spec.colour': 'blue',
        'metadata.generation': 2,
      },
    ),
    { do: `GET ${WIDGETS}/a/status`, want: { 'status.phase': 'Up' } },
    {
      do: `PATCH ${WIDGETS}/a/status?fieldManager=s`,
      type: 'apply',
      body: widget('a', { spec: { colour: 'green' }, status: { replicas: 4 } }),
      want: { 'spec.colour': 'blue', 'metadata.generation': 2 },
    },
    { do: `GET ${WIDGETS}/a/scale`, want: { status: 500, kind: 'Status' } },
    patch('merge', `${WIDGETS}/a`, { spec: { replicas: 3 } }),
    get(`${WIDGETS}/a/scale`, { kind: 'Scale', 'spec.replicas': 3, 'status.replicas': 4 }),
  ],
  [
    'a custom resource is applied by the rules of its schema',
    ...defining,
    apply('a', `${WIDGETS}/a`, widget('a', { spec: { parts: [{ name: 'x', size: 1 }] } }), {
      ...made,
      'metadata.managedFields.0.fieldsV1': {
        'f:spec': { 'f:parts': { 'k:{"name":"x"}': { '.': {}, 'f:name': {}, 'f:size': {} } } },
      },
    }),
    apply('b', `${WIDGETS}/a`, widget('a', { spec: { parts: [{ name: 'y' }] } }), {
      'spec.parts': [{ name: 'x', size: 1 }, { name: 'y' }],
    }),
    apply('a', `${WIDGETS}/a`, widget('a', { spec: { parts: [{ name: 'x' }] } }), {
      'spec.parts': [{ name: 'x' }, { name: 'y' }],
    }),
    apply('a', `${WIDGETS}/a`, widget('a', { spec: {} }), { 'spec.parts': [{ name: 'y' }] }),
    patch('merge', `${WIDGETS}/a/scale`, { spec: { replicas: 3 } }, { 'spec.replicas': 3 }),
    get(`${WIDGETS}/a`, { 'spec.replicas': 3 }),
  ],
]

export const metadataAlone: readonly Row[] = [
  [
    'metadata alone is got, listed and watched',
    post(MAPS, map('ma', data({ k: '1' }), { labels: { l: '{id}ma' } })),
    {
      do: `GET ${MAPS}/{id}-ma`,
      accept: METADATA,
      want: { kind: 'PartialObjectMetadata', 'metadata.uid': '{uid}', data: null },
    },
    {
      do: `GET ${MAPS}?labelSelector=l={id}ma`,
      accept: METADATA_LIST,
      want: {
        kind: 'PartialObjectMetadataList',
        'items.0.metadata.name': '{id}-ma',
        'items.0.data': null,
      },
    },
    {
      watch: `${MAPS}?watch=true&labelSelector=l={id}ma&resourceVersion={rv}`,
      as: 'w',
      accept: METADATA,
    },
    patch('merge', `${MAPS}/{id}-ma`, data({ k: '2' })),
    { events: 'w', want: ['MODIFIED metadata of {id}-ma'] },
  ],
]
