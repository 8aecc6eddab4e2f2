// SPDX-License-Identifier: Apache-2.0
// What a Kubernetes API server does, as data. Every row holds on a real kube-apiserver v1.36; the embedded one must
// do the same. Rows leave their objects behind: names carry the run's id and the row's own letters.
import type { Row, Step } from '../support/conformance.js'

const NODES = '/api/v1/nodes'
const MAPS = '/api/v1/namespaces/default/configmaps'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const EVENTS = '/api/v1/namespaces/default/events'
const NEW_EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'
const SECRETS = '/api/v1/namespaces/default/secrets'
const SERVICES = '/api/v1/namespaces/default/services'
const PODS = '/api/v1/namespaces/default/pods'

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
const taint = (key: string): object => ({ key, effect: 'NoExecute' })
const ready = (status: string): object => ({ type: 'Ready', status })

type Body = Record<string, unknown>

const node = (name: string, more: Body = {}, labels: Body = {}): Body => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `{id}-${name}`, labels: { run: `{id}-${name}`, ...labels } },
  ...more,
})
const map = (name: string, more: Body = {}, metadata: Body = {}): Body => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `{id}-${name}`, ...metadata },
  ...more,
})
const lease = (name: string, more: Body = {}, metadata: Body = {}): Body => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: `{id}-${name}`, ...metadata },
  ...more,
})

/** Post an object, keep its version as {rv} and its uid as {uid}. */
const post = (path: string, body: unknown, want: Body = {}): Step => ({
  do: `POST ${path}`,
  body,
  save: { rv: 'metadata.resourceVersion', uid: 'metadata.uid' },
  want: { status: 201, ...want },
})
const get = (path: string, want: Body, save: Record<string, string> = {}): Step => ({
  do: `GET ${path}`,
  save,
  want: { status: 200, ...want },
})
const patch = (type: string, path: string, body: unknown, want: Body = {}): Step => ({
  do: `PATCH ${path}`,
  type,
  body,
  save: { after: 'metadata.resourceVersion' },
  want: { status: 200, ...want },
})
const put = (path: string, body: unknown, want: Body = {}): Step => ({
  do: `PUT ${path}`,
  body,
  want: { status: 200, ...want },
})
const del = (path: string, want: Body = {}, body?: unknown): Step => ({
  do: `DELETE ${path}`,
  body,
  want: { status: 200, ...want },
})
const refused = (status: number, reason: string, more: Body = {}): Body => ({
  status,
  kind: 'Status',
  reason,
  code: status,
  ...more,
})

const creating: readonly Row[] = [
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

const replacing: readonly Row[] = [
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

const A = `${NODES}/{id}-m`

const patching: readonly Row[] = [
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

const deleting: readonly Row[] = [
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

const LIST = `${NODES}?labelSelector=l={id}`
const three = (l: string): Step[] =>
  ['a', 'b', 'c'].map(name => post(NODES, node(`${l}${name}`, {}, { l: `{id}${l}`, n: name })))

const listing: readonly Row[] = [
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
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
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
    'a form that nobody makes is refused',
    { do: `GET ${NODES}`, accept: 'text/html', want: { status: 406, reason: 'NotAcceptable' } },
  ],
]

const W = (l: string, more = ''): string => `${NODES}?watch=true&labelSelector=l={id}${l}${more}`

const watching: readonly Row[] = [
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
]

const about = { kind: 'Node', name: '{id}-n', uid: 'u', apiVersion: 'v1' }

const events: readonly Row[] = [
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

const paths: readonly Row[] = [
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
    get(`${NODES}/{id}-g1?resourceVersion=0`, { 'metadata.name': '{id}-g1' }),
    get(`${NODES}/{id}-g1?resourceVersion={rv}`, { kind: 'Node' }),
    get(`${NODES}/{id}-g1/status`, { kind: 'Node' }),
  ],
]

/** Everything that the embedded API and the real one must have in common. */
export const rows: readonly Row[] = [
  ...creating,
  ...replacing,
  ...patching,
  ...deleting,
  ...listing,
  ...watching,
  ...events,
  ...paths,
]
