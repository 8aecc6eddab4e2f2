// SPDX-License-Identifier: Apache-2.0
// Conformance rows: POST, PUT and DELETE.
import type { Row } from '../../testkit/kube/conformance.js'
import {
  NODES,
  MAPS,
  LEASES,
  SLICES,
  SECRETS,
  SERVICES,
  PODS,
  NOT_READY,
  taint,
  ready,
  node,
  map,
  lease,
  post,
  get,
  patch,
  put,
  del,
  refused,
} from './conformance-words.js'

export const creating: readonly Row[] = [
  [
    'a new node is tainted not-ready and gets uid and versions',
    post(NODES, node('c1', { spec: { taints: [taint('a')] } }), {
      kind: 'Node',
      apiVersion: 'v1',
      'metadata.generation': null,
      'spec.taints': [taint('a'), NOT_READY],
    }),
  ],
  [
    'an existing name is refused',
    post(NODES, node('c2')),
    {
      do: `POST ${NODES}`,
      body: node('c2'),
      want: refused(409, 'AlreadyExists', {
        message: 'nodes "{id}-c2" already exists',
        details: { name: '{id}-c2', kind: 'nodes' },
      }),
    },
  ],
  [
    'generateName makes up an end',
    {
      do: `POST ${MAPS}`,
      body: { metadata: { generateName: '{id}-gen-' } },
      save: { name: 'metadata.name' },
      want: { status: 201, 'metadata.generateName': '{id}-gen-' },
    },
    get(`${MAPS}/{name}`, { 'metadata.name': '{name}' }),
  ],
  [
    'an object needs a name',
    {
      do: `POST ${NODES}`,
      body: { metadata: {} },
      want: refused(422, 'Invalid', {
        message:
          'Node "" is invalid: metadata.name: Required value: name or generateName is required',
        'details.causes.0.field': 'metadata.name',
        'details.causes.0.reason': 'FieldValueRequired',
      }),
    },
  ],
  [
    'a name is an RFC 1123 subdomain',
    {
      do: `POST ${NODES}`,
      body: { metadata: { name: 'Not_Good' } },
      want: refused(422, 'Invalid', {
        'details.name': 'Not_Good',
        'details.kind': 'Node',
        'details.causes.0.field': 'metadata.name',
        'details.causes.0.reason': 'FieldValueInvalid',
      }),
    },
  ],
  [
    'a namespace must exist',
    {
      do: 'POST /api/v1/namespaces/{id}-none/configmaps',
      body: map('c3'),
      want: refused(404, 'NotFound', {
        message: 'namespaces "{id}-none" not found',
        details: { name: '{id}-none', kind: 'namespaces' },
      }),
    },
  ],
  [
    'a namespace can be made, and used at once',
    post(
      '/api/v1/namespaces',
      { metadata: { name: '{id}-ns' } },
      {
        'status.phase': 'Active',
        'spec.finalizers': ['kubernetes'],
        'metadata.labels': { 'kubernetes.io/metadata.name': '{id}-ns' },
      },
    ),
    post('/api/v1/namespaces/{id}-ns/configmaps', map('c4'), { 'metadata.namespace': '{id}-ns' }),
  ],
  [
    'the namespace of body and path must agree',
    {
      do: `POST ${MAPS}`,
      body: map('c5', {}, { namespace: 'other' }),
      want: refused(400, 'BadRequest'),
    },
  ],
  [
    'a body of another kind is refused',
    { do: `POST ${MAPS}`, body: node('c6'), want: refused(400, 'BadRequest') },
  ],
  [
    'a body of another group is refused',
    {
      do: `POST ${MAPS}`,
      body: map('c7', { apiVersion: 'apps/v1' }),
      want: refused(400, 'BadRequest'),
    },
  ],
  [
    'kind and apiVersion may be left out',
    post(MAPS, { metadata: { name: '{id}-c8' }, data: { a: 'b' } }, { kind: 'ConfigMap' }),
  ],
  [
    'a broken body is refused',
    { do: `POST ${MAPS}`, body: '{"metadata":', want: refused(400, 'BadRequest') },
  ],
  [
    'a body that is a list is refused',
    { do: `POST ${MAPS}`, body: [1], want: refused(400, 'BadRequest') },
  ],
  [
    'labels must be texts',
    { do: `POST ${NODES}`, body: node('c9', {}, { a: 1 }), want: refused(400, 'BadRequest') },
  ],
  [
    'a label value must be valid',
    { do: `POST ${NODES}`, body: node('c10', {}, { a: '-' }), want: refused(422, 'Invalid') },
  ],
  [
    'an unknown media type is refused',
    {
      do: `POST ${MAPS}`,
      body: map('c11'),
      type: 'text/plain',
      want: refused(415, 'UnsupportedMediaType'),
    },
  ],
  [
    'a resourceVersion must not be posted',
    {
      do: `POST ${MAPS}`,
      body: map('c12', {}, { resourceVersion: '5' }),
      want: { status: 500, message: 'resourceVersion should not be set on objects to be created' },
    },
  ],
  [
    'a dry run keeps nothing',
    {
      do: `POST ${MAPS}?dryRun=All`,
      body: map('c13'),
      want: { status: 201, 'metadata.name': '{id}-c13' },
    },
    { do: `GET ${MAPS}/{id}-c13`, want: refused(404, 'NotFound') },
  ],
  [
    'config data must be texts',
    { do: `POST ${MAPS}`, body: map('c14', { data: { a: 1 } }), want: refused(400, 'BadRequest') },
  ],
  [
    'stringData of a secret becomes data',
    post(
      SECRETS,
      { metadata: { name: '{id}-s1' }, stringData: { a: 'b' }, data: { c: 'ZA==' } },
      { data: { a: 'Yg==', c: 'ZA==' }, stringData: null, type: 'Opaque' },
    ),
  ],
  [
    'data of a secret must be base64',
    {
      do: `POST ${SECRETS}`,
      body: { metadata: { name: '{id}-s2' }, data: { a: '!' } },
      want: refused(400, 'BadRequest'),
    },
  ],
  [
    'a taint needs an effect',
    {
      do: `POST ${NODES}`,
      body: node('c15', { spec: { taints: [{ key: 'a' }] } }),
      want: refused(422, 'Invalid', { 'details.causes.0.field': 'metadata.taints[0].effect' }),
    },
  ],
  [
    'two taints of one key and effect are refused',
    {
      do: `POST ${NODES}`,
      body: node('c16', { spec: { taints: [taint('a'), taint('a')] } }),
      want: refused(422, 'Invalid', { 'details.causes.0.reason': 'FieldValueDuplicate' }),
    },
  ],
  [
    'a service gets an address, a headless one does not',
    {
      do: `POST ${SERVICES}`,
      body: { metadata: { name: 'a{id}' }, spec: { ports: [{ port: 80 }] } },
      save: { ip: 'spec.clusterIP' },
      want: {
        status: 201,
        'spec.type': 'ClusterIP',
        'spec.ports': [{ protocol: 'TCP', port: 80, targetPort: 80 }],
        'spec.sessionAffinity': 'None',
        'spec.internalTrafficPolicy': 'Cluster',
        'spec.ipFamilies': ['IPv4'],
        'spec.ipFamilyPolicy': 'SingleStack',
        'status.loadBalancer': {},
      },
    },
    get(`${SERVICES}/a{id}`, { 'spec.clusterIPs': ['{ip}'] }),
    post(
      SERVICES,
      { metadata: { name: 'b{id}' }, spec: { clusterIP: 'None', ports: [{ port: 80 }] } },
      { 'spec.clusterIP': 'None', 'spec.clusterIPs': ['None'] },
    ),
    get(`${SERVICES}?fieldSelector=spec.clusterIP!=None,metadata.name=b{id}`, { 'items.#': 0 }),
    get(`${SERVICES}?fieldSelector=spec.clusterIP!=None,metadata.name=a{id}`, { 'items.#': 1 }),
  ],
  [
    'a slice needs an address type, which stays',
    {
      do: `POST ${SLICES}`,
      body: { metadata: { name: '{id}-sl1' } },
      want: refused(422, 'Invalid', { 'details.causes.0.field': 'addressType' }),
    },
    post(
      SLICES,
      {
        metadata: { name: '{id}-sl2' },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.0.0.1'] }],
      },
      {
        'metadata.generation': 1,
        ports: null,
        endpoints: [{ addresses: ['10.0.0.1'], conditions: {} }],
      },
    ),
    patch(
      'merge',
      `${SLICES}/{id}-sl2`,
      { metadata: { labels: { a: 'b' } } },
      { 'metadata.generation': 2 },
    ),
    patch(
      'merge',
      `${SLICES}/{id}-sl2`,
      { endpoints: [] },
      { 'metadata.generation': 3, endpoints: null },
    ),
    patch('merge', `${SLICES}/{id}-sl2`, { addressType: 'IPv6' }, refused(422, 'Invalid')),
  ],
  [
    'a bare pod is pending and tolerates a lost node for five minutes',
    post(
      PODS,
      {
        metadata: { name: '{id}-p1' },
        spec: { nodeName: '{id}-x', containers: [{ name: 'a', image: 'b' }] },
      },
      {
        'status.phase': 'Pending',
        'spec.restartPolicy': 'Always',
        'spec.tolerations.#': 2,
        'spec.tolerations.0.key': 'node.kubernetes.io/not-ready',
        'spec.tolerations.1.tolerationSeconds': 300,
      },
    ),
    get('/api/v1/pods?fieldSelector=spec.nodeName={id}-x,status.phase!=Failed', { 'items.#': 1 }),
    patch(
      'strategic',
      `${PODS}/{id}-p1/status`,
      { status: { conditions: [ready('False')] } },
      {
        'status.conditions.0.type': 'Ready',
      },
    ),
    del(`${PODS}/{id}-p1`, { kind: 'Pod' }, { gracePeriodSeconds: 0 }),
    { do: `GET ${PODS}/{id}-p1`, want: refused(404, 'NotFound') },
  ],
]

export const replacing: readonly Row[] = [
  [
    'a stale PUT conflicts',
    post(MAPS, map('u1')),
    patch('merge', `${MAPS}/{id}-u1`, { data: { a: 'b' } }),
    put(
      `${MAPS}/{id}-u1`,
      map('u1', {}, { resourceVersion: '{rv}' }),
      refused(409, 'Conflict', {
        message:
          'Operation cannot be fulfilled on configmaps "{id}-u1": the object has been modified; please apply your changes to the latest version and try again',
        details: { name: '{id}-u1', kind: 'configmaps' },
      }),
    ),
    put(`${MAPS}/{id}-u1`, map('u1', { data: { c: 'd' } }, { resourceVersion: '{after}' }), {
      data: { c: 'd' },
    }),
  ],
  [
    'a PUT without a version wins',
    post(MAPS, map('u2')),
    put(`${MAPS}/{id}-u2`, map('u2', { data: { a: 'b' } }), { 'metadata.uid': '{uid}' }),
  ],
  [
    'a PUT that changes nothing keeps the version',
    post(MAPS, map('u3', { data: { a: 'b' } })),
    put(`${MAPS}/{id}-u3`, map('u3', { data: { a: 'b' } }), { 'metadata.resourceVersion': '{rv}' }),
  ],
  [
    'a PUT with another uid conflicts',
    post(MAPS, map('u4')),
    put(`${MAPS}/{id}-u4`, map('u4', {}, { uid: 'x' }), refused(409, 'Conflict')),
  ],
  [
    'a PUT of another name is refused',
    post(MAPS, map('u5')),
    put(`${MAPS}/{id}-u5`, map('u6'), refused(400, 'BadRequest')),
  ],
  [
    'a PUT makes no config map',
    put(
      `${MAPS}/{id}-u7`,
      map('u7'),
      refused(404, 'NotFound', { message: 'configmaps "{id}-u7" not found' }),
    ),
  ],
  [
    'a PUT makes a lease, and must name its version afterwards',
    put(`${LEASES}/{id}-u8`, lease('u8'), { status: 201 }),
    put(
      `${LEASES}/{id}-u8`,
      lease('u8', { spec: { holderIdentity: 'a' } }),
      refused(422, 'Invalid', {
        'details.causes.0.field': 'metadata.resourceVersion',
        'details.group': 'coordination.k8s.io',
      }),
    ),
  ],
  [
    'errors outside the core group name the group',
    {
      do: `GET ${LEASES}/{id}-none`,
      want: refused(404, 'NotFound', {
        message: 'leases.coordination.k8s.io "{id}-none" not found',
        details: { name: '{id}-none', group: 'coordination.k8s.io', kind: 'leases' },
      }),
    },
  ],
  [
    'a PUT to a node leaves its status, a PUT to its status leaves its spec',
    post(NODES, node('u9', { status: { conditions: [ready('True')] } }), {
      'status.conditions.0.status': 'True',
    }),
    put(
      `${NODES}/{id}-u9`,
      node('u9', { spec: { podCIDR: '10.9.0.0/24' }, status: { conditions: [] } }),
      {
        'status.conditions.0.status': 'True',
        'spec.taints': null,
        'spec.podCIDR': '10.9.0.0/24',
      },
    ),
    put(
      `${NODES}/{id}-u9/status`,
      node('u9', { spec: { unschedulable: true }, status: { phase: 'Running' } }, { b: 'c' }),
      {
        'spec.unschedulable': null,
        'spec.podCIDR': '10.9.0.0/24',
        'status.conditions': null,
        'metadata.labels.b': 'c',
      },
    ),
  ],
  [
    'immutable config stays',
    post(MAPS, map('u10', { immutable: true, data: { a: 'b' } })),
    patch('merge', `${MAPS}/{id}-u10`, { data: { a: 'c' } }, refused(422, 'Invalid')),
    patch('merge', `${MAPS}/{id}-u10`, { metadata: { labels: { a: 'c' } } }),
  ],
]

export const deleting: readonly Row[] = [
  [
    'a delete answers with a Status',
    post(NODES, node('d1')),
    del(`${NODES}/{id}-d1`, {
      kind: 'Status',
      status: 200,
      details: { name: '{id}-d1', kind: 'nodes', uid: '{uid}' },
    }),
    { do: `DELETE ${NODES}/{id}-d1`, want: refused(404, 'NotFound') },
  ],
  [
    'a delete may name the uid',
    post(MAPS, map('d2')),
    del(`${MAPS}/{id}-d2`, refused(409, 'Conflict'), { preconditions: { uid: 'x' } }),
    del(`${MAPS}/{id}-d2`, refused(409, 'Conflict'), { preconditions: { resourceVersion: '1' } }),
    del(`${MAPS}/{id}-d2`, {}, { preconditions: { uid: '{uid}', resourceVersion: '{rv}' } }),
  ],
  [
    'finalizers keep an object until they are gone',
    post(MAPS, map('d3', {}, { finalizers: ['a/b'] })),
    del(`${MAPS}/{id}-d3`, { kind: 'ConfigMap' }),
    get(`${MAPS}/{id}-d3`, { 'metadata.finalizers': ['a/b'] }),
    patch('merge', `${MAPS}/{id}-d3`, { metadata: { finalizers: null } }),
    { do: `GET ${MAPS}/{id}-d3`, want: refused(404, 'NotFound') },
  ],
  [
    'a collection goes by selector',
    post(MAPS, map('d4', {}, { labels: { run: '{id}-d' } })),
    post(MAPS, map('d5', {}, { labels: { run: '{id}-d' } })),
    post(MAPS, map('d6', {}, { labels: { run: '{id}-e' } })),
    del(`${MAPS}?labelSelector=run={id}-d`, { kind: 'ConfigMapList', 'items.#': 2 }),
    get(`${MAPS}?labelSelector=run+in+({id}-d,{id}-e)`, { 'items.#': 1 }),
  ],
]
