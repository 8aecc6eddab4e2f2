// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { WorkloadGrid } from '../../../grids/model/grid.js'
import { parseGrid } from '../../../grids/model/parse.js'
import { templateOf } from '../../../grids/model/template.js'
import { deploymentGrid, template } from '../../../testkit/kube/grid-objects.js'

const grid = (spec: Record<string, unknown>): WorkloadGrid =>
  parseGrid(deploymentGrid('web', spec)) as WorkloadGrid

interface Pods {
  readonly replicas: number
  readonly template: {
    readonly metadata: { readonly labels: Record<string, string> }
    readonly spec: {
      readonly containers: readonly { readonly image: string; readonly env: unknown }[]
    }
  }
}

const podsOf = (grid: WorkloadGrid, unit: string): Pods => {
  const chosen = templateOf(grid, unit)
  if (!chosen.ok) throw new Error(chosen.message)
  return chosen.template as unknown as Pods
}
const imageOf = (grid: WorkloadGrid, unit: string): string =>
  podsOf(grid, unit).template.spec.containers[0]!.image

t.test('which template a unit has', t => {
  const pool = { next: template('nginx:2'), old: template('nginx:0') }
  const rows: [claim: string, spec: Record<string, unknown>, unit: string, image: string][] = [
    ["the grid's own", {}, 'north', 'nginx:1'],
    ['a canary', { templatePool: pool, templates: { north: 'next' } }, 'north', 'nginx:2'],
    [
      'the other units are no canaries',
      { templatePool: pool, templates: { north: 'next' } },
      'south',
      'nginx:1',
    ],
    ['another default', { templatePool: pool, defaultTemplateName: 'old' }, 'south', 'nginx:0'],
    [
      'back to the own',
      { templatePool: pool, defaultTemplateName: 'old', templates: { north: 'default' } },
      'north',
      'nginx:1',
    ],
    ['an empty name is the own', { defaultTemplateName: '' }, 'north', 'nginx:1'],
  ]
  for (const [claim, spec, unit, image] of rows) t.equal(imageOf(grid(spec), unit), image, claim)
  t.end()
})

t.test('a template that is not there', t => {
  const some = grid({ templatePool: { next: template('nginx:2') }, templates: { north: 'nexd' } })
  t.strictSame(templateOf(some, 'north'), {
    ok: false,
    reason: 'TemplateMissing',
    message: 'template "nexd" is not in spec.templatePool; there are default, next',
    work: 0,
  })
  t.equal(imageOf(some, 'south'), 'nginx:1', "is that unit's trouble alone")
  t.end()
})

const ENV = '/template/spec/containers/0/env/-'

t.test('overrides', t => {
  const some = grid({
    overrides: [
      {
        patches: [
          { op: 'add', path: ENV, value: { name: 'SITE', value: '{{unit}}.example.com/{{unit}}' } },
        ],
      },
      { units: ['north'], patches: [{ op: 'replace', path: '/replicas', value: 5 }] },
      {
        units: ['north', 'south'],
        patches: [
          {
            op: 'add',
            path: '/template/metadata/{{unit}}',
            value: { '{{unit}}': ['{{unit}}'] },
          },
        ],
      },
    ],
  })
  const [north, west] = [podsOf(some, 'north'), podsOf(some, 'west')]
  t.strictSame(north.template.spec.containers[0]!.env, [
    { name: 'SITE', value: 'north.example.com/north' },
  ])
  t.strictSame(west.template.spec.containers[0]!.env, [
    { name: 'SITE', value: 'west.example.com/west' },
  ])
  t.strictSame([north.replicas, podsOf(some, 'south').replicas], [5, 2])
  t.match(
    north.template.metadata,
    { '{{unit}}': { '{{unit}}': ['north'] } },
    'keys and paths stay as they are',
  )
  t.notMatch(west.template.metadata, { '{{unit}}': {} })
  t.strictSame(podsOf(some, '$&').template.spec.containers[0]!.env, [
    { name: 'SITE', value: '$&.example.com/$&' },
  ])
  t.end()
})

t.test('an override that cannot be carried out stops its units alone, and says why', t => {
  const rows: [claim: string, patch: Record<string, unknown>, message: RegExp][] = [
    [
      'a path that leads nowhere',
      { op: 'remove', path: '/template/spec/volumes/0' },
      /spec\.overrides\[0\]: remove \/template\/spec\/volumes\/0: "0" leads nowhere/,
    ],
    [
      'a test that does not hold',
      { op: 'test', path: '/replicas', value: 3 },
      /the value is another one/,
    ],
    [
      'the selector',
      { op: 'add', path: '/selector/matchLabels/a', value: 'b' },
      /template must have every label|every label of selector/,
    ],
    [
      'another selector',
      { op: 'replace', path: '/selector', value: {} },
      /selector must stay as it is/,
    ],
    [
      'pods that the selector does not find',
      { op: 'remove', path: '/template/metadata/labels/app' },
      /every label of selector\.matchLabels/,
    ],
    ['replicas that are none', { op: 'add', path: '/replicas' }, /replicas must be number/],
    ['no pods', { op: 'remove', path: '/template/spec' }, /template\.spec must be given/],
  ]
  for (const [claim, patch, message] of rows) {
    const some = grid({ overrides: [{ units: ['north'], patches: [patch] }] })
    const chosen = templateOf(some, 'north')
    t.match(chosen, { ok: false, reason: 'OverrideFailed' }, claim)
    t.match((chosen as { message?: string }).message, message, claim)
    t.ok(templateOf(some, 'south').ok, claim)
  }
  t.end()
})

t.test('overrides stop at the work that is left, and say how much it was', t => {
  const value = Array.from({ length: 1_000 }, () => '{{unit}}')
  const patches = Array.from({ length: 10 }, () => ({ op: 'add', path: '/x', value }))
  const some = grid({ overrides: [{ patches }] })
  const whole = templateOf(some, 'north')
  t.ok(whole.ok)
  for (const left of [-1, 0, 10_000, 100_000, 500_000]) {
    const chosen = templateOf(some, 'north', left)
    t.match(chosen, { ok: false, reason: 'OverrideFailed', message: /is too much work/ })
    t.ok(chosen.work > left && chosen.work < Math.max(left, 0) + 100_000, `${left}`)
  }
  t.strictSame(templateOf(some, 'north', whole.work), whole)
  t.end()
})

t.test(
  'an override whose copies or moves would fill memory or the stack stops its units alone',
  t => {
    const copies = Array.from({ length: 40 }, () => ({
      ...{ op: 'copy', from: '/template/metadata', path: '/template/metadata/annotations' },
    }))
    const twice = copies.flatMap(copy => [
      copy,
      { op: 'copy', from: '/template/metadata', path: '/template/metadata/more' },
    ])
    const deep = Array.from({ length: 70 }, (_, at) => [
      { op: 'add', path: `/x${at}`, value: {} },
      { op: 'move', from: at === 0 ? '/replicas' : `/x${at - 1}`, path: `/x${at}/a` },
    ]).flat()
    const huge = Array.from({ length: 20 }, (_, at) => ({
      ...{ op: 'add', path: `/template/metadata/x${at}`, value: 'x'.repeat(80_000) },
    }))
    const rows: [patches: object[], message: RegExp][] = [
      [huge, /spec\.overrides\[0\]: the template must have at most 1572864 bytes, got \d+/],
      [twice, /spec\.overrides\[0\]: copy .*: copies would add \d+ bytes, and may add 3145728/],
      [deep, /spec\.overrides\[0\]: the template must be at most 64 levels deep/],
    ]
    for (const [patches, message] of rows) {
      const some = grid({ overrides: [{ units: ['north'], patches }] })
      t.match(templateOf(some, 'north'), { ok: false, reason: 'OverrideFailed', message })
      t.ok(templateOf(some, 'south').ok)
    }
    t.end()
  },
)
