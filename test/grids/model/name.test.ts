// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { ChildKind } from '../../../grids/model/grid.js'
import {
  assignNames,
  hashedName,
  nameKey,
  plainName,
  type NameHolder,
  type NameRequest,
} from '../../../grids/model/name.js'
import { parseGrid } from '../../../grids/model/parse.js'
import { planGrids } from '../../../grids/model/plan.js'
import { deploymentGrid, namesOf, parseAll, sites } from '../../../testkit/kube/grid-objects.js'

const request = (kind: ChildKind, grid: string, suffix: string) => ({
  kind,
  grid: parseGrid(deploymentGrid(grid)),
  suffix,
})

const A63 = 'a'.repeat(63)

t.test("SuperEdge's names, where the API takes them", t => {
  const rows: [
    claim: string,
    kind: ChildKind,
    grid: string,
    suffix: string,
    want: string | undefined,
  ][] = [
    ['a workload', 'Deployment', 'web', 'north', 'web-north'],
    ['a Service', 'Service', 'web', 'svc', 'web-svc'],
    ['a Deployment may have dots', 'Deployment', 'web', 'v1.2', 'web-v1.2'],
    ['host names of a StatefulSet may not', 'StatefulSet', 'web', 'v1.2', undefined],
    ['nor may Services', 'Service', 'w.eb', 'svc', undefined],
    ['nor begin with a digit', 'Service', '1web', 'svc', undefined],
    ['capitals and underscores', 'Deployment', 'web', 'Unit_A', undefined],
    ['63 characters', 'Deployment', 'web', 'a'.repeat(59), `web-${'a'.repeat(59)}`],
    ['64 characters', 'Deployment', 'web', 'a'.repeat(60), undefined],
    [
      '52 characters of a StatefulSet',
      'StatefulSet',
      'web',
      'a'.repeat(48),
      `web-${'a'.repeat(48)}`,
    ],
    ['53 characters of a StatefulSet', 'StatefulSet', 'web', 'a'.repeat(49), undefined],
    [
      'a grid of 60 to 63 characters has no <grid>-svc',
      'Service',
      'a'.repeat(60),
      'svc',
      undefined,
    ],
    ['59 are taken', 'Service', 'a'.repeat(59), 'svc', `${'a'.repeat(59)}-svc`],
  ]
  for (const [claim, kind, grid, suffix, want] of rows)
    t.equal(plainName(request(kind, grid, suffix)), want, claim)
  t.end()
})

t.test('names where SuperEdge has none', t => {
  const rows: [claim: string, kind: ChildKind, grid: string, suffix: string, want: RegExp][] = [
    ['a slug and a hash', 'Deployment', 'web', 'Unit_A', /^web-unit-a-[0-9a-f]{8}$/],
    ['cut before the hash', 'Deployment', 'web', A63, /^web-a{50}-[0-9a-f]{8}$/],
    ['a StatefulSet sooner', 'StatefulSet', 'web', A63, /^web-a{39}-[0-9a-f]{8}$/],
    ['no dash twice at the cut', 'StatefulSet', 'a'.repeat(42), 'b', /^a{42}-[0-9a-f]{8}$/],
    ['a Service begins with a letter', 'Service', '1-2web', 'svc', /^web-svc-[0-9a-f]{8}$/],
    ['whatever is left of it', 'Service', '1', '2', /^unit-[0-9a-f]{8}$/],
    ['dots are dashes', 'StatefulSet', 'w.eb', 'v1.2', /^w-eb-v1-2-[0-9a-f]{8}$/],
  ]
  for (const [claim, kind, grid, suffix, want] of rows)
    t.match(hashedName(request(kind, grid, suffix)), want, claim)
  t.equal(
    hashedName(request('Deployment', 'web', 'Unit_A')),
    'web-unit-a-390b8829',
    'and never changes',
  )
  t.not(
    hashedName(request('Deployment', 'web', 'Unit_A')),
    hashedName(request('Deployment', 'web', 'unit-a')),
  )
  t.end()
})

t.test('1.2: grid a, unit b-c and grid a-b, unit c: both have a workload', t => {
  const nodes = [...sites('b-c', 'c')]
  const [older, newer] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
  const a = (creationTimestamp: string) => deploymentGrid('a', {}, { creationTimestamp })
  const ab = (creationTimestamp: string) => deploymentGrid('a-b', {}, { creationTimestamp })
  t.match(namesOf(planGrids(parseAll(a(older), ab(newer)), nodes)), [
    'b-c: Deployment a-b-c',
    'c: Deployment a-c',
    'b-c: Deployment a-b-b-c',
    /^c: Deployment a-b-c-[0-9a-f]{8}$/,
  ])
  t.match(
    namesOf(planGrids(parseAll(a(newer), ab(older)), nodes)),
    [
      /^b-c: Deployment a-b-c-[0-9a-f]{8}$/,
      'c: Deployment a-c',
      'b-c: Deployment a-b-b-c',
      'c: Deployment a-b-c',
    ],
    'the older grid goes first',
  )
  const unseen = deploymentGrid('a', {}, { creationTimestamp: undefined })
  t.match(
    namesOf(planGrids(parseAll(unseen, ab(newer)), nodes))[0],
    /^b-c: Deployment a-b-c-[0-9a-f]{8}$/,
    'one that no apiserver has seen goes last',
  )
  t.end()
})

t.test('a child keeps the name that it has', t => {
  const grids = parseAll(
    deploymentGrid('a', {}, { creationTimestamp: '2026-01-01T00:00:00Z' }),
    deploymentGrid('a-b', {}, { creationTimestamp: '2026-01-02T00:00:00Z' }),
  )
  const [a, ab] = [
    { kind: 'Deployment', grid: grids[0]!, suffix: 'b-c' },
    { kind: 'Deployment', grid: grids[1]!, suffix: 'c' },
  ] as const
  const odd = { ...ab, suffix: 'C_C' }
  const twin = { ...ab, suffix: hashedName(odd).slice('a-b-'.length) }
  t.equal(plainName(twin), hashedName(odd))
  const key = nameKey('Deployment', 'default', 'a-b-c')
  const heldBy = (gridUid: string, suffix: string | undefined): ReadonlyMap<string, NameHolder> =>
    new Map([[key, { gridUid, suffix }]])
  const ofAb = 'uid-DeploymentGrid-a-b'
  const hashed = hashedName(a)
  const rows: [
    claim: string,
    requests: readonly NameRequest[],
    held: ReadonlyMap<string, NameHolder>,
    want: readonly string[],
  ][] = [
    ['the younger grid had it first', [a, ab], heldBy(ofAb, 'c'), [hashed, 'a-b-c']],
    ['as SuperEdge, which names no unit', [a, ab], heldBy(ofAb, undefined), [hashed, 'a-b-c']],
    ['a label that does not go with the name lies', [ab], heldBy(ofAb, 'd'), ['a-b-c']],
    [
      'another unit of the same grid has it, whose name has a hash',
      [twin],
      new Map([
        [nameKey('Deployment', 'default', plainName(twin)!), { gridUid: ofAb, suffix: 'C_C' }],
      ]),
      [hashedName(twin)],
    ],
    [
      'a hashed name stays when the plain one is free again',
      [a],
      new Map([
        [
          nameKey('Deployment', 'default', hashed),
          { gridUid: 'uid-DeploymentGrid-a', suffix: 'b-c' },
        ],
      ]),
      [hashed],
    ],
  ]
  for (const [claim, requests, held, want] of rows)
    t.strictSame(
      assignNames(requests, held),
      want.map(name => ({ ok: true, name })),
      claim,
    )
  const both = new Map([
    ...heldBy('x', 'y'),
    [nameKey('Deployment', 'default', hashed), { gridUid: 'x', suffix: 'z' }] as const,
  ])
  t.match(assignNames([a], both), [
    { ok: false, trouble: `a-b-c and ${hashed} are children of other grids` },
  ])
  t.end()
})
