// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { emptyObject, tidyObject } from '../../../../bridge/model/merge/tidy.js'
import { pod } from '../objects.js'

t.test('an object as edges are sent it', t => {
  const raw = pod('web', {}, { metadata: { managedFields: [{ manager: 'x' }] } })
  const before = structuredClone(raw)
  t.strictSame(tidyObject('pod', raw), { ...pod('web'), apiVersion: 'v1', kind: 'Pod' })
  t.strictSame(raw, before, 'nothing of what came is changed')
  t.match(tidyObject('lease', {}), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {},
  })
  t.end()
})

t.test('an object that may be missing', t => {
  t.strictSame(emptyObject('configmap', { namespace: 'till', name: 'a' }), {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'till' } },
  })
  t.strictSame(emptyObject('node', { namespace: '', name: 'a' })['metadata'], { name: 'a' })
  t.end()
})
