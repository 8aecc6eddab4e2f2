// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { systemClock } from '../../../core/clock.js'
import { openBridge, openCluster, until } from './stage.js'
import { rawEdge, within } from './raw-edge.js'

const EDGE = { 'node-role.kubernetes.io/edge': '' }

const edgeNode = (name: string): object => ({ metadata: { name, labels: EDGE } })

const podOn = (nodeName: string, name = 'till'): object => ({
  metadata: { name },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
})

t.test('a Node that is no edge node, made while somebody is connected under its name', async t => {
  const cluster = await openCluster(t)
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const thief = await rawEdge(t, bridge, 'cp-2')
  t.equal(thief.state.refused, '')
  // Now kubeadm joins it, and the scheduler places what runs on each node of the control plane.
  await cluster.ask('POST /api/v1/nodes', {
    metadata: { name: 'cp-2', labels: { 'node-role.kubernetes.io/control-plane': '' } },
  })
  await within(1_000, () => false)
  await cluster.ask('POST /api/v1/namespaces', { metadata: { name: 'kube-system' } })
  await cluster.ask('POST /api/v1/namespaces/kube-system/secrets', {
    metadata: { name: 'cni-key' },
    stringData: { key: 'of the cluster' },
    data: { key: Buffer.from('of the cluster').toString('base64') },
  })
  await cluster.ask('POST /api/v1/namespaces/kube-system/serviceaccounts', {
    metadata: { name: 'cni' },
  })
  await cluster.ask('POST /api/v1/namespaces/kube-system/pods', {
    metadata: { name: 'cni-x7f2p' },
    spec: {
      nodeName: 'cp-2',
      serviceAccountName: 'cni',
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 's', secret: { secretName: 'cni-key' } }],
    },
  })
  await within(3_000, () => thief.kept.has('kube-system/secret/cni-key'))
  t.notOk(thief.kept.has('kube-system/pod/cni-x7f2p'), 'the pod is not sent')
  t.notOk(thief.kept.has('kube-system/secret/cni-key'), 'its Secret is not sent')
  const secret = await thief.ask('query', 'kube-system/secret/cni-key', null, 1_000)
  t.not(secret?.route.operation, 'response', 'the Secret is not answered')
  const uid = (await cluster.ask('GET /api/v1/namespaces/kube-system/pods/cni-x7f2p')).body[
    'metadata'
  ] as { uid: string }
  const bound = { kind: 'Pod', apiVersion: 'v1', name: 'cni-x7f2p', uid: uid.uid }
  const request = { spec: { boundObjectRef: bound } }
  const account = 'kube-system/serviceaccounttoken/cni'
  const token = await thief.ask('query', account, request, 1_000)
  t.not(token?.route.operation, 'response', 'no token of its ServiceAccount is issued')
})

t.test('… nor does anything happen in its name, and the connection ends', async t => {
  const cluster = await openCluster(t)
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const thief = await rawEdge(t, bridge, 'cp-2')
  await cluster.ask('POST /api/v1/nodes', { metadata: { name: 'cp-2' } })
  const renewal = { metadata: { name: 'cp-2' }, spec: { holderIdentity: 'cp-2' } }
  t.equal(thief.state.ended, '')
  thief.say('insert', 'kube-node-lease/lease/cp-2', renewal)
  await until(() => thief.state.ended !== '')
  t.strictSame(thief.got, [])
  const lease = await cluster.ask(
    'GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/cp-2',
  )
  t.equal(lease.status, 404, 'its Lease is not renewed by who has only its name')
})

t.test('an edge whose Node loses the label stays connected', async t => {
  const cluster = await openCluster(t)
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const edge = await rawEdge(t, bridge, 'e1')
  t.equal((await edge.ask('insert', 'null/node/e1', edgeNode('e1')))?.route.operation, 'response')
  await until(() => edge.kept.has('null/node/e1') || edge.got.length > 1)
  await cluster.ask('PUT /api/v1/nodes/e1', { metadata: { name: 'e1' } })
  await cluster.ask('POST /api/v1/namespaces', { metadata: { name: 'shop' } })
  await cluster.ask('POST /api/v1/namespaces/shop/pods', podOn('e1'))
  await until(() => edge.kept.has('shop/pod/till'))
  const answer = await edge.ask('query', 'null/node/e1')
  t.equal(answer?.route.operation, 'response')
  t.equal(edge.state.ended, '')
})

t.test('… until its Node is deleted, and another machine has the name', async t => {
  const cluster = await openCluster(t)
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  await cluster.ask('POST /api/v1/nodes', edgeNode('e1'))
  const edge = await rawEdge(t, bridge, 'e1')
  await cluster.ask('POST /api/v1/namespaces', { metadata: { name: 'shop' } })
  await cluster.ask('POST /api/v1/namespaces/shop/pods', podOn('e1', 'first'))
  await until(() => edge.kept.has('shop/pod/first'))
  await cluster.ask('DELETE /api/v1/nodes/e1')
  await cluster.ask('POST /api/v1/nodes', { metadata: { name: 'e1' } })
  await cluster.ask('POST /api/v1/namespaces/shop/pods', podOn('e1'))
  await until(() => edge.state.ended !== '')
  t.notOk(edge.kept.has('shop/pod/till'), 'a pod of the new machine is not sent')
})

t.test(
  'an edge whose Node lost the label costs the apiserver a few questions a second',
  async t => {
    const cluster = await openCluster(t)
    const bridge = await openBridge(t, cluster)
    await until(bridge.isServing)
    await cluster.ask('POST /api/v1/nodes', edgeNode('e1'))
    const edge = await rawEdge(t, bridge, 'e1')
    await until(() => edge.kept.has('null/node/e1'))
    await cluster.ask('PUT /api/v1/nodes/e1', { metadata: { name: 'e1' } })
    await within(500, () => false)
    const begin = systemClock.now()
    const known = cluster.api.requests.length
    const asked = Array.from({ length: 40 }, () =>
      edge.ask('query', 'kube-node-lease/lease/e1', null, 60_000),
    )
    t.ok(
      (await Promise.all(asked)).every(answer => answer !== undefined),
      'all are answered',
    )
    const seconds = (systemClock.now() - begin) / 1_000
    const questions = cluster.api.requests
      .slice(known)
      .filter(({ client, path }) => client === bridge.user && path === '/api/v1/nodes/e1').length
    t.ok(questions >= 1 && questions <= 2 + 4 * seconds, `${questions} in ${seconds} s`)
  },
)
