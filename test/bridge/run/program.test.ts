// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { openBridge, openCluster, until } from './stage.js'

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/e1'

t.test('an edge registers, and its Lease is renewed', async t => {
  const cluster = await openCluster(t)
  await cluster.ask('POST /api/v1/namespaces', { metadata: { name: 'kube-node-lease' } })
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const { events, count, edge } = await bridge.edge('e1')
  await until(() => count('lease') >= 3)
  t.ok(events.every(event => event.kind !== 'lease' || event.code === 200))
  t.equal(edge.view.isDead, false)
  const node = await cluster.ask('GET /api/v1/nodes/e1')
  t.match(node.body, { metadata: { name: 'e1', labels: { 'node-role.kubernetes.io/edge': '' } } })
  const lease = await cluster.ask(`GET ${LEASE}`)
  t.match(lease.body, { spec: { holderIdentity: 'e1', leaseDurationSeconds: 40 } })
  const { text } = await bridge.fetchText('/metrics')
  t.match(text, /edge_health_bridge_connected 1\n/)
  t.match(text, /edge_health_bridge_requests_total\{handler="update-lease",result="done"\} \d/)
})
