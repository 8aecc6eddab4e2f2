// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { UnitSource } from '../../../grids/model/grid.js'
import { nodeLabelOf, unitsOf } from '../../../grids/model/units.js'
import fc from '../../../testkit/properties.js'

const SITE: UnitSource = { by: 'label-value', key: 'site' }
const ALL: UnitSource = { by: 'node-unit', names: undefined }
const IN = 'nodeunits.superedge.io'

t.test('units of nodes', t => {
  const rows: [
    claim: string,
    source: UnitSource,
    nodes: readonly Record<string, string>[],
    want: readonly string[],
  ][] = [
    ['no node, no unit', SITE, [], []],
    ['a node without the label is in none', SITE, [{ zone: 'a' }], []],
    ['an empty value is none', SITE, [{ site: '' }], []],
    ['each once and sorted', SITE, [{ site: 'b' }, { site: 'a' }, { site: 'b' }], ['a', 'b']],
    ['values stay as they are', SITE, [{ site: 'Unit_A' }], ['Unit_A']],
    [
      'a key with a domain',
      { by: 'label-value', key: 'topology.kubernetes.io/zone' },
      [{ 'topology.kubernetes.io/zone': 'z1' }],
      ['z1'],
    ],
    ['what every object has is no label', { by: 'label-value', key: 'constructor' }, [{}], []],
    [
      'NodeUnits are keys',
      ALL,
      [
        { north: IN, south: 'no' },
        { south: IN, north: IN },
      ],
      ['north', 'south'],
    ],
    [
      'NodeUnits that are asked for',
      { by: 'node-unit', names: ['south', 'west'] },
      [{ north: IN, south: IN }],
      ['south'],
    ],
    ['a key with a domain is no NodeUnit', ALL, [{ 'example.com/north': IN }], []],
  ]
  for (const [claim, source, nodes, want] of rows)
    t.strictSame(
      unitsOf(
        source,
        nodes.map(labels => ({ labels })),
      ),
      want,
      claim,
    )
  t.end()
})

t.test('what the nodes of a unit have in common', t => {
  t.strictSame(nodeLabelOf(SITE, 'north'), ['site', 'north'])
  t.strictSame(nodeLabelOf(ALL, 'north'), ['north', IN])
  t.end()
})

t.test('the order of nodes says nothing', t => {
  const node = fc.record({
    labels: fc.dictionary(fc.constantFrom('site', 'a', 'b'), fc.constantFrom('', 'x', 'y', IN)),
  })
  fc.assert(
    fc.property(fc.array(node), fc.constantFrom(SITE, ALL), (nodes, source) => {
      const units = unitsOf(source, nodes)
      t.strictSame(unitsOf(source, nodes.toReversed()), units)
      return units.every((unit, at) => at === 0 || units[at - 1]! < unit)
    }),
  )
  t.end()
})
