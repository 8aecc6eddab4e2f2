// SPDX-License-Identifier: Apache-2.0
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { parseGrid } from '../../../grids/model/parse.js'
import { planGrids } from '../../../grids/model/plan.js'
import { parseTopologyKeys } from '../../../wrapper/prune/topology-keys.js'
import {
  deploymentGrid,
  inUnits,
  namesOf,
  parseAll,
  planOne,
  serviceGrid,
  sites,
  statefulSetGrid,
  template,
} from '../../../testkit/kube/grid-objects.js'

const objectsOf = (...args: Parameters<typeof planOne>) =>
  planOne(...args).children.map(({ object }) => object)

t.test('the Service of a ServiceGrid', t => {
  const raw = serviceGrid(
    'web',
    {},
    {
      labels: { team: 'a', 'superedge.io/grid-selector': 'lie' },
      annotations: {
        note: 'b',
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
        'edge-health/replicas': 'unmanaged',
        topologyKeys: '[]',
      },
    },
  )
  t.strictSame(objectsOf(raw, sites('north', 'south')), [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'web-svc',
        namespace: 'default',
        labels: {
          team: 'a',
          'superedge.io/grid-selector': 'web',
          'superedge.io/grid-uniq-key': 'site',
        },
        annotations: { note: 'b', topologyKeys: '["site"]' },
        ownerReferences: [
          {
            apiVersion: 'superedge.io/v1',
            kind: 'ServiceGrid',
            name: 'web',
            uid: 'uid-web',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, protocol: 'TCP' }] },
    },
  ])
  t.end()
})

const annotationOf = (object: Readonly<Record<string, unknown>> | undefined): string | undefined =>
  (object?.['metadata'] as { annotations?: Record<string, string> }).annotations?.['topologyKeys']

t.test('the wrapper reads what is written for it', t => {
  const units = { gridUniqKey: undefined, nodeUnits: {} }
  const rows: [
    claim: string,
    raw: Parameters<typeof planOne>[0],
    nodes: Parameters<typeof planOne>[1],
    keys: readonly string[],
  ][] = [
    ['a key', serviceGrid('a'), [], ['site']],
    [
      'a key with a domain',
      serviceGrid('a', { gridUniqKey: 'topology.kubernetes.io/zone' }),
      [],
      ['topology.kubernetes.io/zone'],
    ],
    [
      'NodeUnits are keys, one each',
      serviceGrid('a', units),
      inUnits('south', 'north'),
      ['north', 'south'],
    ],
    [
      '16 of them',
      serviceGrid('a', units),
      inUnits(...Array.from({ length: 16 }, (_, at) => `u${10 + at}`)),
      Array.from({ length: 16 }, (_, at) => `u${10 + at}`),
    ],
    [
      'no unit must not mean the whole cluster',
      serviceGrid('a', units),
      [],
      ['kubernetes.io/hostname'],
    ],
  ]
  for (const [claim, raw, nodes, keys] of rows)
    t.strictSame(
      parseTopologyKeys(annotationOf(objectsOf(raw, nodes)[0]), undefined),
      { keys },
      claim,
    )
  t.end()
})

t.test('more NodeUnits than a Service can name', t => {
  const many = inUnits(...Array.from({ length: 17 }, (_, at) => `u${at}`))
  const { children, failures } = planOne(
    serviceGrid('a', { gridUniqKey: undefined, nodeUnits: {} }),
    many,
  )
  t.strictSame(children, [])
  t.match(failures, [
    { unit: undefined, reason: 'TooManyUnits', message: /at most 16 NodeUnits, got 17/ },
  ])
  t.end()
})

t.test('overrides that would fill memory write nothing, and say so', t => {
  const text = '{{unit}}'.repeat(1_000)
  const overrides = [
    {
      patches: [{ op: 'add', path: '/template/metadata/annotations', value: { text } }],
    },
  ]
  const named = (count: number): string[] =>
    Array.from({ length: count }, (_, at) => `${'long-'.repeat(10)}${1_000 + at}`)
  const fits = planOne(deploymentGrid('web', { overrides }), sites(...named(100)))
  t.strictSame([fits.children.length, fits.failures], [100, []])
  const { children, failures } = planOne(deploymentGrid('web', { overrides }), sites(...named(900)))
  t.equal(children.length, 0)
  t.equal(failures.length, 900)
  const message =
    'templates made by spec.overrides must have at most 33554432 bytes in all units together, and have more'
  t.match(failures[0], { unit: `${'long-'.repeat(10)}1000`, reason: 'TooLarge', message })
  t.end()
})

t.test('overrides whose work keeps the controller from other grids, whatever they come to', t => {
  const grow = [
    { op: 'add', path: '/much', value: Array.from({ length: 80 }, () => ({ a: [] })) },
    ...Array.from({ length: 10 }, () => ({ op: 'copy', from: '/much', path: '/much/-' })),
  ]
  const small = { op: 'remove', path: '/much' }
  const fails = { op: 'test', path: '/replicas', value: 'another' }
  const names = Array.from({ length: 1_000 }, (_, at) => `s${at}`)
  for (const end of [small, fails]) {
    const raw = deploymentGrid('web', { overrides: [{ patches: grow }, { patches: [end] }] })
    t.ok(JSON.stringify(raw).length < 8_000)
    const few = planOne(raw, sites(...names.slice(0, 3)))
    t.equal(few.children.length + few.failures.length, 3)
    t.notMatch(few.failures, [{ reason: 'TooLarge' }])
    const { children, failures } = planOne(raw, sites(...names))
    t.equal(children.length, 0)
    t.equal(failures.length, 1_000)
    const message =
      'spec.overrides must take at most 536870912 steps of work in all units together, and take more'
    t.match(failures[0], { unit: 's0', reason: 'TooLarge', message })
  }
  t.end()
})

/** Maps inside of each other. */
const nested = (levels: number): object => (levels === 0 ? {} : { '': nested(levels - 1) })

/** Maps inside of each other whose keys all differ: V8 shares nothing between them. */
const chains = (count: number): readonly object[] => {
  let keys = 0
  const chain = (levels: number): object =>
    levels === 0 ? {} : { [(keys++).toString(36)]: chain(levels - 1) }
  return Array.from({ length: count }, () => chain(55))
}

/** Overrides that take far longer than their text is long, in each of a thousand units. */
const COSTLY: readonly [claim: string, patches: readonly object[], spec?: object][] = [
  [
    'long paths',
    [
      { op: 'add', path: '/x', value: nested(50) },
      ...Array.from({ length: 19 }, (_, at) => ({
        ...{ op: 'add', path: `/x${'/'.repeat(50 * (at + 1) + 1)}`, value: nested(49) },
      })),
      ...Array.from({ length: 30 }, () => ({ op: 'test', path: `/x${'/'.repeat(1_000)}q` })),
      { op: 'remove', path: '/x' },
    ],
  ],
  ['very many operations', Array.from({ length: 4_096 }, () => ({ op: 'test', path: '/x' }))],
  [
    'tiny values',
    [
      { op: 'add', path: '/x', value: Array.from({ length: 20_000 }, () => ({})) },
      { op: 'remove', path: '/x' },
    ],
  ],
  [
    'tiny values of the template',
    [{ op: 'replace', path: '/replicas', value: 1 }],
    { template: template('nginx:1', { x: Array.from({ length: 9_000 }, () => ({})) }) },
  ],
  [
    'thousands of different keys',
    [{ op: 'replace', path: '/replicas', value: 1 }],
    { template: template('nginx:1', { x: chains(68) }) },
  ],
]

t.test('overrides that take far longer than their text is long are TooLarge', t => {
  const nodes = sites(...Array.from({ length: 1_000 }, (_, at) => `s${at}`))
  for (const [claim, patches, spec] of COSTLY) {
    const raw = deploymentGrid('web', { overrides: [{ patches }], ...spec })
    t.ok(JSON.stringify(raw).length < 200_000)
    const { children, failures } = planOne(raw, nodes)
    t.strictSame([children.length, failures.length], [0, 1_000], claim)
    t.strictSame([...new Set(failures.map(({ reason }) => reason))], ['TooLarge'], claim)
  }
  t.end()
})

t.test('children with overrides take memory for their text, however many values they have', t => {
  const patches = [{ op: 'add', path: '/template/metadata/annotations', value: { on: '{{unit}}' } }]
  const x = Array.from({ length: 3_000 }, () => ({}))
  const raw = deploymentGrid('web', {
    template: template('nginx:1', { x }),
    overrides: [{ patches }],
  })
  const nodes = sites(...Array.from({ length: 300 }, (_, at) => `s${at}`))
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  const before = process.memoryUsage().heapUsed
  const { children } = planOne(raw, nodes)
  gc()
  const mib = (process.memoryUsage().heapUsed - before) / 1_048_576
  t.ok(mib < 10, `${mib} MiB`)
  const sizes = new Set(children.map(({ object }) => (object['spec'] as { x: object[] }).x.length))
  t.strictSame([children.length, [...sizes]], [300, [3_000]])
  t.end()
})

t.test('ordinary overrides of a template of 30 KiB in a thousand units are not TooLarge', t => {
  const env = Array.from({ length: 500 }, (_, at) => ({
    ...{ name: `SETTING_NUMBER_${at}`, value: `value-of-${at}.example.com` },
  }))
  const spec = { containers: [{ name: 'web', image: 'registry.example.com/web:1', env }] }
  const large = template('', { template: { metadata: { labels: { app: 'web' } }, spec } })
  const ofUnit = { name: 'SITE', value: '{{unit}}' }
  const patches = [
    ...Array.from({ length: 20 }, () => ({
      ...{ op: 'add', path: '/template/spec/containers/0/env/-', value: ofUnit },
    })),
    { op: 'add', path: '/template/metadata/annotations', value: { site: '{{unit}}' } },
  ]
  const raw = deploymentGrid('web', { template: large, overrides: [{ patches }] })
  t.ok(JSON.stringify(large).length > 30 * 1024)
  const nodes = sites(...Array.from({ length: 1_000 }, (_, at) => `s${at}`))
  const { children, failures } = planOne(raw, nodes)
  t.strictSame([children.length, failures], [1_000, []])
  t.end()
})

t.test('a preference for clusters without the wrapper', t => {
  const zone = { gridUniqKey: 'topology.kubernetes.io/zone', trafficDistribution: 'PreferSameZone' }
  t.match(objectsOf(serviceGrid('a', zone), [])[0], {
    metadata: { annotations: { topologyKeys: '["topology.kubernetes.io/zone"]' } },
    spec: { trafficDistribution: 'PreferSameZone', selector: { app: 'web' } },
  })
  t.end()
})

t.test('a Deployment for every unit', t => {
  const objects = objectsOf(deploymentGrid('web'), sites('south', 'north', 'south'))
  t.equal(objects.length, 2)
  t.strictSame(objects[0], {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'web-north',
      namespace: 'default',
      labels: {
        'superedge.io/grid-selector': 'web',
        'superedge.io/grid-uniq-key': 'site',
        'edge-health/unit': 'north',
      },
      ownerReferences: [
        {
          apiVersion: 'superedge.io/v1',
          kind: 'DeploymentGrid',
          name: 'web',
          uid: 'uid-DeploymentGrid-web',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: {
          nodeSelector: { site: 'north' },
          containers: [{ name: 'web', image: 'nginx:1', env: [] }],
        },
      },
    },
  })
  t.match(objects[1], {
    metadata: { name: 'web-south' },
    spec: { template: { spec: { nodeSelector: { site: 'south' } } } },
  })
  t.end()
})

t.test('a NodeUnit is a label key', t => {
  const raw = deploymentGrid('web', { gridUniqKey: undefined, nodeUnits: { names: ['north'] } })
  const [object] = objectsOf(raw, inUnits('north', 'south'))
  t.match(object, {
    metadata: { name: 'web-north', labels: { 'edge-health/unit': 'north' } },
    spec: { template: { spec: { nodeSelector: { north: 'nodeunits.superedge.io' } } } },
  })
  t.notMatch(object, { metadata: { annotations: { 'superedge.io/grid-uniq-key': String } } })
  t.notMatch(object, { metadata: { labels: { 'superedge.io/grid-uniq-key': String } } })
  t.end()
})

t.test('who owns the number of replicas', t => {
  const none = template('nginx:1', { replicas: undefined })
  const unmanaged = { annotations: { 'edge-health/replicas': 'unmanaged' } }
  t.match(objectsOf(deploymentGrid('web', { template: none }), sites('a'))[0], {
    spec: { replicas: 1 },
  })
  t.match(objectsOf(deploymentGrid('web', { template: { ...none, replicas: 0 } }), sites('a'))[0], {
    spec: { replicas: 0 },
  })
  t.notMatch(
    objectsOf(deploymentGrid('web', {}, unmanaged), sites('a'))[0],
    { spec: { replicas: Number } },
    'an autoscaler does',
  )
  t.end()
})

t.test('StatefulSets with a headless Service for each unit', t => {
  const objects = objectsOf(statefulSetGrid('db', { headlessService: true }), sites('north'))
  t.match(objects, [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'db-north', labels: { 'edge-health/unit': 'north' } },
      spec: {
        clusterIP: 'None',
        publishNotReadyAddresses: true,
        selector: { app: 'web', 'edge-health/unit': 'north' },
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db-north' },
      spec: {
        serviceName: 'db-north',
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web', 'edge-health/unit': 'north' } } },
      },
    },
  ])
  t.equal(objects.length, 2)
  t.end()
})

t.test("without one, its pods' labels and its Service are the user's", t => {
  const raw = statefulSetGrid('db', { template: template('i', { serviceName: 'db-svc' }) })
  const [object, ...others] = objectsOf(raw, sites('north'))
  t.strictSame(others, [])
  t.match(object, {
    kind: 'StatefulSet',
    spec: { serviceName: 'db-svc', template: { metadata: { labels: { app: 'web' } } } },
  })
  t.end()
})

t.test("a headless Service and a ServiceGrid's do not meet", t => {
  const grids = parseAll(statefulSetGrid('db', { headlessService: true }), serviceGrid('db'))
  t.match(namesOf(planGrids(grids, sites('svc'))), [
    /^svc: Service db-svc-[0-9a-f]{8}$|^svc: Service db-svc$/,
    'svc: StatefulSet db-svc',
    /^\*: Service db-svc(-[0-9a-f]{8})?$/,
  ])
  const names = namesOf(planGrids(grids, sites('svc'))).filter(text => text.includes('Service'))
  t.equal(new Set(names.map(text => text.split(' ')[2])).size, 2)
  t.end()
})

t.test('a name that other grids have', t => {
  const grid = parseGrid(statefulSetGrid('db', { headlessService: true }))
  const service = parseGrid(serviceGrid('db'))
  const first = planGrids([grid, service], sites('a'))
  const taken = new Map(
    first.flatMap(({ children }) =>
      children.map(
        ({ kind, name }) => [`${kind} default/${name}`, { gridUid: 'other', suffix: 'x' }] as const,
      ),
    ),
  )
  const second = planGrids([grid, service], sites('a'), taken)
  for (const plan of second)
    for (const { kind, name } of plan.children)
      taken.set(`${kind} default/${name}`, { gridUid: 'other', suffix: 'x' })
  const third = planGrids([grid, service], sites('a'), taken)
  t.match(
    third.flatMap(({ failures }) => failures),
    [
      {
        unit: 'a',
        reason: 'NameTaken',
        message: /db-a and db-a-[0-9a-f]{8} are children of other grids/,
      },
      { unit: undefined, reason: 'NameTaken' },
    ],
  )
  const workloadsOnly = new Map([...taken].filter(([key]) => key.startsWith('Service ')))
  t.match(
    planGrids([grid], sites('a'), workloadsOnly)[0]!.failures,
    [{ unit: 'a', reason: 'NameTaken' }],
    'no StatefulSet without its Service',
  )
  t.end()
})

t.test('a grid that is being deleted wants nothing, and one without units has no workload', t => {
  const deleting = deploymentGrid('web', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  t.strictSame(planGrids(parseAll(deleting), sites('a')), [])
  t.match(planOne(deploymentGrid('web'), []), { units: [], children: [], failures: [] })
  t.end()
})

t.test('what no apiserver has seen owns nothing', t => {
  const { metadata, ...rest } = deploymentGrid('web')
  const raw = { ...rest, metadata: { ...(metadata as object), uid: undefined } }
  t.notMatch(objectsOf(raw, sites('a'))[0], { metadata: { ownerReferences: Array } })
  t.end()
})
