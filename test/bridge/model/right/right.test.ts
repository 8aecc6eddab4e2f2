// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { LocationCache } from '../../../../bridge/model/location/location-cache.js'
import { parseResource } from '../../../../bridge/model/resource/resource.js'
import { checkRead, checkRight, type Right } from '../../../../bridge/model/right/right.js'
import type { Handler } from '../../../../bridge/model/route/upstream.js'
import type { JsonMap } from '../../../../core/json.js'
import fc from '../../../../testkit/properties.js'
import { configVolume, OTHER, pod, SHOP } from '../objects.js'

const locations = new LocationCache()
locations.setPod(
  pod('web', {
    volumes: [configVolume('prices'), { persistentVolumeClaim: { claimName: 'disk' } }],
    imagePullSecrets: [{ name: 'pull' }],
  }),
  SHOP,
)
locations.setPod(
  pod('far', { volumes: [configVolume('theirs'), { secret: { secretName: 'their-secret' } }] }),
  OTHER,
)

const question = (handler: Handler, resource: string, content: JsonMap = {}) => ({
  handler,
  resource: parseResource(resource, SHOP),
  content,
})
const answerOf = (right: Right): string => {
  if (right.ok) return 'yes'
  const { status, reason, message } = right.refusal
  return `${status} ${reason}: ${message.replace(/^.* is forbidden: node shop-1 may not touch /, '')}`
}
const asked = (handler: Handler, resource: string, content?: JsonMap): string =>
  answerOf(checkRight(question(handler, resource, content), locations))

const bound = (ref: object) => ({ spec: { boundObjectRef: ref } })
const WEB = { kind: 'Pod', apiVersion: 'v1', name: 'web', uid: 'uid-web' }
const mirror = (spec: object = {}, metadata: object = {}): JsonMap => ({
  metadata: {
    ...{ name: 'static', namespace: 'till' },
    annotations: { 'kubernetes.io/config.mirror': 'x' },
    ...metadata,
  },
  spec: { nodeName: 'shop-1', containers: [{ name: 'c' }], ...spec },
})
const about = (involvedObject: object, more: object = {}) => ({
  ...{ involvedObject, source: { component: 'kubelet', host: 'shop-1' } },
  ...more,
})

t.test('a node may change itself, its Lease and its pods, and read what those refer to', t => {
  const rows: [handler: Handler, resource: string, content: JsonMap, answer: string][] = [
    ['create-node', 'null/node/shop-1', {}, 'yes'],
    ['create-node', 'null/node/shop-2', {}, '403 Forbidden: null/node/shop-2: it is another node'],
    ['update-node', 'null/node/shop-2', {}, '403 Forbidden: null/node/shop-2: it is another node'],
    ['read-object', 'null/node/shop-1', {}, 'yes'],
    ['read-object', 'null/node/shop-2', {}, '403 Forbidden: null/node/shop-2: it is another node'],
    ['patch-node-status', 'null/nodepatch/shop-1', { status: {} }, 'yes'],
    [
      'patch-node-status',
      'null/nodepatch/shop-2',
      {},
      '403 Forbidden: null/nodepatch/shop-2: it is another node',
    ],
    [
      'patch-node-status',
      'null/nodepatch/shop-1',
      { spec: {} },
      '403 Forbidden: null/nodepatch/shop-1: it must not change spec',
    ],
    ['read-lease', 'kube-node-lease/lease/shop-1', {}, 'yes'],
    ['create-lease', 'kube-node-lease/lease/shop-1', {}, 'yes'],
    [
      'update-lease',
      'kube-node-lease/lease/shop-2',
      {},
      '403 Forbidden: kube-node-lease/lease/shop-2: it is not its Lease',
    ],
    [
      'update-lease',
      'kube-system/lease/shop-1',
      {},
      '403 Forbidden: kube-system/lease/shop-1: it is not its Lease',
    ],
    ['patch-pod-status', 'till/podpatch/web', { metadata: { uid: 'uid-web' } }, 'yes'],
    [
      'patch-pod-status',
      'till/podpatch/web',
      { metadata: { uid: 'old' } },
      '403 Forbidden: till/podpatch/web: it is about another pod of that name',
    ],
    [
      'patch-pod-status',
      'till/podpatch/far',
      {},
      '403 Forbidden: till/podpatch/far: it is a pod of another node',
    ],
    ['patch-pod-status', 'till/podpatch/none', {}, '404 NotFound: pods "none" not found'],
    ['delete-pod', 'till/pod/web', {}, 'yes'],
    ['delete-pod', 'till/pod/far', {}, '403 Forbidden: till/pod/far: it is a pod of another node'],
    ['delete-pod', 'other/pod/web', {}, '404 NotFound: pods "web" not found'],
    ['read-object', 'till/configmap/prices', {}, 'yes'],
    ['read-object', 'till/secret/pull', {}, 'yes'],
    ['read-object', 'till/persistentvolumeclaim/disk', {}, 'yes'],
    [
      'read-object',
      'till/configmap/theirs',
      {},
      '403 Forbidden: till/configmap/theirs: no pod of this node refers to it',
    ],
    [
      'read-object',
      'till/secret/their-secret',
      {},
      '403 Forbidden: till/secret/their-secret: no pod of this node refers to it',
    ],
    [
      'read-object',
      'kubeedge/secret/casecret',
      {},
      '403 Forbidden: kubeedge/secret/casecret: no pod of this node refers to it',
    ],
    [
      'read-object',
      'other/configmap/prices',
      {},
      '403 Forbidden: other/configmap/prices: no pod of this node refers to it',
    ],
    ['read-object', 'null/persistentvolume/pv', {}, 'yes'],
    ['read-object', 'null/volumeattachment/va', {}, 'yes'],
    ['create-token', 'till/serviceaccounttoken/cashier', bound(WEB), 'yes'],
    [
      'create-token',
      'till/serviceaccounttoken/admin',
      bound(WEB),
      '403 Forbidden: till/serviceaccounttoken/admin: the pod runs as another ServiceAccount',
    ],
    [
      'create-token',
      'kube-system/serviceaccounttoken/cashier',
      bound(WEB),
      '403 Forbidden: kube-system/serviceaccounttoken/cashier: its boundObjectRef is no pod of this node',
    ],
    [
      'create-token',
      'till/serviceaccounttoken/cashier',
      bound({ ...WEB, uid: 'uid-far', name: 'far' }),
      '403 Forbidden: till/serviceaccounttoken/cashier: its boundObjectRef is no pod of this node',
    ],
    [
      'create-token',
      'till/serviceaccounttoken/cashier',
      bound({ ...WEB, name: 'other' }),
      '403 Forbidden: till/serviceaccounttoken/cashier: its boundObjectRef is no pod of this node',
    ],
    [
      'create-token',
      'till/serviceaccounttoken/cashier',
      bound({ ...WEB, uid: 'none' }),
      '403 Forbidden: till/serviceaccounttoken/cashier: its boundObjectRef is no pod of this node',
    ],
    [
      'create-token',
      'till/serviceaccounttoken/cashier',
      bound({ ...WEB, kind: 'Secret' }),
      '403 Forbidden: till/serviceaccounttoken/cashier: its boundObjectRef must be a pod',
    ],
    [
      'create-token',
      'till/serviceaccounttoken/cashier',
      {},
      '403 Forbidden: till/serviceaccounttoken/cashier: its boundObjectRef must be a pod',
    ],
    [
      'create-token',
      'till/serviceaccounttoken/cashier',
      { spec: {} },
      '403 Forbidden: till/serviceaccounttoken/cashier: its boundObjectRef must be a pod',
    ],
    ['create-pod', 'till/pod/static', mirror(), 'yes'],
    [
      'create-pod',
      'till/pod/static',
      { ...mirror(), metadata: { name: 'static', namespace: 'till' } },
      '403 Forbidden: till/pod/static: it may create only mirrors of its own static pods',
    ],
    [
      'create-pod',
      'till/pod/static',
      mirror({}, { name: 'other' }),
      '403 Forbidden: till/pod/static: the pod has another name',
    ],
    [
      'create-pod',
      'till/pod/static',
      mirror({}, { namespace: 'other' }),
      '403 Forbidden: till/pod/static: the pod has another name',
    ],
    [
      'create-pod',
      'till/pod/static',
      mirror({ nodeName: 'shop-2' }),
      '403 Forbidden: till/pod/static: the pod is for another node',
    ],
    [
      'create-pod',
      'till/pod/static',
      { ...mirror(), spec: null },
      '403 Forbidden: till/pod/static: the pod is for another node',
    ],
    [
      'create-pod',
      'till/pod/static',
      mirror({ imagePullSecrets: [{ name: 'x' }] }),
      '403 Forbidden: till/pod/static: a mirror pod may not refer to secret x',
    ],
    [
      'create-pod',
      'till/pod/static',
      mirror({ serviceAccountName: 'admin' }),
      '403 Forbidden: till/pod/static: a mirror pod may not have a ServiceAccount',
    ],
    [
      'create-pod',
      'till/pod/static',
      mirror({ serviceAccount: 'admin' }),
      '403 Forbidden: till/pod/static: a mirror pod may not have a ServiceAccount',
    ],
    ['write-event', 'till/event/e', about({ kind: 'Pod', namespace: 'till', name: 'web' }), 'yes'],
    [
      'write-event',
      'till/event/e',
      { event: about({ kind: 'Pod', namespace: 'till', name: 'web' }), patchData: '' },
      'yes',
    ],
    [
      'write-event',
      'other/event/e',
      about({ kind: 'Pod', namespace: 'till', name: 'web' }),
      '403 Forbidden: other/event/e: it is about no pod of this node',
    ],
    [
      'write-event',
      'till/event/e',
      about({ kind: 'Pod', namespace: 'till', name: 'far' }),
      '403 Forbidden: till/event/e: it is about no pod of this node',
    ],
    [
      'write-event',
      'till/event/e',
      about({ kind: 'Secret', namespace: 'till', name: 'web' }),
      '403 Forbidden: till/event/e: it is about no pod of this node',
    ],
    ['write-event', 'default/event/e', about({ kind: 'Node', name: 'shop-1' }), 'yes'],
    [
      'write-event',
      'default/event/e',
      about({ kind: 'Node', name: 'shop-2' }),
      '403 Forbidden: default/event/e: it is about another node',
    ],
    [
      'write-event',
      'default/event/e',
      about({}),
      '403 Forbidden: default/event/e: it is about no pod of this node',
    ],
    ['membership', 'default/other/x', {}, 'yes'],
    ['cluster-ca', 'default/other/x', {}, 'yes'],
    [
      'refuse',
      'null/certificatesigningrequest/x',
      {},
      '403 Forbidden: null/certificatesigningrequest/x: the bridge does not do this for nodes',
    ],
    [
      'application',
      'default/other/x',
      {},
      '403 Forbidden: default/other/x: the bridge does not do this for nodes',
    ],
  ]
  for (const [handler, resource, content, answer] of rows)
    t.equal(asked(handler, resource, content), answer, `${handler} ${resource}`)
  t.end()
})

t.test('a mirror pod has no owner but its Node', t => {
  const own = { apiVersion: 'v1', kind: 'Node', name: 'shop-1', uid: 'n', controller: true }
  const rows: [owners: unknown, isAllowed: boolean][] = [
    [undefined, true],
    [null, true],
    [[], true],
    [[own], true],
    [[own, { ...own, name: 'shop-2' }], false],
    [[{ ...own, apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-5d9' }], false],
    [[{ ...own, apiVersion: 'example.com/v1' }], false],
    [[{ ...own, kind: 'Pod' }], false],
    [['shop-1'], false],
    [own, false],
  ]
  for (const [ownerReferences, isAllowed] of rows)
    t.equal(
      asked('create-pod', 'till/pod/static', mirror({}, { ownerReferences })),
      isAllowed ? 'yes' : '403 Forbidden: till/pod/static: only its Node may own a mirror pod',
      JSON.stringify(ownerReferences),
    )
  t.end()
})

t.test('a node may report Events only in its own name', t => {
  const own = { kind: 'Node', name: 'shop-1' }
  const rows: [more: object, answer: string][] = [
    [{ source: { component: 'kubelet' }, reportingInstance: 'shop-1' }, 'yes'],
    [{ related: null }, 'yes'],
    [{ source: undefined }, 'it does not say which node reports it'],
    [
      { source: { component: 'node-controller', host: '' } },
      'it does not say which node reports it',
    ],
    [{ source: { component: 'kubelet', host: 'shop-2' } }, 'another node reports it'],
    [{ reportingInstance: 'shop-2' }, 'another node reports it'],
    [{ reportingInstance: 7 }, 'another node reports it'],
    [{ reportingComponent: 'edge-health-agent' }, 'agents report their Events themselves'],
    [
      { source: { component: 'edge-health/grids', host: 'shop-1' } },
      'agents report their Events themselves',
    ],
    [{ related: { kind: 'Node', name: 'shop-2' } }, 'it names another object beside its own'],
  ]
  for (const [more, answer] of rows)
    t.equal(
      asked('write-event', 'default/event/e', about(own, more)),
      answer === 'yes' ? answer : `403 Forbidden: default/event/e: ${answer}`,
      JSON.stringify(more),
    )
  t.end()
})

t.test("a refusal has the form of the API's own", t => {
  const right = checkRight(question('read-object', 'till/secret/x'), locations)
  t.strictSame(right, {
    ok: false,
    refusal: {
      status: 403,
      reason: 'Forbidden',
      message:
        'secrets "x" is forbidden: node shop-1 may not touch till/secret/x: no pod of this node refers to it',
      details: { name: 'x', kind: 'secrets' },
    },
  })
  t.end()
})

t.test('volumes and attachments say themselves which node may read them', t => {
  const rows: [resource: string, object: JsonMap, answer: string][] = [
    [
      'null/persistentvolume/pv',
      { spec: { claimRef: { namespace: 'till', name: 'disk' } } },
      'yes',
    ],
    [
      'null/persistentvolume/pv',
      { spec: { claimRef: { namespace: 'x', name: 'disk' } } },
      '403 Forbidden: null/persistentvolume/pv: no pod of this node claims it',
    ],
    [
      'null/persistentvolume/pv',
      {},
      '403 Forbidden: null/persistentvolume/pv: no pod of this node claims it',
    ],
    ['null/volumeattachment/va', { spec: { nodeName: 'shop-1' } }, 'yes'],
    [
      'null/volumeattachment/va',
      { spec: { nodeName: 'shop-2' } },
      '403 Forbidden: null/volumeattachment/va: it is for another node',
    ],
    ['till/configmap/prices', {}, 'yes'],
  ]
  for (const [resource, object, answer] of rows)
    t.equal(
      answerOf(checkRead(question('read-object', resource), object, locations)),
      answer,
      resource,
    )
  t.end()
})

t.test('no node ever reads what none of its pods refers to', t => {
  const name = fc.constantFrom('a', 'b', 'c')
  const pods = fc.array(
    fc.record(
      { name, node: fc.constantFrom(SHOP, OTHER), config: name, isMirror: fc.boolean() },
      { noNullPrototype: true },
    ),
    { maxLength: 6 },
  )
  fc.assert(
    fc.property(pods, name, (pods, wanted) => {
      const cache = new LocationCache()
      pods.forEach(({ name, node, config, isMirror }, index) => {
        const annotations = isMirror ? { 'kubernetes.io/config.mirror': 'x' } : {}
        cache.setPod(
          pod(
            name,
            { volumes: [configVolume(config)] },
            { uid: String(index), metadata: { annotations } },
          ),
          node,
        )
      })
      const may = checkRight(question('read-object', `till/configmap/${wanted}`), cache).ok
      t.equal(
        may,
        pods.some(({ node, config, isMirror }) => node === SHOP && config === wanted && !isMirror),
      )
    }),
  )
  t.end()
})
