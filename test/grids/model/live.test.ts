// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { goneSinceOf, parseLiveChild, unitOfLive } from '../../../grids/model/live.js'

const META = { name: 'web-north', namespace: 'default', uid: 'u', resourceVersion: '7' }
const live = (more: object, meta: object = {}) =>
  parseLiveChild({ kind: 'Deployment', metadata: { ...META, ...meta }, ...more })

t.test('an object as the API sends it', t => {
  const child = live(
    { spec: { replicas: 1 }, status: { replicas: 1 } },
    {
      deletionTimestamp: '2026-01-01T00:00:00Z',
      labels: null,
      ownerReferences: [
        { kind: 'Other', name: 'o', uid: 'x' },
        { kind: 'DeploymentGrid', name: 'web', uid: 'g', controller: true },
      ],
      managedFields: [
        { manager: 'm', operation: 'Update', subresource: 'status', fieldsV1: { 'f:status': {} } },
        {},
      ],
    },
  )
  t.match(child, {
    kind: 'Deployment',
    isDeleting: true,
    labels: {},
    controller: { kind: 'DeploymentGrid', name: 'web', uid: 'g' },
    managedFields: [
      { manager: 'm', operation: 'Update', subresource: 'status', fields: { 'f:status': {} } },
      { manager: '', operation: '', subresource: '', fields: {} },
    ],
    spec: { replicas: 1 },
    status: { replicas: 1 },
  })
  t.ok(Object.isFrozen(child.object))
  t.match(live({}), {
    isDeleting: false,
    controller: undefined,
    generation: 0,
    managedFields: [],
    spec: {},
    status: {},
  })
  t.throws(
    () => parseLiveChild({ kind: 'Pod', metadata: META }),
    /Pod default\/web-north: kind must be/,
  )
  t.end()
})

t.test('which unit a child belongs to', t => {
  const site = { source: { by: 'label-value', key: 'site' } } as const
  const pods = { spec: { template: { spec: { nodeSelector: { site: 'north' } } } } }
  t.equal(unitOfLive(site, live({}, { labels: { 'edge-health/unit': 'south' } })), 'south')
  t.equal(unitOfLive(site, live(pods)), 'north', "SuperEdge's say it by their pods")
  t.equal(unitOfLive(site, live({})), undefined)
  t.equal(unitOfLive(site, live({ spec: { template: {} } })), undefined)
  t.equal(unitOfLive({ source: { by: 'node-unit', names: undefined } }, live(pods)), undefined)
  t.end()
})

t.test("since when a unit is gone survives the controller's restart on the child", t => {
  const gone = (at?: string) =>
    goneSinceOf(
      live({}, { annotations: at === undefined ? {} : { 'edge-health/unit-gone-since': at } }),
    )
  t.equal(gone('2026-01-01T00:00:00Z'), Date.UTC(2026, 0, 1))
  t.equal(gone('yesterday'), undefined)
  t.equal(gone(), undefined)
  t.end()
})
