// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import fc from '../../../testkit/properties.js'
import type { Table } from '../../../wrapper/store/table.js'
import { servedBytes, type Rendering, type Stored } from '../../../wrapper/store/stored.js'
import { readSlice } from '../../../wrapper/wire/slice.js'
import { makeStore, node, service, slice } from '../wrapper-world.js'

/** What the history refers to and the present state does not. */
const onlyInHistory = (
  table: Table,
): { readonly raws: ReadonlySet<Uint8Array>; readonly renderings: ReadonlySet<Rendering> } => {
  const { history } = table
  const records: Stored[] = []
  for (let place = history.start; place < history.end; place++) {
    const { before, after } = history.at(place)!
    records.push(...[before, after].filter(record => record !== undefined))
  }
  const raws = new Set(records.map(({ raw }) => raw))
  const renderings = new Set(records.map(({ rendering }) => rendering))
  for (const { raw, rendering } of table.list()) {
    raws.delete(raw)
    renderings.delete(rendering)
  }
  return { raws, renderings }
}

const bytesOnlyInHistory = (table: Table): number => {
  const { raws, renderings } = onlyInHistory(table)
  const lengths = [...raws].map(({ length }) => length)
  return [...lengths, ...[...renderings].map(({ bytes }) => bytes)].reduce((a, b) => a + b, 0)
}

const NEAR = ['a', 'b', 'c']

/** Services x and y ask for the own zone, which has the nodes a, b and c. */
const startWorld = (history: { readonly changes: number; readonly bytes: number }) => {
  const world = makeStore({ history })
  world.fill({
    nodes: [...NEAR.map(name => node(name, { zone: '1' })), node('d', { zone: '2' })],
    services: ['x', 'y'].map(name => service(name, { annotations: { topologyKeys: '["zone"]' } })),
    endpointslices: ['x', 'y'].map(name => slice(`${name}-1`, name, [...NEAR, 'd'])),
  })
  return {
    ...{ ...world, table: world.store.table('endpointslices') },
    flip: (name: string) => {
      if (!world.health.dead.delete(name)) world.health.dead.add(name)
      world.store.setHealth([name])
    },
  }
}

t.test('the history counts all that only it keeps', t => {
  const of = fc.constantFrom('x', 'y')
  const step = fc.oneof(
    fc.record({ do: fc.constant('flip' as const), name: fc.constantFrom('b', 'c') }),
    /** Endpoints that are not shown come and go. */
    fc.record({ do: fc.constant('far' as const), of, count: fc.nat(3) }),
    fc.record({ do: fc.constant('near' as const), of, names: fc.subarray(NEAR) }),
    fc.record({ do: fc.constant('remove' as const), of }),
    fc.record({ do: fc.constant('trim' as const) }),
  )
  const limits = fc.record({
    changes: fc.constantFrom(4, 100),
    bytes: fc.constantFrom(0, 300, 9e9),
  })
  fc.assert(
    fc.property(limits, fc.array(step, { minLength: 10, maxLength: 40 }), (limits, steps) => {
      const { table, flip, put, remove } = startWorld(limits)
      const { history } = table
      for (const [i, step] of steps.entries()) {
        const version = String(i + 10)
        if (step.do === 'flip') flip(step.name)
        else if (step.do === 'trim') history.trim(history.end)
        else if (step.do === 'remove') remove('endpointslices', `default/${step.of}-1`)
        else {
          const names = step.do === 'near' ? step.names : NEAR
          const far = Array.from({ length: step.do === 'far' ? step.count : 1 }, () => 'd')
          const labels = { tag: step.do }
          put(
            'endpointslices',
            slice(`${step.of}-1`, step.of, [...names, ...far], { version, labels }),
          )
        }
        t.equal(history.bytes, bytesOnlyInHistory(table))
      }
      history.trim(history.end)
      t.ok(history.bytes <= limits.bytes)
    }),
  )
  t.end()
})

/** No two nodes side by side are in the own zone. */
const MIXED = Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? `near-${i}` : `far-${i}`))

t.test('a node that flaps does not make the history grow beyond its limits', t => {
  const limits = { changes: 1_000, bytes: 100_000 }
  const { store, fill, health } = makeStore({ history: limits })
  fill({
    nodes: [
      node('a', { zone: '1' }),
      ...MIXED.map(name => node(name, { zone: name.startsWith('near') ? '1' : '2' })),
    ],
    services: [service('web', { annotations: { topologyKeys: '["zone"]' } })],
    endpointslices: [slice('web-1', 'web', MIXED)],
  })
  const table = store.table('endpointslices')
  const { history } = table
  const present = table.list().reduce((sum, { raw }) => sum + raw.length, 0)
  for (let i = 0; i < 500; i++) {
    if (!health.dead.delete('near-0')) health.dead.add('near-0')
    store.setHealth(['near-0'])
    if (history.bytes > limits.bytes + present) t.fail('more bytes than it may have')
  }
  t.ok(history.end - history.start < 500, 'older changes were dropped')
  for (const { bytes, mark } of onlyInHistory(table).renderings)
    if (bytes < 200 * 8 || mark.length > 100)
      t.fail('a rendering counts each range that it leaves out, and its mark is short')
  const shown = readSlice(servedBytes(table.list()[0]!)).endpoints.map(({ node }) => node)
  t.strictSame(
    shown,
    MIXED.filter(name => name.startsWith('near')),
    'what is shown is right',
  )
  history.trim(history.end)
  t.ok(history.bytes <= limits.bytes)
  t.end()
})
