// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Json } from '../../../grids/model/grid.js'
import { holdToken } from '../../../grids/model/guard.js'
import { parseGrid } from '../../../grids/model/parse.js'
import { rolloutOf } from '../../../grids/model/rollout.js'
import {
  invalidStatus,
  nextStatus,
  type ChildState,
  type StatusQuestion,
  heldMessage,
} from '../../../grids/model/status.js'
import {
  deploymentGrid,
  planOne,
  serviceGrid,
  sites,
  statefulSetGrid,
} from '../../../testkit/kube/grid-objects.js'
import { applied } from '../live-objects.js'

const AT = '2026-02-01T00:00:00Z'
const LATER = '2026-02-02T00:00:00Z'
const grid = parseGrid(deploymentGrid('web', {}, { generation: 3 }))
const service = parseGrid(serviceGrid('web'))

const child = (
  unit: string | undefined,
  isUpdated = true,
  isReady = true,
  isApplied = true,
): ChildState => ({
  unit,
  name: `web-${unit ?? 'svc'}`,
  isApplied,
  rollout: unit === undefined ? undefined : { isUpdated, isReady, state: { replicas: 2 } },
})
const ask = (more: Partial<StatusQuestion>): StatusQuestion => ({
  grid,
  units: ['north', 'south'],
  children: [child('north'), child('south')],
  failures: [],
  hold: undefined,
  ...more,
})

interface Shown extends Json {
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
    readonly lastTransitionTime: string
  }[]
}
const show = (more: Partial<StatusQuestion>, previous: Json = {}, at = AT): Shown =>
  nextStatus(ask(more), previous, at) as Shown
const brief = ({ conditions }: Shown) =>
  conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)

t.test('a grid that is well', t => {
  t.strictSame(nextStatus(ask({}), {}, AT), {
    observedGeneration: 3,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'AllUnitsReady',
        message: '2 of 2 units are ready',
        observedGeneration: 3,
        lastTransitionTime: AT,
      },
      {
        type: 'Progressing',
        status: 'False',
        reason: 'Complete',
        message: '',
        observedGeneration: 3,
        lastTransitionTime: AT,
      },
      {
        type: 'Held',
        status: 'False',
        reason: 'NothingHeld',
        message: '',
        observedGeneration: 3,
        lastTransitionTime: AT,
      },
    ],
    failures: [],
    units: { desired: 2, current: 2, updated: 2, ready: 2, failed: 0 },
    states: { north: { replicas: 2 }, south: { replicas: 2 } },
  })
  t.end()
})

t.test('conditions', t => {
  const fails = { unit: 'north', reason: 'TemplateMissing', message: 'template "x" is not there' }
  const hold = {
    reason: 'AllUnitsGone',
    units: ['a'],
    total: 1,
    token: holdToken(new Map([['a', 0]])),
  } as const
  const rows: [
    claim: string,
    more: Partial<StatusQuestion>,
    conditions: readonly string[],
    message?: RegExp,
  ][] = [
    [
      'a unit is not ready',
      { children: [child('north'), child('south', true, false)] },
      ['Ready False UnitsNotReady', 'Progressing False Complete', 'Held False NothingHeld'],
      /1 of 2 units are ready/,
    ],
    [
      'a unit is missing',
      { children: [child('north')] },
      ['Ready False UnitsNotReady', 'Progressing True RollingOut', 'Held False NothingHeld'],
    ],
    [
      'an older template serves too',
      { children: [child('north'), child('south', false)] },
      ['Ready True AllUnitsReady', 'Progressing True RollingOut', 'Held False NothingHeld'],
    ],
    [
      'what drifts is not updated',
      { children: [child('north'), child('south', true, true, false)] },
      ['Ready True AllUnitsReady', 'Progressing True RollingOut', 'Held False NothingHeld'],
    ],
    [
      'a unit failed',
      { failures: [fails], children: [child('south')] },
      ['Ready False TemplateMissing', 'Progressing False Stopped', 'Held False NothingHeld'],
      /1 of 2 failed; unit north: template "x" is not there/,
    ],
    [
      'no unit',
      { units: [], children: [] },
      ['Ready False NoUnits', 'Progressing False Complete', 'Held False NothingHeld'],
      /no node is in a unit/,
    ],
    [
      'a unit without nodes counts no more',
      { units: ['north'] },
      ['Ready True AllUnitsReady', 'Progressing False Complete', 'Held False NothingHeld'],
      /1 of 1/,
    ],
    [
      'held',
      { hold },
      ['Ready True AllUnitsReady', 'Progressing False Complete', 'Held True AllUnitsGone'],
    ],
    [
      'a Service',
      { grid: service, children: [child(undefined)] },
      ['Ready True Applied', 'Progressing False Complete', 'Held False NothingHeld'],
    ],
    [
      'a Service that drifts',
      { grid: service, children: [child(undefined, true, true, false)] },
      ['Ready False NotApplied', 'Progressing True RollingOut', 'Held False NothingHeld'],
      /not yet as wanted/,
    ],
    [
      'no Service',
      {
        grid: service,
        children: [],
        failures: [{ ...fails, unit: undefined, reason: 'NameTaken' }],
      },
      ['Ready False NameTaken', 'Progressing False Stopped', 'Held False NothingHeld'],
      /1 of 1 failed; the Service:/,
    ],
  ]
  for (const [claim, more, conditions, message = /^/] of rows) {
    const shown = show(more)
    t.strictSame(brief(shown), conditions, claim)
    t.match(shown.conditions[0]!.message, message, claim)
  }
  t.match(
    show({ hold }).conditions[2]!.message,
    /^1 of 1 units have no node: a; to delete their children, set the annotation edge-health\/confirm-removal: "[0-9a-f]{8}"$/,
  )
  const many = { ...hold, units: Array.from({ length: 11 }, (_, at) => `u${at}`), total: 12 }
  t.match(
    show({ hold: many }).conditions[2]!.message,
    /^11 of 12 units have no node: u0, .*u9, …; to delete/,
  )
  t.end()
})

t.test('a Service is named; units and states are of workloads', t => {
  t.match(show({ grid: service, children: [child(undefined)] }), {
    service: 'web-svc',
    units: undefined,
    states: undefined,
  })
  t.notOk('service' in show({ grid: service, children: [] }))
  t.end()
})

t.test('a time is that of the last change, and what is the same is not written', t => {
  const first = show({})
  t.equal(nextStatus(ask({}), first, LATER), undefined)
  const second = show({ children: [child('north'), child('south', true, false)] }, first, LATER)
  t.strictSame(
    second.conditions.map(({ lastTransitionTime }) => lastTransitionTime),
    [LATER, AT, AT],
  )
  t.strictSame(
    show({}, { conditions: [{ type: 'Ready', status: 'True' }] }).conditions[0]!.lastTransitionTime,
    AT,
    'a foreign condition without a time',
  )
  t.end()
})

t.test('limits', t => {
  const units = Array.from({ length: 201 }, (_, at) => `u${1000 + at}`)
  const children = units.map(unit => child(unit))
  t.notOk('states' in show({ units, children }), 'part of 201 states would look like all')
  t.equal(Object.keys(show({ units: units.slice(1), children })['states'] as object).length, 200)
  const failures = units
    .toReversed()
    .map(unit => ({ unit, reason: 'NameTaken', message: 'x'.repeat(2000) }))
  const shown = show({
    units,
    children: [],
    failures: [...failures.slice(5), ...failures.slice(0, 6)],
  })
  const list = shown['failures'] as readonly { unit: string; message: string }[]
  t.strictSame(
    list.map(({ unit }) => unit),
    units.slice(0, 20),
  )
  t.equal(list[0]!.message.length, 1024)
  t.equal(shown.conditions[0]!.message.length, 1024)
  t.match(shown, { units: { desired: 201, failed: 201 } })
  t.end()
})

t.test('no message has half of a character, wherever it is cut', t => {
  const messageOf = (message: string): string => {
    const failures = [{ unit: 'a', reason: 'NameTaken', message } as const]
    const shown = show({ units: ['a'], children: [], failures })
    return (shown['failures'] as readonly { message: string }[])[0]!.message
  }
  t.equal(messageOf(`${'x'.repeat(1_022)}😀 and more`), `${'x'.repeat(1_022)}?…`)
  t.equal(messageOf(`${'x'.repeat(1_021)}😀 and more`), `${'x'.repeat(1_021)}😀…`)
  t.equal(messageOf('half \ude00 or \ud83d, whole 😀'), 'half ? or ?, whole 😀')
  t.end()
})

t.test('a grid that cannot be understood', t => {
  const trouble = {
    generation: 4,
    message: 'spec.gridUniqKey must be the key of a node label, got ""',
  }
  const before = show({})
  const status = invalidStatus(trouble, before, LATER) as Shown
  t.strictSame(brief(status), [
    'Ready False Invalid',
    'Progressing False Stopped',
    'Held False NothingHeld',
  ])
  t.match(status, {
    observedGeneration: 4,
    units: { desired: 2 },
    conditions: [{ message: trouble.message }],
  })
  t.equal(invalidStatus(trouble, status, AT), undefined)
  t.strictSame(brief(invalidStatus(trouble, {}, AT) as Shown), [
    'Ready False Invalid',
    'Progressing False Stopped',
  ])
  t.end()
})

t.test('how far a Deployment has come', t => {
  const made = planOne(deploymentGrid('web'), sites('a')).children[0]!
  const well = {
    observedGeneration: 1,
    replicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
    readyReplicas: 2,
  }
  const rows: [claim: string, status: Json, isUpdated: boolean, isReady: boolean][] = [
    ['all is well', well, true, true],
    ['nobody has looked', {}, false, false],
    ['what is said is of an older generation', { ...well, observedGeneration: 0 }, false, false],
    ['pods of the old template are left', { ...well, replicas: 3 }, false, true],
    ['new ones are missing', { ...well, updatedReplicas: 1 }, false, true],
    ['kubeedge#5061: none is available', { ...well, availableReplicas: 0 }, true, false],
  ]
  for (const [claim, status, isUpdated, isReady] of rows)
    t.match(rolloutOf(applied(made, { status })), { isUpdated, isReady }, claim)
  const none = rolloutOf(
    applied(made, { status: { observedGeneration: 1 }, spec: { replicas: 0 } }),
  )
  t.match(none, { isUpdated: true, isReady: true }, 'none is enough where none are wanted')
  const one = rolloutOf(
    applied(made, { status: { ...well, availableReplicas: 1 }, spec: { replicas: undefined } }),
  )
  t.match(one, { isReady: true }, 'one is the default')
  const conditions = [{ type: 'Progressing' }, { type: 'Available', status: 'True' }]
  t.strictSame(rolloutOf(applied(made, { status: { ...well, conditions } })).state, {
    replicas: 2,
    readyReplicas: 2,
    conditions: [{ type: 'Available', status: 'True' }],
  })
  t.strictSame(rolloutOf(applied(made)).state, { replicas: 0, readyReplicas: 0 })
  t.end()
})

t.test('how far a StatefulSet has come', t => {
  const made = planOne(statefulSetGrid('db'), sites('a')).children[0]!
  const status = { observedGeneration: 1, replicas: 2, updatedReplicas: 1, availableReplicas: 2 }
  t.match(rolloutOf(applied(made, { status })), { isUpdated: false, isReady: true, state: status })
  const updateStrategy = { rollingUpdate: { partition: 1 } }
  t.match(rolloutOf(applied(made, { status, spec: { updateStrategy } })), { isUpdated: true })
  t.match(rolloutOf(applied(made, { status, spec: { updateStrategy: {} } })), { isUpdated: false })
  t.match(rolloutOf(applied(made, { status: { ...status, observedGeneration: 0 } })), {
    isUpdated: false,
    isReady: false,
  })
  t.end()
})

t.test('what a status says of units that are held', t => {
  const rows: [conditions: unknown, want: string | undefined][] = [
    [
      [
        { type: 'Ready', status: 'True' },
        { type: 'Held', status: 'True', message: '3 of 5' },
      ],
      '3 of 5',
    ],
    [[{ type: 'Held', status: 'False' }], undefined],
    [[{ type: 'Ready', status: 'True' }, 7, null], undefined],
    ['Held', undefined],
    [undefined, undefined],
  ]
  for (const [conditions, want] of rows)
    t.equal(heldMessage({ conditions }), want, JSON.stringify(conditions))
  t.end()
})
