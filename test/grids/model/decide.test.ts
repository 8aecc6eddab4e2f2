// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { decideGrid, objectOf, type Decision, type Operation } from '../../../grids/model/decide.js'
import type { LiveChild } from '../../../grids/model/live.js'
import { applied, type Since } from '../live-objects.js'
import {
  deploymentGrid,
  planOne,
  serviceGrid,
  sites,
  statefulSetGrid,
  template,
} from '../../../testkit/kube/grid-objects.js'

const NOW = Date.parse('2026-01-02T00:00:00Z')
const GRACE = 300_000
const plan = planOne(deploymentGrid('web'), sites('north', 'south', 'east'))
const [east, north, south] = [plan.children[0]!, plan.children[1]!, plan.children[2]!]
const lives = plan.children.map(child => applied(child))

const decide = (of: ReturnType<typeof planOne>, lives: readonly LiveChild[], now = NOW): Decision =>
  decideGrid({ plan: of, lives, now, graceMs: GRACE })
const texts = ({ operations }: Decision): readonly string[] => operations.map(textOf)
const textOf = (operation: Operation): string => {
  switch (operation.kind) {
    case 'apply':
      return `apply ${operation.target.kind} ${objectOf(operation)}`
    case 'mark':
      return `mark ${operation.live.name} ${operation.since ?? 'back'}`
    case 'delete':
      return `delete ${operation.live.name} ${operation.why}`
  }
}
const superedge = (fields: object) => ({
  manager: 'application-grid-controller',
  operation: 'Update',
  fieldsV1: fields,
})
const gone = (minutesAgo: number): Since => ({
  metadata: {
    annotations: {
      'edge-health/unit-gone-since': new Date(NOW - minutesAgo * 60_000).toISOString(),
    },
  },
})
/** As `applied`, but with what its object has beside the annotation. */
const marked = (child: typeof north, minutesAgo: number): LiveChild =>
  applied(child, gone(minutesAgo))

t.test('an operation is named by its child', t => {
  const { operations } = decide({ ...plan, children: [] }, lives)
  t.strictSame(operations.map(objectOf), [
    'Deployment web-east',
    'Deployment web-north',
    'Deployment web-south',
  ])
  t.end()
})

t.test('what is to be done', t => {
  const rows: [claim: string, lives: readonly LiveChild[], want: readonly string[]][] = [
    [
      'nothing is there: all are made',
      [],
      ['web-east', 'web-north', 'web-south'].map(name => `apply new Deployment ${name}`),
    ],
    ['all is there: nothing', lives, []],
    [
      'one was changed',
      [applied(east, { spec: { replicas: 7 } }), ...lives.slice(1)],
      ['apply ours Deployment web-east'],
    ],
    [
      'one lost its controller: adopted',
      [applied(east, { metadata: { ownerReferences: [] } }), ...lives.slice(1)],
      ['apply adopted Deployment web-east'],
    ],
    [
      'one goes away: waited for',
      [
        applied(east, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
        ...lives.slice(1),
      ],
      [],
    ],
    [
      "one is somebody else's: left alone",
      [applied(east, { metadata: { ownerReferences: [], labels: {} } }), ...lives.slice(1)],
      [],
    ],
    [
      'one is marked, and its unit is back: the mark goes',
      [marked(east, 1), ...lives.slice(1)],
      ['mark web-east back'],
    ],
  ]
  for (const [claim, lives, want] of rows) t.strictSame(texts(decide(plan, lives)), want, claim)
  t.end()
})

t.test('how it stands', t => {
  const taken = applied(east, { metadata: { ownerReferences: [], labels: {} } })
  const { states, failures, hold, nextAt } = decide(plan, [taken, ...lives.slice(1)])
  t.match(failures, [
    { unit: 'east', reason: 'NameTaken', message: /^Deployment web-east is some/ },
  ])
  t.match(states, [
    { unit: 'north', name: 'web-north', isApplied: true, rollout: { isReady: false } },
    { unit: 'south', name: 'web-south', isApplied: true },
  ])
  t.strictSame([hold, nextAt], [undefined, undefined])
  const missing = planOne(deploymentGrid('web', { templates: { north: 'gone' } }), sites('north'))
  t.match(decide(missing, []).failures, [{ unit: 'north', reason: 'TemplateMissing' }])
  t.end()
})

t.test('units that go', t => {
  const two = planOne(deploymentGrid('web'), sites('north', 'south'))
  const rows: [
    claim: string,
    lives: readonly LiveChild[],
    want: readonly string[],
    nextAt: number | undefined,
  ][] = [
    ['just now: marked', lives, [`mark web-east ${NOW}`], NOW + GRACE],
    ['a minute ago: waited for', [marked(east, 1), ...lives.slice(1)], [], NOW + GRACE - 60_000],
    [
      'long ago: it goes',
      [marked(east, 6), ...lives.slice(1)],
      ['delete web-east unit-gone'],
      undefined,
    ],
  ]
  for (const [claim, lives, want, nextAt] of rows) {
    const decision = decide(two, lives)
    t.strictSame([texts(decision), decision.nextAt], [want, nextAt], claim)
  }
  const held = decide(planOne(deploymentGrid('web'), []), lives)
  t.equal(held.hold?.reason, 'AllUnitsGone')
  t.strictSame(
    texts(held),
    ['east', 'north', 'south'].map(unit => `mark web-${unit} ${NOW}`),
  )
  const overdue = [east, north, south].map(child => marked(child, 6))
  const { token } = decide(planOne(deploymentGrid('web'), []), overdue).hold!
  t.not(token, held.hold!.token, 'a word for each time')
  const annotations = { 'edge-health/confirm-removal': token }
  const confirmed = decide(planOne(deploymentGrid('web', {}, { annotations }), []), overdue)
  t.equal(texts(confirmed).length, 3)
  t.ok(texts(confirmed).every(text => text.startsWith('delete ')))
  t.end()
})

t.test('of the notes on two children of a gone unit the earlier counts', t => {
  const grid = statefulSetGrid('db', { headlessService: true })
  const before = planOne(grid, sites('north', 'south', 'east')).children
  const lives = before.map(child =>
    child.unit !== 'east'
      ? applied(child)
      : child.kind === 'Service'
        ? marked(child, 6)
        : applied(child),
  )
  t.strictSame(texts(decide(planOne(grid, sites('north', 'south')), lives)), [
    'delete db-east unit-gone',
    'delete db-east unit-gone',
  ])
  t.end()
})

t.test('what is not wanted any more', t => {
  const grid = (headlessService: boolean) => statefulSetGrid('db', { headlessService })
  const before = planOne(grid(true), sites('north')).children.map(child => applied(child))
  t.strictSame(texts(decide(planOne(grid(false), sites('north')), before)), [
    'apply ours StatefulSet db-north',
    'delete db-north replaced',
  ])
  const old = applied(east, { metadata: { name: 'web-old' } })
  t.strictSame(texts(decide(plan, [...lives, old])), ['delete web-old replaced'])
  t.strictSame(
    texts(decide(plan, [...lives.slice(1), old])),
    ['apply new Deployment web-east'],
    'it stays until what stands for it is there',
  )
  t.end()
})

t.test('headless Services count in no status, and their templates are asked about by nobody', t => {
  const grid = planOne(statefulSetGrid('db', { headlessService: true }), sites('north'))
  const { operations } = decide(grid, [])
  t.match(operations, [
    { child: { kind: 'Service' }, templateKey: undefined },
    { child: { kind: 'StatefulSet' }, templateKey: 'default' },
  ])
  const { states } = decide(
    grid,
    grid.children.map(child => applied(child)),
  )
  t.strictSame(
    states.map(({ name, unit }) => [name, unit]),
    [['db-north', 'north']],
  )
  const service = planOne(serviceGrid('web'), [])
  const made = decide(service, [])
  t.match(made.operations, [{ kind: 'apply', templateKey: undefined }])
  t.match(
    decide(
      service,
      service.children.map(child => applied(child)),
    ).states,
    [{ unit: undefined, name: 'web-svc', isApplied: true, rollout: undefined }],
  )
  t.end()
})

t.test('children of one template', t => {
  const grid = deploymentGrid('web', {
    templatePool: { next: template('nginx:2') },
    templates: { south: 'next' },
    overrides: [
      { patches: [{ op: 'replace', path: '/replicas', value: 3 }] },
      { units: ['east'], patches: [{ op: 'replace', path: '/replicas', value: 4 }] },
    ],
  })
  const { operations } = decide(planOne(grid, sites('north', 'south', 'east', 'west')), [])
  t.strictSame(
    operations.map(operation => operation.kind === 'apply' && operation.templateKey),
    ['default 1', 'default', 'next', 'default'],
  )
  t.end()
})

t.test(
  'a grid that became too large keeps its children, and those of a unit that is gone wait',
  t => {
    const value = '{{unit}}'.repeat(1_000)
    const patches = Array.from({ length: 4_096 }, () => ({ op: 'add', path: '/a', value }))
    const overrides = [{ patches }]
    for (const [small, large] of [
      [deploymentGrid('web'), deploymentGrid('web', { overrides })],
      [
        statefulSetGrid('db', { headlessService: true }),
        statefulSetGrid('db', { headlessService: true, overrides }),
      ],
    ] as const) {
      const names = Array.from({ length: 40 }, (_, at) => `s${at}`)
      const { children } = planOne(small, sites('gone', ...names))
      const tooLarge = planOne(large, sites(...names))
      t.ok(tooLarge.failures.every(({ reason }) => reason === 'TooLarge'))
      t.equal(tooLarge.failures.length, 40)
      const { operations } = decide(
        tooLarge,
        children.map(child => applied(child)),
      )
      t.ok(operations.length > 0)
      for (const operation of operations)
        t.match(operation, { kind: 'mark', live: { labels: { 'edge-health/unit': 'gone' } } })
    }
    t.end()
  },
)

t.test("SuperEdge's account is taken over, and replicas that nobody wants are handed over", t => {
  const fields = { 'f:spec': { 'f:replicas': {} } }
  const theirs = (more: Since = {}) =>
    applied(east, { managedFields: [superedge(fields)], ...more })
  const first = (of: Decision) => of.operations[0] as Operation & { kind: 'apply' }
  const taken = first(decide(plan, [theirs(), ...lives.slice(1)]))
  t.match(taken.takeover, [{ op: 'test' }, { op: 'replace' }, { op: 'replace' }])
  t.equal(taken.handOver, undefined, 'we want a number')
  const annotations = { 'edge-health/replicas': 'unmanaged' }
  const free = planOne(deploymentGrid('web', {}, { annotations }), sites('east'))
  const rows: [claim: string, live: LiveChild, handOver: number | undefined][] = [
    ["SuperEdge's", theirs({ spec: { replicas: 7 } }), 7],
    ['ours', applied(east, { spec: { replicas: 7 } }), 7],
    ['an object without a number', theirs({ spec: { replicas: undefined } }), undefined],
    [
      'of an autoscaler: it is its own',
      applied(east, { managedFields: [{ manager: 'edge-health-grids', operation: 'Apply' }] }),
      undefined,
    ],
    [
      'of somebody else',
      applied(east, {
        managedFields: [
          { manager: 'kubectl', operation: 'Update', fieldsV1: fields },
          { ...superedge(fields), subresource: 'scale' },
        ],
      }),
      undefined,
    ],
  ]
  for (const [claim, live, handOver] of rows)
    t.equal(first(decide(free, [live])).handOver, handOver, claim)
  t.equal(first(decide(free, [])).handOver, undefined, 'a new one has none')
  const service = planOne(serviceGrid('web'), [])
  const live = applied(service.children[0]!, { managedFields: [superedge(fields)] })
  t.equal(first(decide(service, [live])).handOver, undefined, 'a Service has none')
  t.end()
})

t.test('who reads children often may remember what was read', t => {
  const drift = { cause: 'changed', path: 'x' } as const
  const rollout = { isUpdated: true, isReady: true, state: {} }
  const readings = { drift: () => drift, rollout: () => rollout, takeover: () => undefined }
  const { operations, states } = decideGrid({ plan, lives, now: NOW, graceMs: GRACE, readings })
  t.ok(operations.every(operation => operation.kind === 'apply' && operation.drift === drift))
  t.ok(states.every(state => state.rollout === rollout))
  t.end()
})
