// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { InvalidInputError } from '../../../core/errors.js'
import { gridText } from '../../../grids/model/grid.js'
import { isGrid, objectText, parseGrid, parseUnitNode } from '../../../grids/model/parse.js'
import {
  deploymentGrid,
  serviceGrid,
  statefulSetGrid,
  template,
} from '../../../testkit/kube/grid-objects.js'

const refusal = (raw: unknown): string => {
  try {
    parseGrid(raw)
  } catch (error) {
    if (error instanceof InvalidInputError) return error.message
    throw error
  }
  return 'not refused'
}

t.test('a grid as the API writes it', t => {
  const grid = parseGrid(
    deploymentGrid(
      'web',
      {
        defaultTemplateName: '',
        templates: { north: 'next' },
        templatePool: { next: template('nginx:2') },
      },
      {
        labels: { a: '1' },
        annotations: { b: '2' },
        generation: 7,
        deletionTimestamp: '2026-01-02T00:00:00Z',
      },
    ),
  )
  t.match(grid, {
    kind: 'DeploymentGrid',
    namespace: 'default',
    name: 'web',
    uid: 'uid-DeploymentGrid-web',
    generation: 7,
    createdAt: '2026-01-01T00:00:00Z',
    isDeleting: true,
    labels: { a: '1' },
    annotations: { b: '2' },
    source: { by: 'label-value', key: 'site' },
    defaultTemplateName: 'default',
    hasHeadlessServices: false,
    overrides: [],
  })
  t.equal(gridText(grid), 'DeploymentGrid default/web')
  t.end()
})

t.test('a grid of a file may say less', t => {
  const grid = parseGrid({
    apiVersion: 'superedge.io/v1',
    kind: 'ServiceGrid',
    metadata: { name: 'web', labels: null },
    spec: { nodeUnits: {}, gridUniqKey: null, template: {} },
  })
  t.match(grid, {
    namespace: 'default',
    uid: undefined,
    createdAt: undefined,
    generation: 1,
    labels: {},
  })
  t.strictSame(grid.source, { by: 'node-unit', names: undefined })
  t.end()
})

t.test('what is parsed is frozen, and shares nothing with what was given', t => {
  const raw = deploymentGrid('web', { templatePool: { next: template('nginx:2') } })
  const before = structuredClone(raw)
  const grid = parseGrid(raw)
  if (grid.kind === 'ServiceGrid') throw new Error('it is a DeploymentGrid')
  t.throws(() => Object.assign(grid.template, { replicas: 9 }), TypeError)
  t.throws(() => Object.assign(grid.templatePool.get('next')!, { replicas: 9 }), TypeError)
  t.strictSame(raw, before)
  t.not((raw['spec'] as { template: unknown }).template, grid.template)
  t.end()
})

t.test('each error names the grid, the rule and the value', t => {
  const rows: [claim: string, raw: unknown, message: RegExp][] = [
    [
      'no object',
      7,
      /^object without a kind default\/\(without a name\) must be a grid of superedge\.io\/v1, got 7$/,
    ],
    ['another kind', { kind: 'Pod', metadata: { name: 'a' } }, /^Pod default\/a must be a grid of/],
    [
      'another version',
      { ...serviceGrid('a'), apiVersion: 'superedge.io/v2' },
      /ServiceGrid default\/a must be a grid of superedge\.io\/v1, got "superedge\.io\/v2"/,
    ],
    [
      'no metadata',
      { apiVersion: 'superedge.io/v1', kind: 'ServiceGrid', spec: {} },
      /default\/\(without a name\): metadata must be given, got nothing/,
    ],
    [
      'a name that is none',
      serviceGrid('Web'),
      /ServiceGrid default\/Web: metadata\.name must be a name of Kubernetes.*got "Web"/,
    ],
    [
      'a name that labels nothing',
      serviceGrid('a'.repeat(64)),
      /metadata\.name must have at most 63 characters/,
    ],
    [
      'labels that are no texts',
      serviceGrid('a', {}, { labels: { on: true } }),
      /metadata\.labels\.on must be string, got true/,
    ],
    ['no spec', { ...serviceGrid('a'), spec: undefined }, /spec must be Object/],
    [
      'no key',
      serviceGrid('a', { gridUniqKey: undefined }),
      /spec must have gridUniqKey or nodeUnits, and not both/,
    ],
    [
      'two sources',
      serviceGrid('a', { nodeUnits: {} }),
      /spec must have gridUniqKey or nodeUnits, and not both/,
    ],
    [
      'an empty key',
      serviceGrid('a', { gridUniqKey: '' }),
      /spec\.gridUniqKey must be the key of a node label, got ""/,
    ],
    [
      'a key that is none',
      deploymentGrid('a', { gridUniqKey: 'bad key!' }),
      /gridUniqKey must be the key of a node label, got "bad key!"/,
    ],
    [
      'a unit without a name',
      serviceGrid('a', { gridUniqKey: undefined, nodeUnits: { names: [''] } }),
      /names\.0 must be the name of a unit/,
    ],
    [
      'a typing error',
      deploymentGrid('a', { override: [] }),
      /DeploymentGrid default\/a: spec must have no fields but gridUniqKey, .*overrides.*, got "override"/,
    ],
    ['no template', deploymentGrid('a', { template: undefined }), /spec\.template must be Object/],
    [
      'replicas that are no number',
      deploymentGrid('a', { template: template('i', { replicas: '2' }) }),
      /spec\.template\.replicas must be number, got "2"/,
    ],
    [
      'half a replica',
      deploymentGrid('a', { template: template('i', { replicas: 1.5 }) }),
      /replicas must be a whole number/,
    ],
    [
      'fewer than none',
      deploymentGrid('a', { template: template('i', { replicas: -1 }) }),
      /replicas must not be negative/,
    ],
    [
      'too many',
      deploymentGrid('a', { template: template('i', { replicas: 2 ** 31 }) }),
      /replicas must fit 32 bits/,
    ],
    [
      'a selector that finds no pod',
      deploymentGrid('a', {
        template: template('i', { selector: { matchLabels: { app: 'other' } } }),
      }),
      /spec\.template must have every label of selector\.matchLabels among template\.metadata\.labels/,
    ],
    [
      'default in the pool',
      deploymentGrid('a', { templatePool: { default: template() } }),
      /spec\.templatePool must not have "default"/,
    ],
    [
      'an override without patches',
      deploymentGrid('a', { overrides: [{ patches: [] }] }),
      /overrides\.0\.patches must have a patch/,
    ],
    [
      'an override of no unit',
      deploymentGrid('a', { overrides: [{ units: [], patches: [{ op: 'remove', path: '/a' }] }] }),
      /units must name a unit, or be left out/,
    ],
    [
      'an operation that is none',
      deploymentGrid('a', { overrides: [{ patches: [{ op: 'merge', path: '/a' }] }] }),
      /overrides\.0\.patches\.0\.op must be .*got "merge"/,
    ],
    [
      'a path that is none',
      deploymentGrid('a', { overrides: [{ patches: [{ op: 'add', path: 'a' }] }] }),
      /path must begin with a slash/,
    ],
    [
      'headless Deployments',
      deploymentGrid('a', { headlessService: true }),
      /spec\.headlessService must stand in a StatefulSetGrid/,
    ],
    [
      'a headless Service of all pods of a unit',
      statefulSetGrid('a', { headlessService: true, template: template('i', { selector: {} }) }),
      /spec must have matchLabels in each selector with headlessService/,
    ],
    [
      'a headless Service without labels to select by',
      statefulSetGrid('a', {
        headlessService: true,
        template: template('i', {
          selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] },
        }),
      }),
      /spec must have matchLabels in each selector with headlessService/,
    ],
    [
      'a distribution that is none',
      serviceGrid('a', { trafficDistribution: 'Near' }),
      /trafficDistribution must be/,
    ],
    [
      'a distribution that Kubernetes cannot see',
      serviceGrid('a', { trafficDistribution: 'PreferSameZone' }),
      /spec\.trafficDistribution must stand with gridUniqKey topology\.kubernetes\.io\/zone, got "PreferSameZone"/,
    ],
    [
      'NodeUnits neither',
      serviceGrid('a', {
        gridUniqKey: undefined,
        nodeUnits: {},
        trafficDistribution: 'PreferClose',
      }),
      /must stand with gridUniqKey/,
    ],
    [
      'two distributions',
      serviceGrid('a', {
        gridUniqKey: 'kubernetes.io/hostname',
        trafficDistribution: 'PreferSameNode',
        template: { trafficDistribution: 'PreferClose' },
      }),
      /must not contradict the template's "PreferClose"/,
    ],
  ]
  for (const [claim, raw, message] of rows) t.match(refusal(raw), message, claim)
  t.end()
})

t.test('what refers to itself is refused, not followed', t => {
  const loop: Record<string, unknown> = {}
  loop['again'] = [loop]
  t.match(
    refusal(deploymentGrid('a', { template: template('i', { loop }) })),
    /at most 64 levels deep/,
  )
  t.end()
})

t.test('a template missing from the pool is no fault of the grid: that unit alone has none', t => {
  t.doesNotThrow(() => parseGrid(deploymentGrid('a', { templates: { north: 'none' } })))
  t.doesNotThrow(() => parseGrid(statefulSetGrid('a', { defaultTemplateName: 'none' })))
  t.end()
})

t.test('which objects are grids', t => {
  t.ok(isGrid(serviceGrid('a')))
  t.notOk(isGrid({ apiVersion: 'apps/v1', kind: 'Deployment' }))
  t.notOk(isGrid('ServiceGrid'))
  t.notOk(isGrid({ ...serviceGrid('a'), kind: 'NodeUnit' }))
  t.end()
})

t.test('Nodes', t => {
  t.strictSame(
    parseUnitNode({ kind: 'Node', metadata: { name: 'n1', labels: { a: 'b' } }, status: {} }),
    {
      name: 'n1',
      labels: { a: 'b' },
    },
  )
  t.strictSame(parseUnitNode({ kind: 'Node', metadata: { name: 'n1', labels: null } }).labels, {})
  t.throws(
    () => parseUnitNode({ kind: 'Pod', metadata: { name: 'p' } }),
    /Pod default\/p: kind must be "Node", got "Pod"/,
  )
  t.throws(
    () => parseUnitNode({ kind: 'Node', metadata: { name: 'n1', labels: { a: 1 } } }),
    /Node n1: metadata\.labels\.a must be string, got 1/,
  )
  t.equal(objectText({ kind: 'Node' }), 'Node without a name')
  t.end()
})
