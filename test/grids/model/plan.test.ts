// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { nameKey } from '../../../grids/model/name.js'
import { areRivals, nameChildren, planGrid, planGrids } from '../../../grids/model/plan.js'
import { unitsOf } from '../../../grids/model/units.js'
import {
  deploymentGrid,
  parseAll,
  planOne,
  serviceGrid,
  sites,
  statefulSetGrid,
  template,
} from '../../../testkit/kube/grid-objects.js'

t.test("which grids' children may want the same name", t => {
  const rows: [a: string, b: string, want: boolean][] = [
    ['a', 'a-b', true],
    ['a-b', 'a', true],
    ['web', 'web', true],
    ['a', 'ab', false],
    ['a-b', 'a-c', false],
  ]
  for (const [one, other, want] of rows) {
    const [a, b] = parseAll(deploymentGrid(one), statefulSetGrid(other))
    t.equal(areRivals(a!, b!), want, `${one} and ${other}`)
  }
  const [here, there] = parseAll(
    deploymentGrid('a'),
    deploymentGrid('a', {}, { namespace: 'elsewhere' }),
  )
  t.notOk(areRivals(here!, there!), 'not in two namespaces')
  t.end()
})

t.test('a grid that is planned among its rivals is planned as among all grids', t => {
  const grids = parseAll(
    deploymentGrid('a'),
    deploymentGrid('a-b', {}, { creationTimestamp: '2025-01-01T00:00:00Z' }),
    deploymentGrid('other'),
    serviceGrid('svc'),
    statefulSetGrid('svc', { headlessService: true }),
  )
  const nodes = sites('b-c', 'c', 'svc', 'Unit_A')
  const placed = grids.map(grid => ({ grid, units: unitsOf(grid.source, nodes) }))
  const held = new Map([
    [nameKey('Deployment', 'default', 'a-b-c'), { gridUid: grids[0]!.uid!, suffix: 'b-c' }],
  ])
  for (const names of [new Map(), held] as const) {
    const all = planGrids(grids, nodes, names)
    for (const [at, one] of placed.entries()) {
      const rivals = placed.filter(({ grid }) => grid !== one.grid && areRivals(grid, one.grid))
      const plan = planGrid(one, nameChildren(one, rivals, names))
      t.strictSame(plan, all[at], `${one.grid.kind} ${one.grid.name}`)
    }
  }
  t.end()
})

t.test('names that mean something to JavaScript are names like any other', t => {
  const labels = { app: 'web', prototype: 'x', constructor: 'y' }
  const podSpec = { nodeSelector: { prototype: 'x' }, containers: [{ name: 'a', image: 'b' }] }
  const grid = deploymentGrid('web', {
    templatePool: {
      prototype: template('nginx:2', {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec },
      }),
    },
    templates: { constructor: 'prototype' },
  })
  const { failures, children } = planOne(grid, sites('constructor'))
  t.strictSame(failures, [])
  t.match(children[0]!.object, {
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { nodeSelector: { prototype: 'x', site: 'constructor' } },
      },
    },
  })
  t.end()
})
