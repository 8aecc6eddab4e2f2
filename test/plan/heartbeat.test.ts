// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeCondition, NodeView } from '../../core/node.js'
import { heartbeatStep } from '../../plan/heartbeat.js'
import { applyPlan, makeNode } from './apply-plan.js'

const at = '2026-01-01T00:00:00.000Z'
const everyMs = 10_000

const nodeWith = (...conditions: readonly NodeCondition[]): NodeView => makeNode({ conditions })
const cut = { type: 'PeerHealth', status: 'True', reason: 'CloudLinkCut' } as const

t.test('the condition of a vouched node is renewed when it has that age', t => {
  const after = (ms: number, node = nodeWith({ ...cut, lastHeartbeatTime: at })) =>
    heartbeatStep(node, { serverTime: Date.parse(at) + ms, everyMs })
  t.strictSame(after(0), { plan: { kind: 'nothing' }, dueInMs: 10_000 })
  t.strictSame(after(9_999), { plan: { kind: 'nothing' }, dueInMs: 1 })
  t.strictSame(after(-60_000), { plan: { kind: 'nothing' }, dueInMs: 10_000 }, 'a time ahead')
  const due = after(10_000)
  t.strictSame(due, {
    plan: {
      kind: 'status',
      patch: {
        type: 'strategic-merge',
        body: {
          metadata: { resourceVersion: '7' },
          status: {
            conditions: [{ type: 'PeerHealth', lastHeartbeatTime: '2026-01-01T00:00:10.000Z' }],
          },
        },
      },
    },
    dueInMs: 0,
  })
  const ready = { type: 'Ready', status: 'Unknown' } as const
  const written = applyPlan(nodeWith(ready, { ...cut, lastHeartbeatTime: at }), due.plan)
  t.strictSame(written.conditions, [
    ready,
    { ...cut, lastHeartbeatTime: '2026-01-01T00:00:10.000Z' },
  ])
  t.equal(after(10_000, written).plan.kind, 'nothing')
  t.end()
})

t.test('only a node that carries the marks of a cut link has its condition renewed', t => {
  const now = { serverTime: Date.parse(at), everyMs }
  t.equal(heartbeatStep(nodeWith(cut), now).plan.kind, 'status', 'a condition without a time')
  const other = nodeWith({ ...cut, reason: 'PeersReachNode' })
  for (const node of [nodeWith(), other])
    t.strictSame(heartbeatStep(node, now), { plan: { kind: 'nothing' }, dueInMs: Infinity })
  t.end()
})
