// SPDX-License-Identifier: Apache-2.0
// With a thousand units a node that changes its unit must not cost a thousand comparisons a grid.
import t from 'tap'
import type { GridKind } from '../../../grids/model/grid.js'
import type { GridPlan } from '../../../grids/model/plan.js'
import { makeGridReader } from '../../../grids/run/grid-record.js'
import { Planner } from '../../../grids/run/planner.js'
import { deploymentGrid, serviceGrid, statefulSetGrid } from '../../../testkit/kube/grid-objects.js'

type Raw = ReturnType<typeof deploymentGrid>

/** One planner's plans of grids on nodes of these units. */
const makePlanOf = (): ((raw: Raw, units: readonly string[]) => GridPlan) => {
  let now: readonly string[] = []
  const planner = new Planner({
    unitsOf: () => now,
    rivalsOf: () => [],
    namesHeldFrom: () => new Map(),
  })
  return (raw, units) => {
    now = units
    const { metadata } = raw as { metadata: object }
    const seen = { ...raw, metadata: { ...metadata, resourceVersion: '1' } }
    const record = makeGridReader(raw['kind'] as GridKind)(seen)
    if (!record.reading.ok) throw new Error(record.reading.trouble)
    return planner.planOf(record, record.reading.grid)
  }
}

t.test('children of units that stay are the very same objects when another unit comes', t => {
  for (const raw of [deploymentGrid('web'), statefulSetGrid('db', { headlessService: true })]) {
    const planOf = makePlanOf()
    const before = planOf(raw, ['north', 'south'])
    const after = planOf(raw, ['east', 'north', 'south'])
    const kept = after.children.filter(child => before.children.includes(child))
    t.strictSame(
      kept.map(({ kind, unit }) => `${kind} ${unit}`),
      before.children.map(({ kind, unit }) => `${kind} ${unit}`),
    )
    t.equal(after.children.length - kept.length, before.children.length / 2, 'east is new')
    t.notOk(planOf(raw, ['east']).children.some(({ unit }) => unit === 'north'))
  }
  t.end()
})

t.test('a child with other content is a new object', t => {
  const planOf = makePlanOf()
  const [before] = planOf(deploymentGrid('web'), ['north']).children
  const labelled = deploymentGrid('web', {}, { labels: { tier: 'a' } })
  const [after] = planOf(labelled, ['north']).children
  t.not(after, before)
  t.match(after, { object: { metadata: { labels: { tier: 'a' } } } })
  const byNodeUnits = serviceGrid('svc', { gridUniqKey: undefined, nodeUnits: {} })
  const [one] = planOf(byNodeUnits, ['north']).children
  const [two] = planOf(byNodeUnits, ['north', 'south']).children
  t.not(two, one)
  t.match(JSON.stringify(two), 'south', "a Service lists its units' keys")
  t.end()
})
