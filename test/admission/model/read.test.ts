// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { awaitedNode } from '../../../admission/model/pods.js'
import { instantOf, stampOfWrite } from '../../../admission/model/read.js'
import { parseReview } from '../../../admission/model/review.js'
import {
  knowing,
  makePod,
  makeReview,
  SUPEREDGE,
  VOUCHED,
  type NodeOdds,
} from '../../../testkit/admission/reviews.js'

t.test('instants, and the newest of the stamps in any order', t => {
  const at = Date.parse('2026-11-22T12:00:00Z')
  t.equal(instantOf('2026-11-22T12:00:00Z'), at)
  for (const text of ['', 'yesterday', '2026', '2026-11-22Tnoon'])
    t.equal(instantOf(text), undefined, text)
  const stamped = (...times: readonly unknown[]) => ({
    metadata: { managedFields: times.map(time => ({ time })) },
  })
  const [early, late] = ['2026-11-22T11:00:00Z', '2026-11-22T12:00:00Z']
  t.equal(stampOfWrite(stamped(early, late), {}), at)
  t.equal(stampOfWrite(stamped(late, early, 'never', 7), {}), at)
  t.equal(stampOfWrite(stamped(), {}), undefined)
  t.equal(stampOfWrite({}, undefined), undefined)
  t.end()
})

t.test('stamps of earlier writes do not count', t => {
  const [past, now, future] = [
    '2026-11-22T11:00:00Z',
    '2026-11-22T12:00:00Z',
    '2099-01-01T00:00:00Z',
  ]
  const entry = (manager: string, time: string, more: object = {}) => ({
    ...{ manager, operation: 'Update', time },
    ...more,
  })
  const node = (...managedFields: readonly object[]) => ({ metadata: { managedFields } })
  const at = Date.parse(now)
  const forged = entry('kubelet', future)
  const taints = { fieldsV1: { 'f:spec': { 'f:taints': {} } } }
  const ours = entry('kube-controller-manager', now, taints)
  const before = node(forged, entry('kube-controller-manager', past, taints))
  t.equal(stampOfWrite(node(forged, ours), before), at, 'the entry that is new counts')
  t.equal(stampOfWrite(node(forged, ours), node(forged)), at, 'also that of a first write')
  const again = node(forged, ours)
  t.equal(
    stampOfWrite(again, again),
    at,
    'a second write within a second: the entry with the taints',
  )
  const other = entry('kubelet', now, { subresource: 'status' })
  t.equal(stampOfWrite(node(other), node(entry('kubelet', now))), at, 'by subresource, too')
  t.equal(stampOfWrite(node(forged), node(forged)), undefined, 'no new one, and none with taints')
  t.end()
})

t.test('for which nodes a newer state is awaited', t => {
  const rows: [claim: string, node: NodeOdds, rules: typeof VOUCHED, isAwaited: boolean][] = [
    ['vouched, and not Unknown yet', { ready: 'True' }, VOUCHED, true],
    ['… however old the word is', { ready: 'True', word: { agoMs: 90_000 } }, VOUCHED, true],
    ['Unknown already', {}, VOUCHED, false],
    ['its kubelet is sick', { ready: 'False' }, VOUCHED, false],
    ['dead', { ready: 'True', isMarked: true }, VOUCHED, false],
    ['not vouched', { ready: 'True', word: { status: 'False' } }, VOUCHED, false],
    ["… in SuperEdge's mode", { ready: 'True', word: { status: 'False' } }, SUPEREDGE, true],
    ['another node', { name: 'n2', ready: 'True' }, VOUCHED, false],
  ]
  const marks = parseReview(
    makeReview('/pod-status', makePod('n1', 'False'), makePod('n1', 'True')),
  )
  for (const [claim, node, rules, isAwaited] of rows)
    t.equal(awaitedNode(marks, knowing([node], rules)), isAwaited ? 'n1' : undefined, claim)
  const harmless = parseReview(makeReview('/pod-status', makePod('n1', 'True')))
  t.equal(awaitedNode(harmless, knowing([{ ready: 'True' }])), undefined, 'nothing is marked')
  t.end()
})
