// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import fc from '../../../testkit/properties.js'
import { makeStore, node, service, slice, type Thing } from '../wrapper-world.js'
import {
  ChangeCursor,
  SelectorCache,
  type Selection,
} from '../../../wrapper/store/change-cursor.js'
import { servedBytes, type Stored } from '../../../wrapper/store/stored.js'
import { RESOURCES, type Resource } from '../../../wrapper/store/resources.js'
import type { Table } from '../../../wrapper/store/table.js'
import { withVersion } from '../../../wrapper/wire/meta.js'

const NODES = ['a', 'b', 'c', 'd']
const SERVICES = ['x', 'y']
const SLICES = ['x-1', 'x-2', 'y-1', 'z-1']

type Step =
  | {
      readonly do: 'slice'
      readonly name: string
      readonly nodes: readonly string[]
      readonly tag: string
    }
  | { readonly do: 'service'; readonly name: string; readonly keys: string | undefined }
  | { readonly do: 'node'; readonly name: string; readonly zone: string }
  | { readonly do: 'remove'; readonly resource: Resource; readonly key: string }
  | { readonly do: 'health'; readonly name: string }
  | { readonly do: 'fresh' }
  | { readonly do: 'relist' }
  | { readonly do: 'watch'; readonly tag: string | undefined }

const zone = fc.constantFrom('1', '2')
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('slice' as const),
      name: fc.constantFrom(...SLICES),
      nodes: fc.subarray(NODES),
      tag: zone,
    }),
  },
  fc.record({
    do: fc.constant('service' as const),
    name: fc.constantFrom(...SERVICES),
    keys: fc.constantFrom(undefined, '["zone"]', '[]', '["*"]', 'broken'),
  }),
  fc.record({ do: fc.constant('node' as const), name: fc.constantFrom(...NODES), zone }),
  fc.record({
    do: fc.constant('remove' as const),
    resource: fc.constant('endpointslices' as const),
    key: fc.constantFrom(...SLICES.map(name => `default/${name}`)),
  }),
  fc.record({
    do: fc.constant('remove' as const),
    resource: fc.constant('services' as const),
    key: fc.constantFrom(...SERVICES.map(name => `default/${name}`)),
  }),
  fc.record({
    do: fc.constant('remove' as const),
    resource: fc.constant('nodes' as const),
    key: fc.constantFrom(...NODES),
  }),
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('health' as const), name: fc.constantFrom(...NODES) }),
  },
  fc.record({ do: fc.constant('fresh' as const) }),
  fc.record({ do: fc.constant('relist' as const) }),
  fc.record({ do: fc.constant('watch' as const), tag: fc.constantFrom(undefined, '1', '2') }),
)

/** What upstream holds, beside the store. */
type Truth = Map<Resource, Map<string, Thing>>

const apply = (
  world: ReturnType<typeof makeStore>,
  truth: Truth,
  version: string,
  step: Step,
): void => {
  const put = (resource: Resource, thing: Thing): void => {
    const { namespace, name } = thing.metadata
    truth.get(resource)!.set(namespace === undefined ? name : `${namespace}/${name}`, thing)
    world.put(resource, thing)
  }
  switch (step.do) {
    case 'slice':
      put(
        'endpointslices',
        slice(step.name, step.name[0]!, step.nodes, { version, labels: { tag: step.tag } }),
      )
      break
    case 'service':
      put(
        'services',
        service(
          step.name,
          step.keys === undefined ? {} : { annotations: { topologyKeys: step.keys } },
          version,
        ),
      )
      break
    case 'node':
      put('nodes', node(step.name, { zone: step.zone }, version))
      break
    case 'remove':
      truth.get(step.resource)!.delete(step.key)
      world.remove(step.resource, step.key)
      break
    case 'health':
      if (!world.health.dead.delete(step.name)) world.health.dead.add(step.name)
      world.store.setHealth([step.name])
      break
    case 'fresh':
      world.health.isFresh = !world.health.isFresh
      world.store.setHealth([])
      break
    case 'relist':
      for (const resource of RESOURCES) world.replace(resource, ...truth.get(resource)!.values())
      break
    case 'watch':
      break
  }
}

const bytesOf = (record: Stored, version = record.version): string =>
  Buffer.from(servedBytes(record, version)).toString('hex')

const stateOf = (records: readonly Stored[]): Record<string, string> =>
  Object.fromEntries(records.map(record => [record.key, bytesOf(record)]))

const bySelector = (tag: string | undefined): Selection =>
  tag === undefined ? undefined : (_record, labels) => labels().get('tag') === tag

/** A client that lists, watches, and believes what it is told. */
class Client {
  readonly known = new Map<string, string>()
  readonly #reader: ChangeCursor
  readonly #selection: Selection
  readonly #table: Table
  #last: number
  constructor(table: Table, tag: string | undefined) {
    const selectors = new SelectorCache()
    this.#table = table
    this.#selection = bySelector(tag)
    for (const record of this.wanted()) this.known.set(record.key, bytesOf(record))
    const version = table.versions.newest
    this.#last = version
    this.#reader = new ChangeCursor({ table, selectors }, this.#selection, {
      version,
      place: table.history.placeAfter(version)!,
    })
  }
  wanted(): readonly Stored[] {
    const selectors = new SelectorCache()
    return this.#table.list().filter(record => selectors.wants(this.#selection, record))
  }
  /** Whether each event fits what was known before it. */
  catchUp(): void {
    for (let seen = this.#reader.next(); seen !== undefined; seen = this.#reader.next()) {
      if (seen === 'not selected') continue
      const { type, record, version } = seen
      if (version <= this.#last) throw new Error('versions must rise')
      this.#last = version
      if (this.known.has(record.key) !== (type !== 'ADDED')) throw new Error(`a wrong ${type}`)
      if (type === 'DELETED') this.known.delete(record.key)
      else this.known.set(record.key, bytesOf(record, version))
    }
  }
}

t.test('a client that follows the events has the list at every version', t => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.array(fc.nat(3), { maxLength: 60 }),
      (steps, rests) => {
        const world = makeStore()
        world.fill()
        const truth: Truth = new Map(
          RESOURCES.map(resource => [resource, new Map<string, Thing>()]),
        )
        const table = world.store.table('endpointslices')
        const clients = [new Client(table, undefined), new Client(table, '1')]
        const past: [version: number, state: Record<string, string>][] = []
        for (const [i, step] of steps.entries()) {
          past.push([world.versions.newest, stateOf(table.list())])
          apply(world, truth, String(i + 10), step)
          if (step.do === 'watch') clients.push(new Client(table, step.tag))
          // Some read at once, some later, in any order.
          if (rests[i] !== 0) clients[i % clients.length]!.catchUp()
        }
        for (const client of clients) {
          client.catchUp()
          t.strictSame(Object.fromEntries(client.known), stateOf(client.wanted()))
        }
        for (const [version, state] of past) t.strictSame(stateOf(table.listAt(version)!), state)
        // Nothing is left over from how it came about, but the last good rules of services.
        const fresh = makeStore()
        fresh.health.isFresh = world.health.isFresh
        for (const name of world.health.dead) fresh.health.dead.add(name)
        if (steps.some(step => step.do === 'service' && step.keys === 'broken')) return
        if (steps.some(step => step.do === 'remove' && step.key === 'a')) return
        for (const resource of RESOURCES) fresh.replace(resource, ...truth.get(resource)!.values())
        const plain = (records: readonly Stored[]): readonly string[] =>
          records.map(({ raw, rendering }) =>
            Buffer.from(withVersion(rendering.apply(raw), '')).toString('hex'),
          )
        t.strictSame(plain(table.list()), plain(fresh.store.table('endpointslices').list()))
      },
    ),
  )
  t.end()
})
