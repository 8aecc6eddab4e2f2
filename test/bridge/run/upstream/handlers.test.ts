// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { settle } from '../../../../testkit/fake-clock.js'
import { KubeStatusError, KubeUnreachableError, TimeoutError } from '../../../../core/errors.js'
import { parseExactJson, writeExactJson } from '../../../../core/exact-json.js'
import { isMap, type JsonMap } from '../../../../core/json.js'
import { openUpstream, POD, said, type Asked } from './upstream-stage.js'

const NODE = '/api/v1/nodes/e1'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const SHOP = '/api/v1/namespaces/shop'

const registration = said('insert', 'null/node/e1', {
  metadata: { name: 'e1', labels: { 'node-role.kubernetes.io/edge': '' } },
  status: {},
})
const lease = (operation: string) =>
  said(operation, 'kube-node-lease/lease/e1', {
    metadata: { name: 'e1', resourceVersion: '7' },
    spec: { holderIdentity: 'e1', leaseDurationSeconds: 40, renewTime: '2001-01-01T00:00:00Z' },
  })
const podpatch = (uid?: string) =>
  said('patch', 'shop/podpatch/web', JSON.stringify({ metadata: uid === undefined ? {} : { uid }, status: { phase: 'Running' } })) // prettier-ignore
const token = (audiences: readonly string[] | null, uid = 'u1') =>
  said('query', 'shop/serviceaccounttoken/runner', {
    spec: { audiences, expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', name: 'web', uid } },
  })
const event = (operation: string, content: object) => said(operation, 'shop/event/web.1', content)
const ABOUT_WEB = {
  involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web' },
  source: { component: 'kubelet', host: 'e1' },
  count: 1,
}

t.test('nothing is done for a node whose Node is not an edge node', async t => {
  const { ask, connect, api, state } = openUpstream()
  const link = connect()
  state.isEdge = false
  const answers: [isForeign: () => Promise<boolean>, status: number][] = [
    [() => Promise.resolve(true), 403],
    [() => Promise.reject(new KubeUnreachableError('GET', 'away')), 503],
  ]
  for (const [isForeign, status] of answers) {
    state.isForeign = isForeign
    await ask(link, token(null))
    await ask(link, said('query', 'shop/secret/own'))
    const answer = await ask(link, podpatch('u1'))
    t.match(answer?.content, { Err: { ErrStatus: { code: status } } })
  }
  t.strictSame(api.asked, [])
})

t.test('what reaches the apiserver', async t => {
  const rows: [title: string, message: ReturnType<typeof said>, asked: readonly Asked[]][] = [
    [
      'a node makes itself, and nothing but itself',
      registration,
      [{ verb: 'create', path: NODE, body: { metadata: { name: 'e1' } } }],
    ],
    [
      'status patches go as they came',
      said('patch', 'null/nodepatch/e1', '{"status":{"x":12345678901234567890}}'),
      [{ verb: 'patch', path: `${NODE}/status`, body: '{"status":{"x":12345678901234567890}}' }],
    ],
    [
      'a Lease has the time at which it arrived, by the clock of the apiserver',
      lease('update'),
      [
        {
          verb: 'update',
          path: `${LEASES}/e1`,
          body: {
            metadata: { resourceVersion: '7' },
            spec: { renewTime: '2026-01-01T00:01:40.000000Z' },
          },
        },
      ],
    ],
    ['a new Lease', lease('insert'), [{ verb: 'create', path: `${LEASES}/e1`, body: {} }]],
    [
      'a Lease is read',
      said('query', 'kube-node-lease/lease/e1'),
      [{ verb: 'get', path: `${LEASES}/e1`, body: undefined }],
    ],
    [
      'a patch of a pod is for that pod alone, though the edge does not say so',
      podpatch(),
      [
        {
          verb: 'patch',
          path: `${SHOP}/pods/web/status`,
          body: '{"metadata":{"uid":"u1"},"status":{"phase":"Running"}}',
        },
      ],
    ],
    [
      'a pod that has ended is removed, that pod alone',
      said('delete', 'shop/pod/web', { gracePeriodSeconds: 0, preconditions: { uid: 'u1' } }),
      [{ verb: 'delete', path: `${SHOP}/pods/web`, body: { uid: 'u1', gracePeriodSeconds: 0 } }],
    ],
    [
      'the delete of an older pod of that name reaches nobody',
      said('delete', 'shop/pod/web', { preconditions: { uid: 'u0' } }),
      [],
    ],
    [
      'a token for the apiserver',
      token(null),
      [
        {
          verb: 'create',
          path: `${SHOP}/serviceaccounts/runner/token`,
          body: { spec: { boundObjectRef: { uid: 'u1' }, expirationSeconds: 3607 } },
        },
      ],
    ],
    [
      'a token for whom the pod wants one',
      token(['vault']),
      [
        { verb: 'get', path: `${SHOP}/pods/web`, body: undefined },
        {
          verb: 'create',
          path: `${SHOP}/serviceaccounts/runner/token`,
          body: { spec: { audiences: ['vault'] } },
        },
      ],
    ],
    [
      'no token for anybody else',
      token(['bank']),
      [{ verb: 'get', path: `${SHOP}/pods/web`, body: undefined }],
    ],
    [
      'an Event about its own pod',
      event('insert', { ...ABOUT_WEB, metadata: { name: 'other', ownerReferences: [{}] } }),
      [
        {
          verb: 'create',
          path: `${SHOP}/events/web.1`,
          body: { metadata: { namespace: 'shop', name: 'web.1' }, count: 1 },
        },
      ],
    ],
    [
      'an Event that happened again',
      event('patch', {
        event: ABOUT_WEB,
        patchData: Buffer.from('{"count":2,"involvedObject":{"name":"x"}}').toString('base64'),
      }),
      [
        { verb: 'get', path: `${SHOP}/events/web.1`, body: undefined },
        {
          verb: 'patch',
          path: `${SHOP}/events/web.1`,
          body: { count: 2, metadata: { uid: 'ev1' } },
        },
      ],
    ],
    ['a Secret of others', said('query', 'shop/secret/foreign'), []],
    ['a Node of others', said('query', 'null/node/e2'), []],
    ['a Lease of others', said('update', 'kube-node-lease/lease/e2', {}), []],
    ['a certificate of the cluster', said('insert', 'null/certificatesigningrequest/x', {}), []],
    ['devices', said('get', 'membership/detail', '{}', 'twin'), []],
  ]
  for (const [title, message, asked] of rows) {
    const { api, ask, connect } = openUpstream()
    api.objects.set(`${SHOP}/pods/web`, POD)
    api.objects.set(`${SHOP}/events/web.1`, { ...ABOUT_WEB, metadata: { uid: 'ev1' } })
    await ask(connect(), message)
    t.match(api.asked, asked, title)
    t.equal(api.asked.length, asked.length, title)
  }
})

t.test('an int64 of an object is an edge’s as the API wrote it', async t => {
  const long = '{"metadata":{"name":"must","generation":9223372036854775807}}'
  const { api, ask, connect } = openUpstream()
  api.objects.set(`${SHOP}/configmaps/must`, parseExactJson(long) as JsonMap)
  const reply = await ask(connect(), said('query', 'shop/configmap/must'))
  t.match(writeExactJson(reply?.content), /"generation":9223372036854775807}/)
  const patch = `{"metadata":{"uid":"u1"},"status":{"n":9223372036854775807}}`
  for (const content of [patch, parseExactJson(patch)]) {
    await ask(connect(), said('patch', 'shop/podpatch/web', content))
    t.equal(api.asked.at(-1)?.body, patch)
  }
})

t.test('a node may not change what others report about it', async t => {
  const rows: [title: string, known: object][] = [
    ['a controller', { source: { component: 'node-controller' } }],
    ['the agent of another', { source: undefined, reportingInstance: 'e2' }],
  ]
  for (const [title, known] of rows) {
    const { api, ask, connect } = openUpstream()
    api.objects.set(`${SHOP}/events/web.1`, { ...ABOUT_WEB, ...known, metadata: { uid: 'ev1' } })
    await ask(connect(), event('update', { ...ABOUT_WEB, message: 'all is well' }))
    t.match(api.asked, [{ verb: 'get' }], title)
    t.equal(api.asked.length, 1, title)
  }
})

t.test(
  'who may not have an object any more is not given it, and what one may not have none of his questions begins',
  async t => {
    const { api, connect, locations, say, ask } = openUpstream()
    api.objects.set(`${SHOP}/secrets/own`, { metadata: { uid: 's', name: 'own' }, data: {} })
    const link = connect()
    let go = (): void => undefined
    api.gate = () => new Promise(resolve => (go = resolve))
    const asked = said('query', 'shop/secret/own')
    say(link, asked)
    await settle()
    const other = await ask(connect('e2'), said('query', 'shop/secret/own'))
    t.match(other, { operation: 'error', content: /forbidden/ }, 'while it is read for another')
    t.equal(api.asked.length, 1)
    locations.removePod('u1')
    go()
    await settle()
    t.match(link.sent, [{ parentId: asked.id, operation: 'error', content: /forbidden/ }])
  },
)

t.test('what an edge is answered', async t => {
  const forbidden = {
    content: { Object: null, Err: { ErrStatus: { code: 403, reason: 'Forbidden' } } },
  }
  const rows: [title: string, message: ReturnType<typeof said>, reply: object | undefined][] = [
    ['its Node', registration, { content: { Object: { kind: 'Node' }, Err: null } }],
    [
      'objects have a kind, their version, and no managedFields',
      said('query', 'shop/configmap/must'),
      { operation: 'response', resourceVersion: '9', content: { kind: 'ConfigMap', data: { a: '1' } } },
    ],
    [
      'what must be there and is not is an error: the edge keeps nothing of it and asks again',
      said('query', 'shop/secret/own'),
      { operation: 'error', content: /not found/ },
    ],
    [
      'what all pods start without is there, and empty',
      said('query', 'shop/configmap/may'),
      {
        operation: 'response',
        content: { kind: 'ConfigMap', metadata: { name: 'may', namespace: 'shop' } },
      },
    ],
    [
      'a foreign Secret is an error, not an object',
      said('query', 'shop/secret/foreign'),
      { operation: 'error', content: /no pod of this node refers to it/ },
    ],
    ['a foreign Lease', said('query', 'kube-node-lease/lease/e2'), forbidden],
    ['another Node', said('patch', 'null/nodepatch/e2', '{}'), forbidden],
    [
      'a pod that nobody knows is gone',
      said('patch', 'shop/podpatch/gone', '{"status":{}}'),
      { content: { Err: { ErrStatus: { code: 404, reason: 'NotFound' } } } },
    ],
    ['a pod that is gone has been removed', said('delete', 'shop/pod/gone', '0c6a0f63-0000-4000-8000-000000000000'), { content: 'OK' }],
    [
      'a pod of another node stays',
      said('delete', 'shop/pod/theirs', {}),
      { operation: 'error', content: /another node/ },
    ],
    [
      'what is no object is refused',
      said('update', 'kube-node-lease/lease/e1', 'nonsense'),
      { content: { Err: { ErrStatus: { code: 400, reason: 'BadRequest' } } } },
    ],
    ['the volume that its pod claims', said('query', 'null/persistentvolume/pv1'), { content: { kind: 'PersistentVolume' } }],
    [
      'a volume of others',
      said('query', 'null/persistentvolume/pv2'),
      { operation: 'error', content: /no pod of this node claims it/ },
    ],
    [
      'no devices',
      said('get', 'membership/detail', '{}', 'twin'),
      { group: 'twin', content: { devices: [] } },
    ],
    [
      'who signs the certificates of the cluster',
      said('query', 'k8s/ca.crt'),
      { content: '-----BEGIN' },
    ],
    [
      'a request to the MetaServer of the edge is rejected as it understands it',
      said('null', 'null', { ID: 'a', Key: '/core/v1/secrets/shop/own', Verb: 'get' }, 'metaserver'),
      {
        operation: 'applicationResponse',
        content: { ID: 'a', Status: 'Rejected', Error: { ErrStatus: { code: 403 } } },
      },
    ],
    [
      'watches that are none come to nothing',
      said('null', 'watchapp/sync', { a: { ID: 'a', Verb: 'watch' }, b: 7 }, 'metaserver'),
      {
        ...{ operation: 'applicationResponse', resource: 'watchapp/sync' },
        content: {
          a: { ID: 'a', Status: 'Rejected', Error: { ErrStatus: { code: 400 } } },
          b: { Status: 'Rejected' },
        },
      },
    ],
    ['what nobody serves is told so', said('query', 'shop/rule/x'), { operation: 'error' }],
    ['an Event is not answered', event('insert', ABOUT_WEB), undefined],
    ['a delete without a known form', said('delete', 'shop/pod/web', 7), { operation: 'error' }],
  ] // prettier-ignore
  for (const [title, message, reply] of rows) {
    const { api, ask, connect, locations } = openUpstream()
    const theirs = {
      metadata: { uid: 'u2', namespace: 'shop', name: 'theirs' },
      spec: { nodeName: 'e2' },
    }
    locations.setPod(theirs, 'e2' as Parameters<typeof locations.setPod>[1])
    const claim = (name: string) => ({ spec: { claimRef: { namespace: 'shop', name } } })
    api.objects.set('/api/v1/persistentvolumes/pv1', claim('disk'))
    api.objects.set('/api/v1/persistentvolumes/pv2', claim('theirs'))
    api.objects.set(`${SHOP}/configmaps/must`, {
      metadata: { name: 'must', resourceVersion: '9', managedFields: [{}] },
      data: { a: '1' },
    })
    api.objects.set('/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt', {
      data: { 'ca.crt': '-----BEGIN' },
    })
    const got = await ask(connect(), message)
    if (reply === undefined) t.equal(got, undefined, title)
    else t.match(got, reply, title)
    t.notMatch(JSON.stringify(got ?? ''), /managedFields/, title)
  }
})

t.test('a pod that the watch has not brought yet is looked up', async t => {
  const { api, ask, connect } = openUpstream()
  const mirror = {
    metadata: { uid: 'm1', namespace: 'shop', name: 'static-e1' },
    spec: { nodeName: 'e1' },
  }
  api.objects.set(`${SHOP}/pods/static-e1`, mirror)
  const metadata = { uid: 'm2', namespace: 'shop', name: 'static-e2' }
  api.objects.set(`${SHOP}/pods/static-e2`, { metadata, spec: { nodeName: 'e2' } })
  const link = connect()
  const own = await ask(link, said('patch', 'shop/podpatch/static-e1', '{"status":{}}'))
  t.match(own, { content: { Err: null } })
  const patch = '{"status":{},"metadata":{"uid":"m1"}}'
  t.strictSame(api.asked.at(-1), {
    verb: 'patch',
    path: `${SHOP}/pods/static-e1/status`,
    body: patch,
  })
  const foreign = await ask(link, said('patch', 'shop/podpatch/static-e2', '{"status":{}}'))
  t.match(foreign, { content: { Err: { ErrStatus: { code: 403 } } } })
})

t.test('no failure is sent as an empty error, and none crashes an edge', async t => {
  const troubles: [title: string, error: Error, code: number][] = [
    ['refused connection', new KubeUnreachableError('GET /', 'refused'), 503],
    ['silence', new KubeUnreachableError('GET /', 'x', { cause: new TimeoutError(1) }), 504],
    ['a bug', new RangeError('?'), 500],
    ['conflict', new KubeStatusError('PUT /', { status: 409, reason: 'Conflict', message: '' }), 409],
    ['a reason that is none', new KubeStatusError('PUT /', { status: 0, reason: '', message: '' }), 500],
  ] // prettier-ignore
  const answers = [registration, lease('insert'), lease('update'), podpatch('u1')]
  const others = [said('query', 'shop/configmap/must'), token(null), said('query', 'k8s/ca.crt')]
  for (const [title, error, code] of troubles) {
    const { api, ask, connect } = openUpstream()
    api.gate = () => Promise.reject(error)
    const link = connect()
    for (const message of answers) {
      const reply = await ask(link, message)
      t.match(reply, { content: { Object: null, Err: { ErrStatus: { status: 'Failure', code } } } }, title)
    }
    for (const message of others) t.match(await ask(link, message), { operation: 'error', content: /./ }, title)
    for (const { content } of link.sent) t.notOk(isMap(content) && isMap(content['Err']) && Object.keys(content['Err']).length === 0)
  } // prettier-ignore
})

t.test('what upstream reports to downstream', async t => {
  const { api, ask, connect, seen } = openUpstream()
  api.objects.set(`${SHOP}/configmaps/must`, { metadata: { name: 'must' } })
  const link = connect()
  await ask(link, said('query', 'shop/configmap/must'))
  await ask(link, said('query', 'shop/configmap/may'))
  await ask(link, said('query', 'shop/secret/foreign'))
  await ask(link, lease('update'))
  await ask(link, said('patch', 'shop/podpatch/gone', '{"metadata":{"uid":"u9"},"status":{}}'))
  t.strictSame(seen, [
    'answering configmap must ConfigMap',
    'answering configmap may ConfigMap',
    'lease e1',
    'unknown pod gone u9',
  ])
  seen.length = 0
  for (const uid of ['x'.repeat(128), 'x'.repeat(129)])
    await ask(link, said('patch', 'shop/podpatch/gone', JSON.stringify({ metadata: { uid } })))
  t.strictSame(seen, [`unknown pod gone ${'x'.repeat(128)}`], 'a uid that is too long is none')
})
