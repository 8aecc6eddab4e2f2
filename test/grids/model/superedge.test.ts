// SPDX-License-Identifier: Apache-2.0
// What was seen of SuperEdge's application-grid-controller v0.9.0 on Kubernetes 1.36, row by row, and what is decided here
// instead. The names say what was seen there; rows that need a cluster to be shown are not here.
import t from 'tap'
import { claimOf, takeInventory } from '../../../grids/model/adopt.js'
import { driftOf } from '../../../grids/model/drift.js'
import type { Json } from '../../../grids/model/grid.js'
import { guardUnits } from '../../../grids/model/guard.js'
import type { LiveChild } from '../../../grids/model/live.js'
import { parseGrid } from '../../../grids/model/parse.js'
import { planGrids, type GridPlan } from '../../../grids/model/plan.js'
import { nextStatus } from '../../../grids/model/status.js'
import {
  deploymentGrid,
  namesOf,
  parseAll,
  planOne,
  serviceGrid,
  sites,
  statefulSetGrid,
  template,
} from '../../../testkit/kube/grid-objects.js'
import { applied } from '../live-objects.js'

const SITES = sites('north', 'south')
/** What a grid made is there; how must it change when the grid has become `after`? */
const driftAfter = (before: Json, after: Json, nodes = SITES) => {
  const lives = planOne(before, nodes).children.map(child => applied(child))
  return planOne(after, nodes).children.map(({ object }, at) => driftOf(object, lives[at]!))
}
const ports = (...list: readonly Json[]): Json => ({
  template: { selector: { app: 'web', tier: 'a' }, ports: list },
})
const both = ports(
  { port: 80, protocol: 'TCP', name: 'a' },
  { port: 81, protocol: 'TCP', name: 'b' },
)

t.test("1.1: owned when it is made, and kubectl's note of the grid stays with the grid", t => {
  const note = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', theirs: 'kept' }
  const [object] = planOne(serviceGrid('web', {}, { annotations: note }), []).children.map(
    child => child.object,
  )
  t.match(object, {
    metadata: { ownerReferences: [{ uid: 'uid-web', controller: true, blockOwnerDeletion: true }] },
  })
  t.strictSame((object!['metadata'] as { annotations: object }).annotations, {
    theirs: 'kept',
    topologyKeys: '["site"]',
  })
  t.end()
})

t.test('1.1: each change of a grid is seen', t => {
  const rows: [seen: string, before: Json, after: Json, cause: string][] = [
    [
      'port number changed',
      serviceGrid('web', both),
      serviceGrid(
        'web',
        ports({ port: 80, protocol: 'TCP', name: 'a' }, { port: 82, protocol: 'TCP', name: 'b' }),
      ),
      'not-wanted',
    ],
    [
      'one of two ports removed: no request at all',
      serviceGrid('web', both),
      serviceGrid('web', ports({ port: 80, protocol: 'TCP', name: 'a' })),
      'not-wanted',
    ],
    [
      'selector key removed: no request at all',
      serviceGrid('web', both),
      serviceGrid('web', { template: { ...(both['template'] as Json), selector: { app: 'web' } } }),
      'changed',
    ],
    [
      'label changed: no request at all',
      serviceGrid('web', both, { labels: { a: '1' } }),
      serviceGrid('web', both, { labels: { a: '2' } }),
      'changed',
    ],
    [
      'annotation taken off: no request at all',
      serviceGrid('web', both, { annotations: { a: '1' } }),
      serviceGrid('web', both),
      'not-wanted',
    ],
  ]
  for (const [seen, before, after, cause] of rows)
    t.match(driftAfter(before, after), [{ cause }], seen)
  t.end()
})

const service = planOne(serviceGrid('web'), SITES).children[0]!
const serviceMeta = service.object['metadata'] as Json

t.test('1.1: a Service that somebody edited', t => {
  const found = (since: Parameters<typeof applied>[1]) =>
    driftOf(service.object, applied(service, since))
  t.equal(
    found({
      metadata: {
        finalizers: ['x'],
        annotations: { ...(serviceMeta['annotations'] as object), x: 'y' },
      },
    }),
    undefined,
    'foreign annotations and finalizers are theirs',
  )
  t.match(
    found({ spec: { selector: { app: 'other' } } }),
    { cause: 'changed', path: 'spec.selector' },
    'selector replaced',
  )
  t.match(
    found({ metadata: { annotations: {} } }),
    { cause: 'changed' },
    'topologyKeys removed: never repaired',
  )
  t.match(
    found({ metadata: { labels: {} } }),
    { cause: 'changed' },
    'grid-selector label removed: deleted and made anew',
  )
  t.equal(
    claimOf(parseGrid(serviceGrid('web')), applied(service, { metadata: { labels: {} } })).kind,
    'ours',
  )
  t.equal(
    found({
      spec: { clusterIP: '10.0.0.1', ports: [{ port: 80, protocol: 'TCP', nodePort: 31000 }] },
    }),
    undefined,
    "nodePort and clusterIP are the apiserver's",
  )
  t.end()
})

t.test(
  "1.1: a user's Service is labelled grid-selector=<grid>: adopted, then deleted, within a second",
  t => {
    const theirs = applied(service, { metadata: { name: 'theirs', ownerReferences: [] } })
    const { surplus, gone } = takeInventory(planOne(serviceGrid('web'), SITES), [theirs])
    t.strictSame([surplus, gone.size], [[], 0])
    t.end()
  },
)

t.test("1.1: <grid>-svc is taken by a user's Service: swallowed", t => {
  const plan = planOne(serviceGrid('web'), SITES)
  const theirs = applied(service, { metadata: { ownerReferences: [], labels: { app: 'mine' } } })
  const claim = claimOf(plan.grid, theirs)
  if (claim.kind !== 'taken') throw new Error('it is theirs')
  const failures = [{ unit: undefined, reason: 'NameTaken', message: claim.by }]
  t.match(nextStatus({ ...plan, children: [], failures, hold: undefined }, {}, ''), {
    conditions: [
      { type: 'Ready', status: 'False', reason: 'NameTaken', message: /nobody controls it/ },
    ],
  })
  t.end()
})

t.test('1.1: a Service owned by grid A but labelled for B: A deletes it, B makes a new one', t => {
  const ofA = applied(planOne(serviceGrid('a'), SITES).children[0]!, {
    metadata: { labels: { 'superedge.io/grid-selector': 'b' } },
  })
  const [a, b] = planGrids(parseAll(serviceGrid('a'), serviceGrid('b')), SITES) as [
    GridPlan,
    GridPlan,
  ]
  t.match(takeInventory(a, [ofA]), { claims: [{ claim: { kind: 'ours' } }], surplus: [] })
  t.match(takeInventory(b, [ofA]), { claims: [{ claim: { kind: 'free' } }], surplus: [] })
  t.end()
})

t.test('1.1: keys', t => {
  for (const key of ['', 'bad key!'])
    t.throws(
      () => parseGrid(serviceGrid('web', { gridUniqKey: key })),
      /spec\.gridUniqKey must be the key of a node label/,
    )
  for (const key of ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']) {
    const plan = planOne(deploymentGrid('web', { gridUniqKey: key }), [{ labels: { [key]: 'z1' } }])
    const { metadata, spec } = plan.children[0]!.object as {
      metadata: { labels: object; annotations: Json }
      spec: unknown
    }
    t.notOk(
      'superedge.io/grid-uniq-key' in metadata.labels,
      'a prefixed key was a label value: 422 for ever',
    )
    t.equal(metadata.annotations['superedge.io/grid-uniq-key'], key)
    t.match(spec, { template: { spec: { nodeSelector: { [key]: 'z1' } } } })
  }
  t.end()
})

t.test('1.1: a name of 60 to 63 characters: 422 for ever', t => {
  for (const length of [59, 60, 63])
    t.match(
      namesOf([planOne(serviceGrid('a'.repeat(length)), [])])[0],
      length === 59 ? /^\*: Service a{59}-svc$/ : /^\*: Service a{54}-[0-9a-f]{8}$/,
    )
  t.end()
})

t.test('1.1: an orphan is taken up by a new grid of that name', t => {
  const orphan = applied(service, { metadata: { ownerReferences: [] } })
  t.equal(claimOf(parseGrid(serviceGrid('web', {}, { uid: 'new' })), orphan).kind, 'adoptable')
  t.end()
})

const plan = planOne(deploymentGrid('web'), SITES)
const [north] = plan.children
const workload = (since: Parameters<typeof applied>[1]): LiveChild => applied(north!, since)
const podSpec = (more: Json): Json => ({
  template: {
    metadata: { labels: { app: 'web' } },
    spec: {
      nodeSelector: { site: 'north' },
      containers: [{ name: 'web', image: 'nginx:1' }],
      ...more,
    },
  },
})

t.test('1.2: what is asked of the API when a grid is made', t => {
  t.equal(
    planOne(deploymentGrid('web'), sites('a', 'a', 'a', 'b')).children.length,
    2,
    'two nodes in one unit: every update twice',
  )
  const raw = deploymentGrid('web')
  const before = structuredClone(raw)
  planGrids([parseGrid(raw)], SITES)
  t.strictSame(raw, before, 'the grid itself is never written')
  t.end()
})

t.test('1.2: a child that somebody edited', t => {
  const drift = (since: Parameters<typeof applied>[1]) => driftOf(north!.object, workload(since))
  t.equal(
    drift({
      metadata: {
        annotations: { theirs: 'x' },
      },
    }),
    undefined,
    'image changed: foreign annotations wiped',
  )
  t.match(
    drift({ spec: { replicas: 7 } }),
    { cause: 'changed', path: 'spec.replicas' },
    'scaled to 7: put back',
  )
  t.match(
    drift({ spec: podSpec({ containers: [{ name: 'web', image: 'other' }] }) }),
    { cause: 'changed', path: /image/ },
    'image edited: put back',
  )
  t.equal(
    drift({
      spec: podSpec({ containers: [{ name: 'web', image: 'nginx:1' }, { name: 'injected' }] }),
    }),
    undefined,
    "a sidecar is its author's, and costs no request",
  )
  t.end()
})

t.test('1.2: an autoscaler keeps its number where the grid leaves it to it', t => {
  const unmanaged = planOne(
    deploymentGrid('web', {}, { annotations: { 'edge-health/replicas': 'unmanaged' } }),
    SITES,
  )
  const [child] = unmanaged.children
  t.equal(driftOf(child!.object, applied(child!, { spec: { replicas: 7 } })), undefined)
  t.end()
})

t.test('1.2: last label gone, or the Node object: deleted at once', t => {
  const one = planOne(deploymentGrid('web'), [])
  const { gone } = takeInventory(one, [workload({})])
  t.strictSame([...gone.keys()], ['north'])
  const question = { present: one.units, confirmed: undefined, now: 1_000, graceMs: 300_000 }
  t.match(guardUnits({ ...question, gone: new Map([['north', undefined]]) }), {
    remove: [],
    hold: { reason: 'AllUnitsGone' },
  })
  const two = planOne(deploymentGrid('web'), sites('a', 'b', 'c'))
  t.match(
    guardUnits({ ...question, present: two.units, gone: new Map([['north', undefined]]) }),
    { remove: [], hold: undefined, nextAt: 301_000 },
    'one of four waits',
  )
  t.end()
})

t.test('1.2: templatePool (canary): cannot work', t => {
  const canary = { templatePool: { next: template('nginx:2') }, templates: { north: 'next' } }
  const images = planOne(deploymentGrid('web', canary), SITES).children.map(
    ({ object }) =>
      (object['spec'] as { template: { spec: { containers: { image: string }[] } } }).template.spec
        .containers[0]!.image,
  )
  t.strictSame(images, ['nginx:2', 'nginx:1'])
  t.end()
})

t.test('1.2: templates names a missing template: the whole grid stops', t => {
  const { children, failures } = planOne(
    deploymentGrid('web', { templates: { north: 'none' } }),
    SITES,
  )
  t.strictSame(
    children.map(({ unit }) => unit),
    ['south'],
  )
  t.match(failures, [{ unit: 'north', reason: 'TemplateMissing' }])
  t.end()
})

t.test(
  '1.2: a template with its own nodeSelector: all units get the last one, and the grid is written for ever',
  t => {
    const own = template('nginx:1', podSpec({ nodeSelector: { disk: 'ssd', site: 'left-over' } }))
    const grid = parseGrid(deploymentGrid('web', { template: own }))
    const selectors = planGrids([grid], SITES)[0]!.children.map(
      ({ object }) =>
        (object['spec'] as { template: { spec: { nodeSelector: Json } } }).template.spec
          .nodeSelector,
    )
    t.strictSame(selectors, [
      { disk: 'ssd', site: 'north' },
      { disk: 'ssd', site: 'south' },
    ])
    t.strictSame((grid as unknown as { template: unknown }).template, own)
    t.end()
  },
)

t.test('1.2: a template without replicas: the process dies', t => {
  const { children } = planOne(
    deploymentGrid('web', { template: template('nginx:1', { replicas: undefined }) }),
    SITES,
  )
  t.match(children[0]!.object, { spec: { replicas: 1 } })
  t.end()
})

t.test('1.2: unit value Unit_A: 422 for ever', t => {
  t.match(namesOf([planOne(deploymentGrid('web'), sites('Unit_A'))]), [
    /^Unit_A: Deployment web-unit-a-[0-9a-f]{8}$/,
  ])
  t.end()
})

t.test('1.2: grid a with unit b-c, grid a-b with unit c: the second is never made', t => {
  const names = namesOf(
    planGrids(parseAll(deploymentGrid('a'), deploymentGrid('a-b')), sites('b-c', 'c')),
  ).map(text => text.split(' ')[2])
  t.equal(new Set(names).size, 4)
  t.end()
})

t.test('1.2: all units gone: a stale status', t => {
  const empty = planOne(statefulSetGrid('db'), [])
  t.match(
    nextStatus(
      { ...empty, children: [], hold: undefined },
      { units: { desired: 3 }, states: { north: {} } },
      '',
    ),
    {
      units: { desired: 0, current: 0 },
      states: {},
      conditions: [{ type: 'Ready', status: 'False', reason: 'NoUnits' }],
    },
  )
  t.end()
})

t.test("1.2: fields newer than SuperEdge's schema reach the child", t => {
  const newer = template('nginx:1', {
    minReadySeconds: 5,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' },
    ...podSpec({ hostUsers: false }),
  })
  t.match(planOne(statefulSetGrid('db', { template: newer }), SITES).children[0]!.object, {
    spec: {
      minReadySeconds: 5,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' },
      template: { spec: { hostUsers: false } },
    },
  })
  t.match(
    planOne(serviceGrid('web', { template: { internalTrafficPolicy: 'Local' } }), []).children[0]!
      .object,
    { spec: { internalTrafficPolicy: 'Local' } },
  )
  t.end()
})
