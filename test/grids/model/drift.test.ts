// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { driftOf, type Drift } from '../../../grids/model/drift.js'
import type { Json } from '../../../grids/model/grid.js'
import { parseLiveChild } from '../../../grids/model/live.js'
import {
  deploymentGrid,
  planOne,
  serviceGrid,
  sites,
  statefulSetGrid,
  template,
} from '../../../testkit/kube/grid-objects.js'
import { applied, ownFields } from '../live-objects.js'

const MANAGER = 'edge-health-grids'
const childOf = (raw: Parameters<typeof planOne>[0]) => planOne(raw, sites('north')).children[0]!

const rich = template('nginx:1', {
  template: {
    metadata: { labels: { app: 'web' } },
    spec: {
      nodeSelector: { disk: 'ssd' },
      containers: [
        {
          name: 'web',
          image: 'nginx:1',
          args: ['-a', '-b'],
          env: [
            { name: 'A', value: '1' },
            { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          resources: { limits: { cpu: '1000m', memory: '1.5Gi' } },
        },
        { name: 'side', image: 'side:1' },
      ],
      volumes: [{ name: 'tmp', emptyDir: {} }],
      tolerations: [{ key: 'edge', operator: 'Exists' }],
    },
  },
})

t.test('what was applied does not drift', t => {
  const raws = [
    deploymentGrid('web'),
    deploymentGrid('web', { template: rich }),
    deploymentGrid('web', { gridUniqKey: undefined, nodeUnits: {} }),
    serviceGrid('web'),
    serviceGrid('web', {
      template: { ports: [{ port: 53 }, { port: 53, protocol: 'UDP' }], selector: {} },
    }),
    statefulSetGrid('db', { headlessService: true }),
    serviceGrid('web', { gridUniqKey: undefined, nodeUnits: {} }),
  ]
  for (const raw of raws)
    for (const child of planOne(raw, [
      ...sites('north'),
      { labels: { u: 'nodeunits.superedge.io' } },
    ]).children)
      t.equal(driftOf(child.object, applied(child)), undefined, child.name)
  t.end()
})

/** A child of the rich template, changed in the cluster: `path` of the object set to `value`, or taken out. */
const changed = (
  path: readonly (string | number)[],
  value?: unknown,
): ReturnType<typeof applied> => {
  const child = childOf(deploymentGrid('web', { template: rich }))
  const object = structuredClone(applied(child).object) as Record<string, unknown>
  let at: Record<string | number, unknown> = object
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>
  const last = path.at(-1)!
  if (value === undefined) Reflect.deleteProperty(at, last)
  else at[last] = value
  return parseLiveChild(object)
}
const POD = ['spec', 'template', 'spec'] as const
const WEB = [...POD, 'containers', 0] as const

t.test('live values', t => {
  const wanted = childOf(deploymentGrid('web', { template: rich })).object
  const rows: [claim: string, live: ReturnType<typeof applied>, want: Drift | undefined][] = [
    [
      'an image',
      changed([...WEB, 'image'], 'nginx:9'),
      { cause: 'changed', path: 'spec.template.spec.containers[name=web].image' },
    ],
    [
      'an image that is gone',
      changed([...WEB, 'image']),
      { cause: 'changed', path: 'spec.template.spec.containers[name=web].image' },
    ],
    [
      'a container that is gone',
      changed([...POD, 'containers'], [{ name: 'side', image: 'side:1' }]),
      { cause: 'changed', path: 'spec.template.spec.containers[name=web].name' },
    ],
    [
      'all that are gone',
      changed([...POD, 'containers']),
      { cause: 'changed', path: 'spec.template.spec.containers[name=web].name' },
    ],
    [
      'a list that is owned whole',
      changed([...WEB, 'args'], ['-a']),
      { cause: 'changed', path: 'spec.template.spec.containers[name=web].args' },
    ],
    [
      'and that is none',
      changed([...WEB, 'args'], 'x'),
      { cause: 'changed', path: 'spec.template.spec.containers[name=web].args' },
    ],
    [
      'a map that is owned whole',
      changed([...POD, 'nodeSelector', 'site'], 'south'),
      { cause: 'changed', path: 'spec.template.spec.nodeSelector' },
    ],
    [
      'and that is none',
      changed([...POD, 'nodeSelector'], 'x'),
      { cause: 'changed', path: 'spec.template.spec.nodeSelector' },
    ],
    ['replicas', changed(['spec', 'replicas'], 7), { cause: 'changed', path: 'spec.replicas' }],
    [
      'a label of ours',
      changed(['metadata', 'labels', 'edge-health/unit'], 'south'),
      { cause: 'changed', path: 'metadata.labels.edge-health/unit' },
    ],
    ['the whole spec', changed(['spec'], undefined), { cause: 'changed', path: 'spec.selector' }],
    ['1000m is written as 1', changed([...WEB, 'resources', 'limits', 'cpu'], '1'), undefined],
    ['1.5Gi as 1536Mi', changed([...WEB, 'resources', 'limits', 'memory'], '1536Mi'), undefined],
    [
      'another amount',
      changed([...WEB, 'resources', 'limits', 'cpu'], '2'),
      { cause: 'changed', path: 'spec.template.spec.containers[name=web].resources.limits.cpu' },
    ],
    [
      'a text is no amount',
      changed([...WEB, 'env', 0, 'value'], '1000m'),
      { cause: 'changed', path: 'spec.template.spec.containers[name=web].env[name=A].value' },
    ],
    ["the apiserver's defaults", changed([...WEB, 'imagePullPolicy'], 'Always'), undefined],
    ["a stranger's label", changed(['metadata', 'labels', 'theirs'], 'x'), undefined],
    ["a stranger's annotation", changed(['metadata', 'annotations', 'theirs'], 'x'), undefined],
    ['a finalizer', changed(['metadata', 'finalizers'], ['x']), undefined],
    ['a sidecar', changed([...POD, 'containers', 2], { name: 'injected', image: 'x' }), undefined],
    [
      'a default inside what is owned whole',
      changed([...WEB, 'env', 1, 'valueFrom', 'fieldRef', 'apiVersion'], 'v1'),
      undefined,
    ],
    [
      'more inside what is owned whole',
      changed([...POD, 'tolerations', 0, 'tolerationSeconds'], 1),
      { cause: 'changed', path: 'spec.template.spec.tolerations' },
    ],
  ]
  for (const [claim, live, want] of rows) t.strictSame(driftOf(wanted, live), want, claim)
  t.end()
})

t.test('what the grid wants now', t => {
  const before = childOf(
    serviceGrid('web', {
      template: { ports: [{ port: 80 }, { port: 81 }], selector: { app: 'web' } },
    }),
  )
  const wants = (spec: Json, meta: Json = {}): Json =>
    childOf(serviceGrid('web', spec, meta)).object
  const ports = (...list: readonly Json[]): Json => ({
    template: { ports: list, selector: { app: 'web' } },
  })
  const both = ports({ port: 80 }, { port: 81 })
  const rows: [claim: string, wanted: Json, want: Drift | undefined][] = [
    ['the same', wants(both), undefined],
    [
      'a port less',
      wants(ports({ port: 80 })),
      { cause: 'not-wanted', path: 'spec.ports[port=81,protocol=TCP]' },
    ],
    [
      'a port more',
      wants(ports({ port: 80 }, { port: 81 }, { port: 82 })),
      { cause: 'not-ours', path: 'spec.ports[2]' },
    ],
    [
      'another protocol',
      wants(ports({ port: 80 }, { port: 81, protocol: 'UDP' })),
      { cause: 'not-wanted', path: 'spec.ports[port=81,protocol=TCP]' },
    ],
    [
      'a name for a port',
      wants(ports({ port: 80, name: 'http' }, { port: 81 })),
      { cause: 'not-ours', path: 'spec.ports[port=80,protocol=TCP].name' },
    ],
    [
      'no selector',
      wants({ template: { ports: [{ port: 80 }, { port: 81 }] } }),
      { cause: 'not-wanted', path: 'spec.selector' },
    ],
    [
      'an empty selector',
      wants({ template: { ports: [{ port: 80 }, { port: 81 }], selector: {} } }),
      { cause: 'changed', path: 'spec.selector' },
    ],
    [
      'another selector',
      wants({ template: { ports: [{ port: 80 }, { port: 81 }], selector: { app: 'x' } } }),
      { cause: 'changed', path: 'spec.selector' },
    ],
    [
      'a label',
      wants(both, { labels: { a: 'b' } }),
      { cause: 'not-ours', path: 'metadata.labels.a' },
    ],
    [
      'an annotation',
      wants(both, { annotations: { a: 'b' } }),
      { cause: 'not-ours', path: 'metadata.annotations.a' },
    ],
    [
      'an empty map',
      wants({ template: { ...(both['template'] as Json), sessionAffinityConfig: {} } }),
      { cause: 'not-ours', path: 'spec.sessionAffinityConfig' },
    ],
    [
      'an empty list is nothing',
      wants({ template: { ...(both['template'] as Json), externalIPs: [] } }),
      undefined,
    ],
    [
      'a text where a map was',
      { ...wants(both), metadata: 'x' },
      { cause: 'not-wanted', path: 'metadata' },
    ],
    [
      'a map where a list was',
      wants({ template: { ports: { a: 1 }, selector: { app: 'web' } } }),
      { cause: 'not-wanted', path: 'spec.ports.{"port":80,"protocol":"TCP"}' },
    ],
    [
      'a list where a map was',
      { ...wants(both), metadata: ['x'] },
      { cause: 'not-wanted', path: 'metadata[labels]' },
    ],
  ]
  for (const [claim, wanted, want] of rows)
    t.strictSame(driftOf(wanted, applied(before)), want, claim)
  t.end()
})

t.test('who owns what', t => {
  const child = childOf(deploymentGrid('web'))
  const fieldsV1 = ownFields(child.object)
  const by = (...managedFields: readonly Json[]) =>
    driftOf(child.object, applied(child, { managedFields }))
  const NEVER = { cause: 'never-applied', path: '' }
  t.strictSame(by(), NEVER)
  t.strictSame(
    by({ manager: 'application-grid-controller', operation: 'Update', fieldsV1 }),
    NEVER,
    "SuperEdge's",
  )
  t.strictSame(
    by({ manager: MANAGER, operation: 'Update', fieldsV1 }),
    NEVER,
    'an update is no apply',
  )
  t.strictSame(
    by({ manager: MANAGER, operation: 'Apply', subresource: 'status', fieldsV1 }),
    NEVER,
    'nor a status',
  )
  t.equal(
    by(
      { manager: MANAGER, operation: 'Apply', fieldsV1 },
      { manager: 'x', operation: 'Update', fieldsV1: {} },
    ),
    undefined,
  )
  t.equal(
    by({ manager: MANAGER, operation: 'Apply', fieldsV1: { ...fieldsV1, 'f:spec': null } }),
    undefined,
    'an entry of another form owns all',
  )
  const less = structuredClone(fieldsV1) as { 'f:spec': Record<string, unknown> }
  delete less['f:spec']['f:replicas']
  t.strictSame(
    by({ manager: MANAGER, operation: 'Apply', fieldsV1: less }),
    { cause: 'not-ours', path: 'spec.replicas' },
    'an autoscaler took it',
  )
  t.end()
})

t.test('sets, and empty maps that are there', t => {
  const wanted = { metadata: { finalizers: ['a'] }, spec: { strategy: {} } }
  const live = (finalizer: string) =>
    parseLiveChild({
      kind: 'Deployment',
      metadata: {
        ...{ name: 'a', namespace: 'b', uid: 'c', resourceVersion: '1', finalizers: ['a'] },
        managedFields: [
          {
            manager: MANAGER,
            operation: 'Apply',
            fieldsV1: {
              'f:metadata': { 'f:finalizers': { '.': {}, [`v:"${finalizer}"`]: {} } },
              'f:spec': { '.': {} },
            },
          },
        ],
      },
      spec: { strategy: { type: 'RollingUpdate' } },
    })
  t.equal(driftOf(wanted, live('a')), undefined)
  t.strictSame(driftOf(wanted, live('b')), { cause: 'not-wanted', path: 'metadata.finalizers[b]' })
  t.end()
})

interface Recorded {
  readonly wanted: Json
  readonly live: { readonly kind: string; readonly metadata: { readonly name: string } }
}
/** What kube-apiserver 1.36.3 answered when these were applied: its defaults, its forms, its account of fields. */
const recorded = JSON.parse(
  readFileSync(join(import.meta.dirname, 'applied-by-1.36.3.json'), 'utf8'),
) as readonly Recorded[]

t.test('what a real apiserver makes of an apply does not drift', t => {
  t.equal(recorded.length, 6)
  for (const { wanted, live } of recorded)
    t.equal(driftOf(wanted, parseLiveChild(live)), undefined, `${live.kind} ${live.metadata.name}`)
  const { wanted, live } = recorded[0]!
  const other = structuredClone(wanted) as {
    spec: { template: { spec: { volumes: { emptyDir: object }[] } } }
  }
  other.spec.template.spec.volumes[1]!.emptyDir = { sizeLimit: '1025Mi' }
  t.match(driftOf(other, parseLiveChild(live)), {
    cause: 'changed',
    path: /volumes\[name=u\]\.emptyDir\.sizeLimit/,
  })
  t.end()
})

t.test('fields that the apiserver leaves out, since they are empty', t => {
  const wanted = { spec: { a: '', b: 0, c: false, d: [], e: {}, f: 'x' } }
  const live = (spec: Json) =>
    parseLiveChild({
      kind: 'Deployment',
      metadata: {
        ...{ name: 'a', namespace: 'b', uid: 'c', resourceVersion: '1' },
        managedFields: [
          {
            ...{ manager: MANAGER, operation: 'Apply' },
            fieldsV1: {
              'f:spec': { 'f:a': {}, 'f:b': {}, 'f:c': {}, 'f:d': {}, 'f:e': {}, 'f:f': {} },
            },
          },
        ],
      },
      spec,
    })
  t.equal(driftOf(wanted, live({ f: 'x' })), undefined)
  t.match(driftOf(wanted, live({})), { cause: 'changed', path: 'spec.f' })
  t.match(driftOf(wanted, live({ f: 'x', d: [1] })), { cause: 'changed', path: 'spec.d' })
  t.end()
})

t.test('fields that the apiserver fills in, since they are empty', t => {
  const service = (more: Json) =>
    childOf(serviceGrid('web', { template: { ports: [{ port: 80, ...more }], ...more } }))
  const empty = { clusterIP: '', clusterIPs: [], ipFamilies: [], nodePort: 0, targetPort: 0 }
  const chosen = { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] }
  const ports = [{ port: 80, protocol: 'TCP', ...empty, nodePort: 30_001, targetPort: 80 }]
  const wanted = service(empty)
  t.equal(driftOf(wanted.object, applied(wanted, { spec: { ...chosen, ports } })), undefined)
  const one = service({ clusterIP: '10.0.0.2' })
  t.match(driftOf(one.object, applied(one, { spec: chosen })), { path: 'spec.clusterIP' })

  const pods = (probe: Json, labels: Json): Json => {
    const { template: pods } = template() as { template: Json }
    const containers = [{ name: 'web', readinessProbe: probe }]
    const meta = { labels: { app: 'web', ...labels } }
    return { template: { ...pods, metadata: meta, spec: { containers } } }
  }
  const grid = (probe: Json, labels: Json = {}) =>
    childOf(deploymentGrid('web', { template: template('a:1', pods(probe, labels)) }))
  const slow = grid({ periodSeconds: 0 })
  const periodOf = (before: typeof slow, after: typeof slow) =>
    driftOf(before.object, applied(before, { spec: after.object['spec'] as Json }))
  t.equal(periodOf(slow, grid({ periodSeconds: 10 })), undefined)
  t.match(periodOf(grid({ periodSeconds: 5 }), grid({ periodSeconds: 10 })), { cause: 'changed' })
  t.match(periodOf(grid({}, { type: '' }), grid({}, { type: 'x' })), {
    path: 'spec.template.metadata.labels.type',
  })
  t.end()
})
