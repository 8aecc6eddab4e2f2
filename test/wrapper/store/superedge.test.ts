// SPDX-License-Identifier: Apache-2.0
// The tables of SuperEdge's own unit tests (storage cache of application-grid-wrapper), as far as they speak of the cache
// and of what its watchers are told. The names of its tests stand in the names of ours.
import t, { type Test } from 'tap'
import { ChangeCursor, SelectorCache } from '../../../wrapper/store/change-cursor.js'
import { ROWS, type Resource } from '../../../wrapper/store/resources.js'
import { servedBytes } from '../../../wrapper/store/stored.js'
import { toJson } from '../../../wrapper/wire/to-json.js'
import { makeStore, node, service, slice, type Thing } from '../wrapper-world.js'

type World = ReturnType<typeof makeStore>

const HOST = 'hostname'
const TEN = Array.from({ length: 10 }, (_, i) => i)
const WATCHED = ['nodes', 'services', 'endpoints'] as const

/** The object as it is served, but for the version, which is ours. */
const shown = (world: World, resource: Resource): readonly unknown[] =>
  world.store
    .table(resource)
    .list()
    .map(record => toJson(ROWS[resource].kind, servedBytes(record, 1)))

/** As upstream sent it. */
const sent = (world: World, resource: Resource): readonly unknown[] =>
  world.store
    .table(resource)
    .list()
    .map(({ raw }) => toJson(ROWS[resource].kind, raw))

const withoutVersion = ({ labels = {}, annotations = {} }: Thing['metadata']): object => ({
  ...(Object.keys(labels).length === 0 ? {} : { labels }),
  ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
})

interface Change {
  readonly type: string
  readonly name: string
  readonly object: unknown
}

/** Tells of what happens from now on. */
const listen = (world: World, resource: Resource): (() => readonly Change[]) => {
  const table = world.store.table(resource)
  const reader = new ChangeCursor({ table, selectors: new SelectorCache() }, undefined, {
    version: world.versions.newest,
    place: table.history.end,
  })
  return () => {
    const changes: Change[] = []
    for (let seen = reader.next(); seen !== undefined; seen = reader.next()) {
      if (seen === 'not selected') continue
      const { type, record, version } = seen
      const object = toJson(ROWS[resource].kind, servedBytes(record, version))
      changes.push({ type, name: record.key.replace('default/', ''), object })
    }
    return changes
  }
}

const inDefault = (name: string, annotations: Record<string, string> = {}): Thing => ({
  metadata: { name, namespace: 'default', resourceVersion: '1', annotations },
})

const KEYS = { topologyKeys: '["foo","bar"]' }
const inputs = {
  nodes: TEN.map(i => node(`node-${i}`)),
  services: TEN.map(i => service(`${i}`, i % 2 === 0 ? { annotations: KEYS } : {})),
  endpoints: TEN.map(i => inDefault(`${i}`)),
}

const started = (): World => {
  const world = makeStore({ self: HOST })
  world.fill()
  for (const resource of WATCHED) world.put(resource, ...inputs[resource])
  return world
}

t.test('TestCache, add: what is listed is what came in, by name', t => {
  const world = started()
  for (const resource of WATCHED) {
    t.equal(shown(world, resource).length, 10)
    t.strictSame(shown(world, resource), sent(world, resource), resource)
    const wanted = inputs[resource].map(({ metadata }) => metadata.name)
    const keys = world.store.table(resource).list()
    t.strictSame(
      keys.map(({ key }) => key.replace('default/', '')),
      wanted,
    )
  }
  t.end()
})

t.test('TestCache, update: what is listed is the newest of each', t => {
  const world = started()
  const updated = { ...inputs }
  updated.nodes = inputs.nodes.map((one, i) =>
    i % 2 === 0 ? node(`node-${i}`, { updated: 'true' }, '2') : one,
  )
  updated.services = inputs.services.map((one, i) =>
    i % 3 === 0
      ? service(`${i}`, { annotations: { ...one.metadata.annotations, updated: 'true' } }, '2')
      : one,
  )
  updated.endpoints = inputs.endpoints.map((one, i) =>
    i % 5 === 0 ? inDefault(`${i}`, { updated: 'true' }) : one,
  )
  const changed = { nodes: 5, services: 4, endpoints: 2 }
  for (const resource of WATCHED) {
    const hear = listen(world, resource)
    world.put(resource, ...updated[resource])
    t.match(
      shown(world, resource),
      updated[resource].map(({ metadata }) => ({
        metadata: { name: metadata.name, ...withoutVersion(metadata) },
      })),
    )
    const changes = hear()
    t.equal(changes.length, changed[resource], 'and nothing is told of what came again unchanged')
    t.ok(changes.every(({ type }) => type === 'MODIFIED'))
  }
  t.end()
})

t.test('TestCache, update of what nobody knew: it is there from now on', t => {
  // SuperEdge ignores it, and lacks the object until it is added anew.
  const world = started()
  for (const [resource, unknown] of [
    ['nodes', node('non-exist')],
    ['services', service('non-exist')],
    ['endpoints', inDefault('non-exist')],
  ] as const) {
    const hear = listen(world, resource)
    world.put(resource, unknown)
    t.match(hear(), [{ type: 'ADDED', name: 'non-exist' }])
    t.equal(shown(world, resource).length, 11)
  }
  t.end()
})

t.test('TestCache, delete: nothing is left, and what nobody knew is no trouble', t => {
  const world = started()
  for (const resource of WATCHED) {
    const hear = listen(world, resource)
    world.remove(resource, resource === 'nodes' ? 'non-exist' : 'default/non-exist')
    for (const { metadata } of inputs[resource])
      world.remove(resource, resource === 'nodes' ? metadata.name : `default/${metadata.name}`)
    t.strictSame(shown(world, resource), [])
    t.strictSame(
      hear().map(({ type, name }) => `${type} ${name}`),
      inputs[resource].map(({ metadata }) => `DELETED ${metadata.name}`),
    )
  }
  t.end()
})

t.test('TestCacheServiceNotifier: twenty events, in order, of the very objects', t => {
  const world = makeStore({ self: HOST })
  world.fill()
  const hear = listen(world, 'services')
  const services = TEN.map(i => service(`${i}`))
  world.put('services', ...services)
  for (const i of TEN)
    if (i % 3 === 0) world.put('services', service(`${i}`, { labels: { updated: 'true' } }, '2'))
    else world.remove('services', `default/${i}`)
  const changes = hear()
  t.equal(changes.length, 20)
  t.strictSame(
    changes.map(({ type, name }) => `${type} ${name}`),
    [
      ...TEN.map(i => `ADDED ${i}`),
      ...TEN.map(i => (i % 3 === 0 ? `MODIFIED ${i}` : `DELETED ${i}`)),
    ],
  )
  for (const [at, { object }] of changes.entries()) {
    const i = at % 10
    const labels = at >= 10 && i % 3 === 0 ? { updated: 'true' } : undefined
    t.match(object, { metadata: { name: `${i}`, labels }, spec: { clusterIP: '10.96.0.1' } })
  }
  t.end()
})

const NODES = [HOST, 'node-1', 'node-2']
const REGION = { annotations: { topologyKeys: '["region"]' } }
const ADDRESSES = ['1.0.0.1', '1.0.0.2', '1.0.0.3']

const endpointsOf = (name: string): Thing => ({
  ...inDefault(name),
  subsets: [{ addresses: NODES.map((nodeName, i) => ({ ip: ADDRESSES[i], nodeName })) }],
})

/** Two services with an endpoint on each of three nodes, as Endpoints and as slices. */
const inRegions = (): World => {
  const world = makeStore({ self: HOST })
  world.fill({
    nodes: NODES.map((name, i) => node(name, { region: i < 2 ? '1' : '2' })),
    services: [service('region-1', REGION), service('no-region')],
    endpoints: ['region-1', 'no-region'].map(endpointsOf),
    endpointslices: ['region-1', 'no-region'].map(name => slice(`${name}-x`, name, NODES)),
  })
  return world
}

interface Shown {
  readonly metadata: { readonly name: string }
  readonly subsets?: readonly { readonly addresses?: readonly { readonly ip: string }[] }[]
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[]
}

const addressesOf = ({ subsets = [], endpoints = [] }: Shown): readonly string[] => [
  ...subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)),
  ...endpoints.flatMap(({ addresses }) => addresses),
]

/** Service → what is left of its endpoints; the two resources must agree. */
const left = (t: Test, world: World): Readonly<Record<string, readonly string[]>> => {
  const of = (resource: 'endpoints' | 'endpointslices') =>
    Object.fromEntries(
      (shown(world, resource) as readonly Shown[]).map(one => [
        one.metadata.name.replace(/-x$/, ''),
        addressesOf(one),
      ]),
    )
  t.strictSame(of('endpointslices'), of('endpoints'), 'slices and Endpoints agree')
  return of('endpoints')
}

/** One event of each resource, about this service. */
const hearsOnce = (t: Test, world: World, act: () => void, name: string): void => {
  const hears = [listen(world, 'endpoints'), listen(world, 'endpointslices')]
  act()
  for (const hear of hears) {
    const changes = hear().map(({ type, name }) => `${type} ${name.replace(/-x$/, '')}`)
    t.strictSame(changes, name === '' ? [] : [`MODIFIED ${name}`])
  }
}

t.test('EndpointsWithNodeChange', t => {
  const world = inRegions()
  const [first, second, third] = ADDRESSES
  t.strictSame(left(t, world), { 'region-1': [first, second], 'no-region': ADDRESSES }, 'A')
  hearsOnce(t, world, () => world.put('nodes', node(HOST, { region: '2' }, '2')), 'region-1')
  t.strictSame(left(t, world), { 'region-1': [first, third], 'no-region': ADDRESSES }, 'B')
  hearsOnce(t, world, () => world.put('nodes', node('node-2', { region: '3' }, '2')), 'region-1')
  t.strictSame(left(t, world), { 'region-1': [first], 'no-region': ADDRESSES }, 'C')
  t.end()
})

t.test('EndpointsWithServiceUpdate', t => {
  const world = inRegions()
  const near = ADDRESSES.slice(0, 2)
  t.strictSame(left(t, world), { 'region-1': near, 'no-region': ADDRESSES }, 'A')
  const annotate = (annotations: Record<string, string>, version: string) => () =>
    world.put('services', service('no-region', { annotations }, version))
  hearsOnce(t, world, annotate({ note: 'x' }, '2'), '')
  t.strictSame(left(t, world), { 'region-1': near, 'no-region': ADDRESSES }, 'B')
  hearsOnce(t, world, annotate(REGION.annotations, '3'), 'no-region')
  t.strictSame(left(t, world), { 'region-1': near, 'no-region': near }, 'C')
  t.end()
})
