// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { claimOf, takeInventory } from '../../../grids/model/adopt.js'
import type { LiveChild } from '../../../grids/model/live.js'
import {
  deploymentGrid,
  planOne,
  serviceGrid,
  sites,
  statefulSetGrid,
} from '../../../testkit/kube/grid-objects.js'
import { applied, type Since } from '../live-objects.js'

const plan = planOne(deploymentGrid('web'), sites('north', 'south'))
const [north, south] = [plan.children[0]!, plan.children[1]!]
const ORPHAN = { ownerReferences: [] }
const labelled = (grid: string) => ({ labels: { 'superedge.io/grid-selector': grid } })
const owned = (uid: string) => ({
  ownerReferences: [{ kind: 'DeploymentGrid', name: 'other', uid, controller: true }],
})
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }

t.test('who owns the object with a wanted name', t => {
  const rows: [claim: string, metadata: Since['metadata'], kind: string, by?: RegExp][] = [
    ['our child', {}, 'ours'],
    ['1.1: its label was taken off', { labels: {} }, 'ours'],
    ['1.1: it is labelled for another grid', labelled('other'), 'ours'],
    ['it goes away', GOING, 'going'],
    ['an orphan of this name and label: adopted', ORPHAN, 'adoptable'],
    ['an orphan that goes away', { ...ORPHAN, ...GOING }, 'going'],
    [
      "1.1: a user's object of this name",
      { ...ORPHAN, labels: {} },
      'taken',
      /label superedge\.io\/grid-selector does not say web/,
    ],
    ["another grid's", owned('other-uid'), 'taken', /DeploymentGrid other controls it/],
    ["another grid's, which goes away", { ...owned('other-uid'), ...GOING }, 'taken'],
    [
      'an owner that does not control it',
      { ownerReferences: [{ kind: 'X', name: 'x', uid: 'x' }] },
      'adoptable',
    ],
  ]
  for (const [claim, metadata, kind, by] of rows) {
    const found = claimOf(plan.grid, applied(north, metadata === undefined ? {} : { metadata }))
    t.equal(found.kind, kind, claim)
    if (by !== undefined) t.match(found, { by }, claim)
  }
  t.strictSame(claimOf(plan.grid, undefined), { kind: 'free' })
  t.equal(
    claimOf({ ...plan.grid, uid: undefined }, applied(north)).kind,
    'taken',
    'who has no uid owns nothing',
  )
  t.end()
})

const namesOf = (lives: readonly LiveChild[]) => lives.map(({ kind, name }) => `${kind} ${name}`)
const inventory = (plan: ReturnType<typeof planOne>, lives: readonly LiveChild[]) => {
  const { claims, surplus, gone } = takeInventory(plan, lives)
  return {
    claims: claims.map(({ claim }) => claim.kind),
    surplus: namesOf(surplus),
    gone: Object.fromEntries([...gone].map(([unit, lives]) => [unit, namesOf(lives)])),
  }
}
const named = (name: string, unit: string | undefined, more: Since['metadata'] = {}): LiveChild =>
  applied(north, {
    metadata: { name, labels: unit === undefined ? {} : { 'edge-health/unit': unit }, ...more },
    spec: unit === undefined ? { template: {} } : {},
  })

t.test('existing children that are no longer wanted', t => {
  const west = named('web-west', 'west')
  const rows: [claim: string, lives: readonly LiveChild[], want: object][] = [
    ['nothing', [], { claims: ['free', 'free'], surplus: [], gone: {} }],
    [
      'all of it',
      [applied(south), applied(north)],
      { claims: ['ours', 'ours'], surplus: [], gone: {} },
    ],
    [
      'a unit without nodes',
      [west],
      { claims: ['free', 'free'], surplus: [], gone: { west: ['Deployment web-west'] } },
    ],
    [
      'which goes already',
      [named('web-west', 'west', GOING)],
      { claims: ['free', 'free'], surplus: [], gone: {} },
    ],
    [
      'under another name',
      [applied(north), named('web-north-0000', 'north')],
      { claims: ['ours', 'free'], surplus: ['Deployment web-north-0000'], gone: {} },
    ],
    [
      'of no unit',
      [named('web-x', undefined)],
      { claims: ['free', 'free'], surplus: [], gone: {} },
    ],
    [
      "1.1: a user's, labelled as ours",
      [named('theirs', 'north', ORPHAN)],
      { claims: ['free', 'free'], surplus: [], gone: {} },
    ],
    [
      "another grid's, labelled as ours",
      [named('theirs', 'west', owned('x'))],
      { claims: ['free', 'free'], surplus: [], gone: {} },
    ],
    [
      'another namespace',
      [applied(north, { metadata: { namespace: 'other', ...owned('x') } })],
      { claims: ['free', 'free'], surplus: [], gone: {} },
    ],
  ]
  for (const [claim, lives, want] of rows) t.strictSame(inventory(plan, lives), want, claim)
  t.end()
})

t.test('1.2: a unit whose template is missing keeps what it has, and the others go on', t => {
  const half = planOne(
    deploymentGrid('web', { templates: { north: 'none' } }),
    sites('north', 'south'),
  )
  t.match(half.failures, [{ unit: 'north', reason: 'TemplateMissing' }])
  t.strictSame(inventory(half, [applied(north), applied(south)]), {
    claims: ['ours'],
    surplus: [],
    gone: {},
  })
  t.end()
})

t.test('headless Services that are not wanted any more go with their unit, or at once', t => {
  const grid = (headlessService: boolean) => statefulSetGrid('db', { headlessService })
  const before = planOne(grid(true), sites('north', 'south')).children.map(child => applied(child))
  t.strictSame(inventory(planOne(grid(false), sites('north')), before), {
    claims: ['ours'],
    surplus: ['Service db-north'],
    gone: { south: ['Service db-south', 'StatefulSet db-south'] },
  })
  t.end()
})

t.test('a Service of a ServiceGrid under another name', t => {
  const service = planOne(serviceGrid('web'), [])
  const old = applied(service.children[0]!, { metadata: { name: 'web-svc-old' } })
  t.strictSame(inventory(service, [old]), {
    claims: ['free'],
    surplus: ['Service web-svc-old'],
    gone: {},
  })
  t.end()
})
