// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Json } from '../../../grids/model/grid.js'
import { takeoverPatch } from '../../../grids/model/takeover.js'
import { deploymentGrid, planOne, sites } from '../../support/grid-objects.js'
import { applied } from '../../support/live-objects.js'

const child = planOne(deploymentGrid('web'), sites('north')).children[0]!
const theirs = { manager: 'application-grid-controller', operation: 'Update' }
const ours = { manager: 'edge-health-grids', operation: 'Apply' }
const status = { ...theirs, subresource: 'status' }
const others = { manager: 'kube-controller-manager', operation: 'Update', subresource: 'status' }

t.test("SuperEdge's hold ends after our first apply, and only then", t => {
  const rows: [claim: string, managedFields: readonly Json[], at: number | undefined][] = [
    ['theirs alone', [theirs], undefined],
    ['ours alone', [ours], undefined],
    ['both', [theirs, ours], 0],
    ['in any order', [others, ours, theirs], 2],
    ['what they said about its status stays', [ours, status], undefined],
    ['an update of ours is no apply', [{ ...ours, operation: 'Update' }, theirs], undefined],
  ]
  for (const [claim, managedFields, at] of rows)
    t.strictSame(
      takeoverPatch(applied(child, { managedFields })),
      at === undefined
        ? undefined
        : [
            { op: 'test', path: '/metadata/resourceVersion', value: '7' },
            { op: 'remove', path: `/metadata/managedFields/${at}`, value: null },
          ],
      claim,
    )
  t.end()
})
