// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { agentView, listBody, newsOf } from '../../../../bridge/model/application/agent-view.js'
import type { JsonMap } from '../../../../core/json.js'
import type { NodeName } from '../../../../core/ids.js'

const NODE = 'e1' as NodeName
const nodes = { group: '', version: 'v1', resource: 'nodes', namespace: '', name: '' }
const view = (resource: string, object: JsonMap): JsonMap =>
  agentView({ ...nodes, resource }, object, NODE)

const whole = (name: string, more: JsonMap = {}): JsonMap => ({
  metadata: {
    ...{ name, uid: 'u', resourceVersion: '7', labels: { zone: 'a' }, managedFields: [{}] },
    annotations: { nodeunhealth: 'yes', 'edge-health/identity': 'i', 'other/secret': 's' },
  },
  spec: { taints: [{ key: 'k' }], podCIDR: '10.0.0.0/24' },
  status: {
    addresses: [{ type: 'InternalIP', address: '10.0.0.2' }],
    images: [{}],
    conditions: [
      { type: 'Ready', status: 'True', lastHeartbeatTime: 't1' },
      { type: 'DiskPressure', status: 'False' },
      { type: 'PeerHealth', status: 'True', lastHeartbeatTime: 't1' },
      7,
    ],
    ...more,
  },
})

t.test('what an agent is sent', t => {
  t.strictSame(view('nodes', whole('e2')), {
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: {
      ...{ name: 'e2', uid: 'u', resourceVersion: '7', labels: { zone: 'a' } },
      annotations: { nodeunhealth: 'yes', 'edge-health/identity': 'i' },
    },
    spec: { taints: [{ key: 'k' }] },
    status: {
      addresses: [{ type: 'InternalIP', address: '10.0.0.2' }],
      conditions: [
        { type: 'Ready', status: 'True', lastHeartbeatTime: 't1' },
        { type: 'PeerHealth', status: 'True', lastHeartbeatTime: 't1' },
      ],
    },
  })
  t.match(view('nodes', {}), { kind: 'Node', spec: {}, status: { conditions: [] } }, 'an empty one')
  const own = view('nodes', whole('e1'))
  t.match(own, { kind: 'Node', spec: { podCIDR: '10.0.0.0/24' }, status: { images: [{}] } })
  t.notMatch(own, { metadata: { managedFields: [] } })
  const data = { metadata: { name: 'x', managedFields: [] }, data: { a: '1' } }
  t.strictSame(view('configmaps', data), {
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    ...{ metadata: { name: 'x' }, data: { a: '1' } },
  })
  t.match(view('secrets', data), { kind: 'Secret', data: { a: '1' } })
  t.equal(view('leases', data), data, 'who renewed a Lease is seen')
  t.end()
})

t.test('what is news', t => {
  const news = (change: (node: JsonMap) => JsonMap): boolean =>
    newsOf(view('nodes', whole('e2'))) !== newsOf(view('nodes', change(whole('e2'))))
  const conditions = (ready: string, peers: string): JsonMap => ({
    conditions: [
      { type: 'Ready', status: 'True', lastHeartbeatTime: ready },
      { type: 'PeerHealth', status: 'True', lastHeartbeatTime: peers },
    ],
  })
  t.notOk(news(node => node))
  t.notOk(
    news(() => whole('e2', conditions('t2', 't1'))),
    'a heartbeat',
  )
  t.ok(
    news(() => whole('e2', conditions('t1', 't2'))),
    "the peers' heartbeat",
  )
  t.ok(
    news(() => whole('e2', { addresses: [] })),
    'an address',
  )
  t.ok(
    news(node => ({ ...node, spec: {} })),
    'a taint',
  )
  t.ok(
    news(() => whole('e3')),
    'another Node',
  )
  t.not(newsOf({ data: { a: '1' } }), newsOf({ data: { a: '2' } }), 'what a ConfigMap says')
  t.end()
})

t.test('a list', t => {
  const end = { resourceVersion: '9', next: '' }
  t.strictSame(listBody(nodes, [{ a: 1 }], end), {
    ...{ apiVersion: 'v1', kind: 'NodeList' },
    ...{ metadata: { resourceVersion: '9' }, items: [{ a: 1 }] },
  })
  const leases = { ...nodes, group: 'coordination.k8s.io', resource: 'leases' }
  t.match(listBody(leases, [], { ...end, next: 'c' }), {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'List' },
    metadata: { continue: 'c' },
  })
  t.end()
})
