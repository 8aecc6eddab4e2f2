// SPDX-License-Identifier: Apache-2.0
// The CRDs that are shipped, against what the model reads and writes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { isLabelKey } from '../../core/label.js'
import { parseGrid } from '../../grids/model/parse.js'
import { SERVICE_FIELDS, WORKLOAD_FIELDS } from '../../grids/model/schema.js'
import { nextStatus } from '../../grids/model/status.js'
import {
  deploymentGrid,
  planOne,
  serviceGrid,
  sites,
  statefulSetGrid,
} from '../../testkit/kube/grid-objects.js'

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly enum?: readonly string[]
  readonly [extension: `x-kubernetes-${string}`]: unknown
}
interface Crd {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly names: Record<string, unknown>
    readonly versions: readonly [
      {
        readonly name: string
        readonly subresources: unknown
        readonly additionalPrinterColumns: readonly {
          readonly name: string
          readonly jsonPath: string
        }[]
        readonly schema: { readonly openAPIV3Schema: Schema }
      },
    ]
  }
}

const file = join(import.meta.dirname, '..', '..', 'deploy', 'components', 'grids', 'crds.yaml')
const text = readFileSync(file, 'utf8')
const documents = parseAllDocuments(text)
const crds = (Array.isArray(documents) ? documents : []).map(document => document.toJS() as Crd)
const versionOf = (crd: Crd) => crd.spec.versions[0]
const schemaOf = (crd: Crd): Schema => versionOf(crd).schema.openAPIV3Schema
const specOf = (crd: Crd): Schema => schemaOf(crd).properties!['spec']!
const byKind = (kind: string): Crd => crds.find(({ spec }) => spec.names['kind'] === kind)!

t.test("three kinds under SuperEdge's names, with a status of its own", t => {
  t.match(
    crds.map(crd => [
      crd.metadata.name,
      crd.spec.names['shortNames'],
      versionOf(crd).name,
      versionOf(crd).subresources,
    ]),
    [
      ['servicegrids.superedge.io', ['sg'], 'v1', { status: {} }],
      ['deploymentgrids.superedge.io', ['dg'], 'v1', { status: {} }],
      ['statefulsetgrids.superedge.io', ['ssg'], 'v1', { status: {} }],
    ],
  )
  t.equal(crds.length, 3)
  t.end()
})

t.test('the API keeps the fields that the model reads, and no others', t => {
  const sorted = (list: readonly string[]) => [...list].sort()
  for (const [kind, fields] of [
    ['ServiceGrid', SERVICE_FIELDS],
    ['DeploymentGrid', WORKLOAD_FIELDS.filter(name => name !== 'headlessService')],
    ['StatefulSetGrid', WORKLOAD_FIELDS],
  ] as const)
    t.strictSame(sorted(Object.keys(specOf(byKind(kind)).properties!)), sorted(fields), kind)
  t.end()
})

/** Fields of a value that a schema would prune, by path. */
const prunedOf = (schema: Schema, value: unknown, path = ''): readonly string[] => {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true && schema.properties === undefined)
    return []
  if (Array.isArray(value))
    return value.flatMap((item, at) => prunedOf(schema.items ?? {}, item, `${path}[${at}]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const known = schema.properties?.[key] ?? schema.additionalProperties
    if (known !== undefined) return prunedOf(known, inner, `${path}.${key}`)
    return schema['x-kubernetes-preserve-unknown-fields'] === true ? [] : [`${path}.${key}`]
  })
}

t.test('nothing of a grid or of its status is pruned', t => {
  const patches = [
    { op: 'copy', from: '/a', path: '/b' },
    { op: 'add', path: '/a', value: { any: ['thing'] } },
  ]
  const raws = [
    serviceGrid('web', { trafficDistribution: 'PreferClose', nodeUnits: { names: ['a'] } }),
    deploymentGrid('web', {
      overrides: [{ units: ['a'], patches }],
      templates: { a: 'next' },
      templatePool: { next: { any: 'thing' } },
    }),
    statefulSetGrid('web', {
      headlessService: true,
      defaultTemplateName: 'next',
      autoDeleteUnusedTemplate: true,
    }),
  ]
  for (const raw of raws) {
    const schema = schemaOf(byKind(raw['kind'] as string))
    t.strictSame(prunedOf(schema.properties!['spec']!, raw['spec']), [], raw['kind'] as string)
    const failures = [{ unit: 'a', reason: 'NameTaken', message: 'x' }]
    const plan = planOne(
      {
        ...raw,
        spec: (serviceGrid('web') === raw ? raw : deploymentGrid('web'))['spec'],
        kind: 'DeploymentGrid',
      },
      sites('a'),
    )
    const status = nextStatus(
      { ...plan, children: [], failures, hold: undefined },
      {},
      '2026-01-01T00:00:00Z',
    )
    t.strictSame(
      prunedOf(schema.properties!['status']!, status),
      [],
      `status of ${raw['kind'] as string}`,
    )
  }
  t.end()
})

t.test('printer columns lead to fields', t => {
  for (const crd of crds)
    for (const { name, jsonPath } of versionOf(crd).additionalPrinterColumns) {
      const [, root = '', ...steps] = jsonPath.replace(/\[.*?\]/g, '').split('.')
      if (root === 'metadata') continue
      let at: Schema | undefined = schemaOf(crd).properties?.[root]
      for (const step of steps) at = at?.properties?.[step] ?? at?.items?.properties?.[step]
      t.ok(at, `${crd.metadata.name} ${name}`)
    }
  t.end()
})

t.test('a key that the API takes is one that the model takes', t => {
  const rule = (
    specOf(byKind('ServiceGrid')).properties!['gridUniqKey']!['x-kubernetes-validations'] as {
      rule: string
    }[]
  )[0]!.rule
  const [, pattern, most] = /^self\.matches\('(.*)'\) && self\.indexOf\('\/'\) <= (\d+)$/.exec(
    rule,
  )!
  const isTaken = (key: string): boolean =>
    new RegExp(pattern!).test(key) && key.indexOf('/') <= Number(most)
  for (const key of [
    'site',
    'a/b',
    'topology.kubernetes.io/zone',
    '',
    'bad key!',
    'a'.repeat(63),
    'a'.repeat(64),
    '-a',
    'A/b',
    'a..b/c',
    'a.-b/c',
    'a-.b/c',
    '.a/b',
    'a./b',
    'a--b.c/d',
    'a/b/c',
    '/b',
    'a/',
    'a\n',
    `${'a'.repeat(253)}/b`,
    `${'a'.repeat(254)}/b`,
  ]) {
    t.equal(isTaken(key), isLabelKey(key), key.slice(0, 30))
    if (isLabelKey(key)) t.doesNotThrow(() => parseGrid(serviceGrid('web', { gridUniqKey: key })))
  }
  t.end()
})
