// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { isMap } from '../../../core/json.js'
import { parseGrid } from '../../../grids/model/parse.js'
import { planGrids, type GridPlan } from '../../../grids/model/plan.js'
import {
  deploymentGrid,
  serviceGrid,
  statefulSetGrid,
  template,
} from '../../../testkit/kube/grid-objects.js'
import fc from '../../../testkit/properties.js'

/** Compared with copies, which have the usual prototype. */
const PLAIN = { noNullPrototype: true } as const

const UNITS = ['a', 'b', 'a-b', 'b-c', 'Unit_A', 'x.y', '1', 'svc', 'c'.repeat(63)] as const
const NAMES = ['a', 'a-b', 'a-b-c', 'web', '1', 'x.y', 'n'.repeat(59)] as const

const override = fc.record(
  {
    units: fc.uniqueArray(fc.constantFrom(...UNITS), { minLength: 1, maxLength: 3 }),
    patches: fc.constantFrom(
      [
        {
          op: 'add',
          path: '/template/spec/containers/0/env/-',
          value: { name: 'U', value: '<{{unit}}>' },
        },
      ],
      [{ op: 'replace', path: '/template/spec/containers/0/image', value: 'image:<{{unit}}>' }],
      [{ op: 'remove', path: '/template/spec/volumes/0' }],
    ),
  },
  { requiredKeys: ['patches'], noNullPrototype: true },
)
const metadata = fc.record(
  {
    creationTimestamp: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
  },
  PLAIN,
)
const source = fc.constantFrom({ gridUniqKey: 'site' }, { gridUniqKey: undefined, nodeUnits: {} })
const workload = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.boolean(),
    fc.array(override, { maxLength: 3 }),
    source,
    metadata,
  )
  .chain(([name, isStateful, overrides, source, meta]) =>
    fc
      .boolean()
      .map(headlessService =>
        isStateful
          ? statefulSetGrid(name, { ...source, overrides, headlessService }, meta)
          : deploymentGrid(
              name,
              { ...source, overrides, templatePool: { next: template('next') } },
              meta,
            ),
      ),
  )
const service = fc
  .tuple(fc.constantFrom(...NAMES), source, metadata)
  .map(([name, source, meta]) => serviceGrid(name, source, meta))
const keyOf = (raw: Readonly<Record<string, unknown>>): string =>
  `${String(raw['kind'])} ${(raw['metadata'] as { name: string }).name}`
const grids = fc.uniqueArray(fc.oneof(workload, service), { maxLength: 6, selector: keyOf })
const node = fc.record(
  {
    labels: fc.oneof(
      fc.record({ site: fc.constantFrom(...UNITS) }, PLAIN),
      fc
        .constantFrom(...UNITS)
        .map((unit): Record<string, string> => ({ [unit]: 'nodeunits.superedge.io' })),
    ),
  },
  PLAIN,
)
const scene = fc.record({ grids, nodes: fc.array(node, { maxLength: 10 }) }, PLAIN)

const textsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsOf)
  return isMap(value) ? Object.values(value).flatMap(textsOf) : []
}
/** By grid, so that their order says nothing. */
const sorted = (plans: readonly GridPlan[]): unknown =>
  plans
    .map(
      ({ grid, units, children, failures }) =>
        [`${grid.kind} ${grid.name}`, units, children, failures] as const,
    )
    .toSorted(([a], [b]) => (a < b ? -1 : 1))

const RUNS = { numRuns: 500 }

t.test('rendering changes nothing that it is given', t => {
  fc.assert(
    fc.property(scene, ({ grids, nodes }) => {
      const before = structuredClone({ grids, nodes })
      const parsed = grids.map(parseGrid)
      const kept = structuredClone(parsed)
      planGrids(parsed, nodes)
      t.strictSame({ grids, nodes }, before)
      t.strictSame(parsed, kept)
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('the order of nodes and of grids says nothing', t => {
  fc.assert(
    fc.property(scene, ({ grids, nodes }) => {
      const parsed = grids.map(parseGrid)
      const one = sorted(planGrids(parsed, nodes))
      t.strictSame(sorted(planGrids(parsed.toReversed(), [...nodes.toReversed(), ...nodes])), one)
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('no two children have one name, and the API takes all of them', t => {
  const LIMIT = { Service: 63, Deployment: 63, StatefulSet: 52 }
  fc.assert(
    fc.property(scene, ({ grids, nodes }) => {
      const children = planGrids(grids.map(parseGrid), nodes).flatMap(plan => plan.children)
      const names = children.map(({ kind, name }) => `${kind} ${name}`)
      return (
        new Set(names).size === names.length &&
        children.every(
          ({ kind, name }) =>
            name.length <= LIMIT[kind] &&
            /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) &&
            (kind === 'Deployment' || !name.includes('.')),
        )
      )
    }),
    RUNS,
  )
  t.end()
})

t.test("a unit's name reaches no other unit, and its pods no other unit's nodes", t => {
  fc.assert(
    fc.property(scene, ({ grids, nodes }) =>
      planGrids(grids.map(parseGrid), nodes).every(({ grid, children }) =>
        children.every(({ kind, unit, object }) => {
          if (unit === undefined || kind === 'Service') return true
          const spec = object['spec'] as {
            template: { spec: { nodeSelector: Record<string, string> } }
          }
          const selector = spec.template.spec.nodeSelector
          const isHome =
            grid.source.by === 'label-value'
              ? selector['site'] === unit
              : Object.keys(selector).join() === unit
          const strays = textsOf(object['spec']).flatMap(text =>
            [...text.matchAll(/<([^>]*)>/g)].map(([, name]) => name),
          )
          return isHome && strays.every(name => name === unit)
        }),
      ),
    ),
    RUNS,
  )
  t.end()
})

t.test('every unit has its children, or says why not', t => {
  fc.assert(
    fc.property(scene, ({ grids, nodes }) =>
      planGrids(grids.map(parseGrid), nodes).every(({ grid, units, children, failures }) => {
        if (grid.kind === 'ServiceGrid') return children.length + failures.length === 1
        const seen = new Set([...children, ...failures].map(({ unit }) => unit))
        return seen.size === units.length && units.every(unit => seen.has(unit))
      }),
    ),
    RUNS,
  )
  t.end()
})
