// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Json } from '../../../grids/model/grid.js'
import { applyJsonPatch } from '../../../core/json-patch.js'
import { parseLiveChild } from '../../../grids/model/live.js'
import { takeoverPatch } from '../../../grids/model/takeover.js'
import { deploymentGrid, planOne, sites } from '../../../testkit/kube/grid-objects.js'
import { applied } from '../live-objects.js'

const child = planOne(deploymentGrid('web'), sites('north')).children[0]!
const theirs = { manager: 'application-grid-controller', operation: 'Update' }
const ours = { manager: 'edge-health-grids', operation: 'Apply' }
const status = { ...theirs, subresource: 'status' }
const others = { manager: 'kube-controller-manager', operation: 'Update', subresource: 'status' }

t.test('what SuperEdge set becomes ours before our first apply', t => {
  const version = { op: 'test', path: '/metadata/resourceVersion', value: '7' }
  const renamed = (at: number) => [
    version,
    { op: 'replace', path: `/metadata/managedFields/${at}/manager`, value: 'edge-health-grids' },
    { op: 'replace', path: `/metadata/managedFields/${at}/operation`, value: 'Apply' },
  ]
  const removed = (at: number) => [
    version,
    { op: 'remove', path: `/metadata/managedFields/${at}`, value: null },
  ]
  const rows: [
    claim: string,
    managedFields: readonly Json[],
    want: readonly object[] | undefined,
  ][] = [
    ['theirs alone', [theirs], renamed(0)],
    ['beside others', [others, status, theirs], renamed(2)],
    ['an update of ours is no apply', [{ ...ours, operation: 'Update' }, theirs], renamed(1)],
    ['we have applied already', [others, ours, theirs], removed(2)],
    ['ours alone', [ours], undefined],
    ['what they said about its status stays', [ours, status], undefined],
  ]
  for (const [claim, managedFields, want] of rows)
    t.strictSame(takeoverPatch(applied(child, { managedFields })), want, claim)
  t.end()
})

t.test('the patch makes the entry ours and changes nothing else', t => {
  const live = applied(child, {
    managedFields: [others, { ...theirs, fieldsV1: { 'f:spec': {} } }],
  })
  const patched = applyJsonPatch(live.object, takeoverPatch(live)!)
  if (!patched.ok) throw new Error(patched.trouble)
  const after = parseLiveChild(patched.value)
  t.strictSame(after.managedFields[1], {
    ...{ manager: 'edge-health-grids', operation: 'Apply', subresource: '' },
    fields: { 'f:spec': {} },
  })
  t.strictSame(after.spec, live.spec)
  t.end()
})
