// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { leaseToWrite } from '../../../../bridge/model/merge/lease.js'
import { SHOP } from '../objects.js'

const ARRIVED = Date.UTC(2030, 0, 2, 3, 4, 5, 678)
const owner = { apiVersion: 'v1', kind: 'Node', name: 'shop-1', uid: 'u' }
const spec = {
  holderIdentity: 'shop-1',
  leaseDurationSeconds: 40,
  renewTime: '1970-01-01T00:00:09.000000Z',
}

t.test("a Lease is written with the time at which the edge's renewal arrived", t => {
  const asked = {
    metadata: {
      name: 'shop-1',
      namespace: 'kube-node-lease',
      resourceVersion: '7',
      uid: 'u',
      managedFields: [1],
      ownerReferences: [owner, { ...owner, name: 'shop-2' }, { ...owner, kind: 'Pod' }, 7],
      annotations: { 'edge-health/bridge-renews-since': 'x' },
    },
    spec: { ...spec, leaseTransitions: 3 },
  }
  t.strictSame(leaseToWrite(asked, SHOP, ARRIVED), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: 'shop-1',
      namespace: 'kube-node-lease',
      resourceVersion: '7',
      ownerReferences: [owner],
    },
    spec: { ...spec, renewTime: '2030-01-02T03:04:05.678000Z' },
  })
  t.strictSame(
    leaseToWrite({ spec: { leaseDurationSeconds: 40 } }, SHOP, ARRIVED)['metadata'],
    { name: 'shop-1', namespace: 'kube-node-lease' },
    'a first one has neither version nor owner',
  )
  const others = {
    metadata: { resourceVersion: '', ownerReferences: [] },
    spec: { holderIdentity: 'shop-2', leaseDurationSeconds: 1 },
  }
  t.match(
    leaseToWrite(others, SHOP, ARRIVED),
    { spec: { holderIdentity: 'shop-1' } },
    'it is held by whoever is connected',
  )
  t.end()
})

t.test('how long a Lease may hold', t => {
  for (const seconds of [0, -1, 1.5, 3601, '40', undefined])
    t.throws(() => leaseToWrite({ spec: { leaseDurationSeconds: seconds } }, SHOP, ARRIVED), {
      code: 'INVALID_INPUT',
      thing: 'Lease: spec.leaseDurationSeconds',
    })
  t.throws(() => leaseToWrite({}, SHOP, ARRIVED), { code: 'INVALID_INPUT' })
  t.end()
})
