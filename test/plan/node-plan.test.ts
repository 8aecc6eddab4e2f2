// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import fc from '../../testkit/properties.js'
import type { NodeCondition, NodeView, Taint } from '../../core/node.js'
import {
  leaseStep,
  type LeaseFacts,
  type LeaseMemory,
  type LeaseStep,
  type LeaseTurn,
} from '../../plan/lease.js'
import type { PlanOptions } from '../../plan/options.js'
import {
  carriesCutMarks,
  planNode,
  planReady,
  marksOfVerdict,
  type DesiredMarks,
} from '../../plan/node-plan.js'
import { NO_BACKOFF, taintStep } from '../../plan/taint-backoff.js'
import { planTaints } from '../../plan/taints.js'
import { applyPlan, makeNode, settleNode } from './apply-plan.js'

const at = '2026-01-01T00:00:00Z'
const later = '2026-01-01T00:01:00Z'
const words = { message: 'because', at }
const deadTaint = { key: 'example.com/dead', value: 'yes', effect: 'NoExecute' } as const
const cutTaint = { key: 'edge-health/cloud-link-cut', effect: 'NoSchedule' } as const
const o: PlanOptions = { deadTaint, cutTaint }
const foreign: Taint = {
  key: 'node.kubernetes.io/unreachable',
  effect: 'NoExecute',
  timeAdded: '2025-12-31T00:00:00Z',
}

const peerHealth = (node: NodeView): NodeCondition | undefined =>
  node.conditions.find(condition => condition.type === 'PeerHealth')

t.test('marks that say that a cloud link is cut', t => {
  const marked = (desired: DesiredMarks): NodeView => settleNode(makeNode(), desired, words, o).node
  t.equal(carriesCutMarks(makeNode()), false)
  t.equal(carriesCutMarks(marked('vouched')), true)
  t.equal(carriesCutMarks(marked('dead')), false)
  t.end()
})

t.test('which marks a verdict asks for', t => {
  const healthy = { verdict: 'healthy', class: 'cloud-link-cut' } as const
  t.equal(marksOfVerdict(healthy, true), 'vouched')
  t.equal(marksOfVerdict(healthy, false), 'healthy')
  t.equal(marksOfVerdict({ ...healthy, verdict: 'undecided' }, true), 'keep')
  t.equal(marksOfVerdict({ verdict: 'unhealthy', class: 'dead' }, true), 'dead')
  t.equal(marksOfVerdict({ verdict: 'unhealthy', class: 'kubelet-sick' }, false), 'kubelet-sick')
  t.end()
})

t.test('the next write that brings a Node to the desired marks', t => {
  const { node: dead, writes } = settleNode(makeNode({ taints: [foreign] }), 'dead', words, o)
  t.equal(writes, 2, 'one through the status, one for the taints')
  t.strictSame(dead.annotations, { nodeunhealth: 'yes', 'edge-health/reason': 'because' })
  t.strictSame(dead.taints, [foreign, { ...deadTaint, timeAdded: at }])
  t.match(peerHealth(dead), { status: 'False', reason: 'PeersCannotReach', lastTransitionTime: at })
  t.strictSame(planNode(dead, 'dead', { message: 'other words', at: later }, o), {
    kind: 'nothing',
  })

  const sick = settleNode(dead, 'kubelet-sick', { message: 'sick', at: later }, o)
  t.equal(sick.writes, 1)
  t.match(peerHealth(sick.node), { reason: 'KubeletSick', lastTransitionTime: at })
  t.equal(sick.node.annotations['edge-health/reason'], 'sick')

  const cut = settleNode(sick.node, 'vouched', { message: 'cut', at: later }, o)
  t.equal(cut.writes, 2)
  t.strictSame(cut.node.annotations, { 'edge-health/reason': 'cut' }, 'never nodeunhealth')
  t.strictSame(cut.node.taints, [foreign, cutTaint])
  t.strictSame(cut.node.labels, { 'edge-health/vouched': 'true' })
  t.match(peerHealth(cut.node), {
    status: 'True',
    reason: 'CloudLinkCut',
    lastTransitionTime: later,
  })

  const healed = settleNode(dead, 'healthy', { message: 'well', at: later }, o)
  t.strictSame(healed.node.annotations, {})
  t.strictSame(healed.node.taints, [foreign])
  t.match(peerHealth(healed.node), { status: 'True', reason: 'PeersReachNode' })
  t.equal(planNode(dead, 'healthy', words, o).kind, 'taints', 'taints go while the marks stand')

  const left = settleNode(dead, 'left', words, o)
  t.strictSame(left.node.annotations, {}, 'marks do not outlive membership')
  t.match(peerHealth(left.node), { status: 'Unknown', reason: 'NotJudged' })
  t.equal(planNode(left.node, 'left', words, o).kind, 'nothing')
  t.end()
})

t.test('the label of a vouched node comes and goes in the write of its marks', t => {
  const vouched = settleNode(makeNode(), 'vouched', words, o).node
  t.match(planNode(makeNode(), 'vouched', words, o), {
    kind: 'status',
    patch: {
      body: {
        metadata: {
          labels: { 'edge-health/vouched': 'true' },
          annotations: { 'edge-health/reason': 'because' },
        },
        status: { conditions: [{ reason: 'CloudLinkCut' }] },
      },
    },
  })
  for (const goal of ['dead', 'kubelet-sick', 'healthy', 'left'] as const)
    t.strictSame(settleNode(vouched, goal, words, o).node.labels, {}, goal)
  t.equal(planNode(vouched, 'keep', words, o).kind, 'nothing')
  const earlier = { ...vouched, labels: { zone: 'a' } }
  t.strictSame(
    planNode(earlier, 'vouched', words, o),
    {
      kind: 'status',
      patch: {
        type: 'strategic-merge',
        body: {
          metadata: { resourceVersion: '9', labels: { 'edge-health/vouched': 'true' } },
        },
      },
    },
    'an earlier version did not write it',
  )
  const other = makeNode({ labels: { zone: 'a', 'edge-health/vouched': 'yes' } })
  t.strictSame(settleNode(other, 'vouched', words, o).node.labels, {
    zone: 'a',
    'edge-health/vouched': 'true',
  })
  t.strictSame(settleNode(other, 'healthy', words, o).node.labels, { zone: 'a' })
  t.end()
})

t.test('what is left alone', t => {
  const operators = makeNode({ taints: [deadTaint, foreign] })
  t.equal(planNode(operators, 'healthy', words, o).kind, 'nothing', 'an operator’s own taint')
  t.equal(planNode(makeNode(), 'left', words, o).kind, 'nothing')
  t.equal(planNode(makeNode(), 'healthy', words, o).kind, 'nothing', 'a healthy node gets no write')
  const marked = makeNode({ annotations: { nodeunhealth: 'yes' } })
  t.equal(planNode(marked, 'keep', words, o).kind, 'nothing', 'undecided keeps what is there')
  const { node } = settleNode(marked, 'healthy', words, o)
  t.match(peerHealth(node), { status: 'True' }, 'a mark by SuperEdge is removed, and that is said')
  t.strictSame(node.annotations, {})
  const half = makeNode({ annotations: { nodeunhealth: 'no' } })
  t.equal(settleNode(half, 'dead', words, o).node.annotations['nodeunhealth'], 'yes')
  const bare = settleNode(makeNode(), 'dead', words, { deadTaint: undefined, cutTaint })
  t.equal(bare.writes, 1, 'no taint unless the operator asks for one')
  const old = makeNode({
    taints: [{ key: 'edge-health/old', effect: 'NoSchedule' }],
  })
  t.strictSame(settleNode(old, 'healthy', words, o).node.taints, [], 'our prefix is ours')
  const falseOnly = makeNode({
    conditions: [{ type: 'PeerHealth', status: 'False', reason: 'PeersCannotReach' }],
    taints: [deadTaint],
  })
  t.strictSame(settleNode(falseOnly, 'healthy', words, o).node.taints, [])
  const undated = makeNode({
    conditions: [{ type: 'PeerHealth', status: 'True', reason: 'Other' }],
  })
  t.match(peerHealth(settleNode(undated, 'vouched', words, o).node), { lastTransitionTime: at })
  t.end()
})

t.test('patches carry their guards', t => {
  const status = planNode(makeNode(), 'dead', words, o)
  t.match(status, {
    kind: 'status',
    patch: {
      type: 'strategic-merge',
      body: {
        metadata: { resourceVersion: '7', annotations: { nodeunhealth: 'yes' } },
        status: { conditions: [{ type: 'PeerHealth', lastHeartbeatTime: at }] },
      },
    },
  })
  const half = makeNode({
    conditions: [{ type: 'PeerHealth', status: 'False', reason: 'PeersCannotReach' }],
  })
  t.strictSame(planNode(half, 'dead', words, o), {
    kind: 'status',
    patch: {
      type: 'strategic-merge',
      body: {
        metadata: {
          resourceVersion: '7',
          annotations: { nodeunhealth: 'yes', 'edge-health/reason': 'because' },
        },
      },
    },
  })
  const wasSick = makeNode({
    annotations: { nodeunhealth: 'yes', 'edge-health/reason': 'x' },
    conditions: [{ type: 'PeerHealth', status: 'True', reason: 'CloudLinkCut' }],
  })
  t.match(planNode(wasSick, 'healthy', words, o), { kind: 'status' })
  const named = makeNode({
    conditions: [{ type: 'PeerHealth', status: 'True', reason: 'Other' }],
  })
  t.strictSame(
    planNode(named, 'healthy', words, o),
    {
      kind: 'status',
      patch: {
        type: 'strategic-merge',
        body: {
          metadata: { resourceVersion: '7' },
          status: {
            conditions: [
              {
                type: 'PeerHealth',
                status: 'True',
                reason: 'PeersReachNode',
                message: 'because',
                lastHeartbeatTime: at,
                lastTransitionTime: at,
              },
            ],
          },
        },
      },
    },
    'a condition alone leaves the annotations out',
  )
  t.strictSame(planTaints(makeNode(), { unwanted: () => true, wanted: [cutTaint], at }), {
    kind: 'taints',
    patch: {
      type: 'json',
      operations: [
        { op: 'test', path: '/metadata/resourceVersion', value: '7' },
        { op: 'add', path: '/spec/taints', value: [cutTaint] },
      ],
    },
  })
  const two = makeNode({ taints: [{ ...cutTaint, value: 'old' }, foreign, deadTaint] })
  t.strictSame(
    planTaints(two, { unwanted: x => x.key === deadTaint.key, wanted: [cutTaint], at }),
    {
      kind: 'taints',
      patch: {
        type: 'json',
        operations: [
          { op: 'test', path: '/metadata/resourceVersion', value: '7' },
          { op: 'remove', path: '/spec/taints/2' },
          { op: 'remove', path: '/spec/taints/0' },
          { op: 'add', path: '/spec/taints/-', value: cutTaint },
        ],
      },
    },
    'from the end; a changed value is a new taint',
  )
  t.throws(() => applyPlan(makeNode({ resourceVersion: '8' }), status), 'stale plans are refused')
  t.end()
})

t.test(
  'any node reaches any desired marks in at most two writes, and foreign taints keep their order',
  t => {
    const taint = fc.record({
      key: fc.constantFrom(
        'a',
        'b',
        'node.kubernetes.io/unreachable',
        'edge-health/cloud-link-cut',
        'edge-health/old',
        'example.com/dead',
      ),
      effect: fc.constantFrom('NoSchedule' as const, 'NoExecute' as const),
      timeAdded: fc.constantFrom('2025-01-01T00:00:00Z', '2025-02-01T00:00:00Z'),
    })
    const node = fc.record({
      annotations: fc.constantFrom<Record<string, string>>(
        {},
        { nodeunhealth: 'yes' },
        { nodeunhealth: 'maybe', 'edge-health/reason': 'x' },
      ),
      labels: fc.constantFrom<Record<string, string>>(
        { zone: 'a' },
        { zone: 'a', 'edge-health/vouched': 'true' },
        { zone: 'a', 'edge-health/vouched': 'x' },
      ),
      taints: fc.uniqueArray(taint, { selector: x => x.key + x.effect }),
      conditions: fc.constantFrom<readonly NodeCondition[]>(
        [],
        [{ type: 'Ready', status: 'Unknown' }],
        [{ type: 'PeerHealth', status: 'False', reason: 'KubeletSick', lastTransitionTime: later }],
        [{ type: 'PeerHealth', status: 'True', reason: 'CloudLinkCut' }],
      ),
    })
    const desired = fc.constantFrom<DesiredMarks>(
      'keep',
      'dead',
      'kubelet-sick',
      'vouched',
      'healthy',
      'left',
    )
    fc.assert(
      fc.property(node, desired, desired, (changes, first, second) => {
        const start = makeNode(changes)
        let current = start
        for (const goal of [first, second]) {
          const before = current
          const { node: reached, writes } = settleNode(current, goal, words, o)
          current = reached
          if (writes > 2) return false
          if (goal === 'keep') {
            if (writes > 0) return false
            continue
          }
          const isDead = goal === 'dead' || goal === 'kubelet-sick'
          if ((reached.annotations['nodeunhealth'] === 'yes') !== isDead) return false
          if ('nodeunhealth' in reached.annotations !== isDead) return false
          if ('edge-health/reason' in reached.annotations !== (isDead || goal === 'vouched'))
            return false
          const label = goal === 'vouched' ? { 'edge-health/vouched': 'true' } : {}
          if (!isDeepStrictEqual(reached.labels, { zone: 'a', ...label })) return false
          const has = (x: { key: string; effect: string }): boolean =>
            reached.taints.some(y => y.key === x.key && y.effect === x.effect)
          if (has(cutTaint) !== (goal === 'vouched')) return false
          if (isDead && !has(deadTaint)) return false
          if (writes > 0 && goal === 'healthy' && peerHealth(reached)?.status === 'False')
            return false
          const others = (n: NodeView): string =>
            JSON.stringify(
              n.taints.filter(x => !x.key.startsWith('edge-health/') && x.key !== deadTaint.key),
            )
          if (others(before) !== others(reached)) return false
        }
        return true
      }),
      { numRuns: 500 },
    )
    t.end()
  },
)

t.test('Ready becomes True once, and only from Unknown', t => {
  const ready = (status: NodeCondition['status']): NodeView =>
    makeNode({ conditions: [{ type: 'Ready', status }] })
  const plan = planReady(ready('Unknown'), words)
  t.match(plan, { patch: { body: { metadata: { resourceVersion: '7' } } } })
  const mended = applyPlan(ready('Unknown'), plan)
  t.match(mended.conditions, [{ type: 'Ready', status: 'True', reason: 'PeersVouch' }])
  for (const node of [mended, ready('False'), ready('True'), makeNode()])
    t.equal(planReady(node, words).kind, 'nothing')
  t.end()
})

/** A turn whose apiserver shows `at` when our clock shows 0. */
const leaseTurn = (now: number, rank = 0, serverTime?: number): LeaseTurn => ({
  now,
  serverTime: serverTime ?? Date.parse(at) + now,
  rank,
  renewEveryMs: 10_000,
  writerStaggerMs: 2_000,
})

const leaseOf = (renewTime: string | undefined, renewal?: LeaseFacts['renewal']): LeaseFacts => ({
  resourceVersion: '3',
  renewTime,
  leaseDurationSeconds: 40,
  renewal,
})

const renewalAt = (step: LeaseStep): string | undefined => step.write?.whenDone.renewTime

t.test('a Lease is renewed by one agent, if its holder does not renew it', t => {
  const old = leaseOf('2025-12-31T23:59:00.123456Z')
  const first = leaseStep(undefined, old, leaseTurn(0))
  t.strictSame(first.write?.patch, {
    type: 'merge',
    body: {
      metadata: { resourceVersion: '3' },
      spec: { renewTime: '2025-12-31T23:59:00.124000Z' },
    },
  })
  t.equal(first.dueAt, 10_000)
  t.ok(leaseStep(first.memory, old, leaseTurn(1)).write, 'a write that failed is tried again')
  const done = first.write!.whenDone
  const own = leaseOf(done.renewTime)
  t.strictSame(leaseStep(done, own, leaseTurn(9_999)).write, undefined)
  const second = leaseStep(done, own, leaseTurn(10_000))
  t.equal(renewalAt(second), '2025-12-31T23:59:10.124000Z', 'our own renewal runs out')
  const other = leaseStep(done, leaseOf('2026-01-01T00:00:05.5Z'), leaseTurn(10_000))
  t.equal(other.write, undefined, 'somebody renewed it: the holder or another writer')
  t.equal(other.dueAt, 20_000)
  const standby = leaseStep(undefined, old, leaseTurn(0, 2))
  t.equal(standby.write, undefined)
  t.equal(standby.dueAt, 4_000, 'rank 2 waits first')
  const taken = leaseStep(standby.memory, old, leaseTurn(4_000, 2))
  t.ok(taken.write, 'and takes over when nobody renews')
  const memory: LeaseMemory = { renewTime: undefined, changedAt: 0, isFirst: false }
  t.equal(leaseStep(memory, leaseOf(undefined), leaseTurn(10)).write, undefined)
  t.end()
})

t.test("FA8, FA25: a renewal is later than the Lease's time and not beyond the apiserver's", t => {
  const rows: readonly (readonly [
    what: string,
    last: string | undefined,
    elapsedMs: number,
    want: string | undefined,
    trouble: string,
  ])[] = [
    [
      'goes on from its own time',
      '2025-12-31T23:58:00Z',
      10_000,
      '2025-12-31T23:58:10.000000Z',
      '',
    ],
    [
      'by a millisecond at least',
      '2025-12-31T23:58:00.000999Z',
      0,
      '2025-12-31T23:58:00.001000Z',
      '',
    ],
    [
      'as far as the apiserver is',
      '2025-12-31T23:59:59.5Z',
      10_000,
      '2026-01-01T00:00:00.000000Z',
      '',
    ],
    ['from the year 1', '0001-01-01T00:00:00Z', 5_000, '0001-01-01T00:00:05.000000Z', ''],
    ['one without a time', undefined, 0, '2026-01-01T00:00:00.000000Z', ''],
    ['one that is no time', 'never', 0, '2026-01-01T00:00:00.000000Z', ''],
    [
      'just at its clock: waits',
      '2026-01-01T00:00:00Z',
      0,
      undefined,
      "its time lies 1 s beyond the apiserver's clock",
    ],
    [
      'ahead of it: waits',
      '2026-01-01T00:02:00Z',
      0,
      undefined,
      "its time lies 121 s beyond the apiserver's clock",
    ],
  ]
  for (const [what, last, elapsedMs, want, trouble] of rows) {
    const memory: LeaseMemory = { renewTime: last, changedAt: -elapsedMs, isFirst: true }
    const step = leaseStep(memory, leaseOf(last), leaseTurn(0))
    t.equal(renewalAt(step), want, what)
    t.equal(step.trouble, trouble, what)
    t.ok(step.dueAt > 0 && step.dueAt <= 10_000, `${what}: looked at again after ${step.dueAt} ms`)
  }
  const blind = leaseStep(undefined, leaseOf(at), { ...leaseTurn(0), serverTime: undefined })
  t.equal(blind.write, undefined, 'without a Date nothing is renewed')
  t.equal(blind.trouble, 'the apiserver does not say what time it is')
  t.equal(blind.dueAt, 10_000)
  t.end()
})

t.test('FA11: a Lease that its own node renews is nobody else’s', t => {
  const stamp = Date.parse(at)
  const rows: readonly (readonly [
    what: string,
    renewal: LeaseFacts['renewal'],
    holderUntil: number,
  ])[] = [
    ['nobody keeps account', undefined, -Infinity],
    ['an agent renewed it', { isByAgent: true, at: stamp }, -Infinity],
    ['the kubelet did just now', { isByAgent: false, at: stamp }, 15_000],
    ['10 s ago', { isByAgent: false, at: stamp - 10_000 }, 5_000],
    ['15 s ago', { isByAgent: false, at: stamp - 15_000 }, -Infinity],
    ['by the clock of another apiserver', { isByAgent: false, at: stamp + 60_000 }, 15_000],
  ]
  const old = '2025-12-31T23:59:00Z'
  for (const [what, renewal, holderUntil] of rows) {
    const step = leaseStep(undefined, leaseOf(old, renewal), leaseTurn(0))
    t.equal(step.holderUntil, holderUntil, what)
    t.equal(step.write === undefined, holderUntil > 0, what)
    t.equal(step.dueAt, holderUntil > 0 ? holderUntil : 10_000, what)
  }
  const noLength = {
    ...leaseOf(old, { isByAgent: false, at: stamp }),
    leaseDurationSeconds: undefined,
  }
  t.equal(leaseStep(undefined, noLength, leaseTurn(0)).holderUntil, 15_000)
  t.end()
})

t.test('taking the taint off backs off', t => {
  const tainted = makeNode({ taints: [{ key: 'a', effect: 'NoSchedule' }, foreign] })
  let { backoff } = taintStep(NO_BACKOFF, makeNode(), 0)
  t.strictSame(backoff, NO_BACKOFF)
  const first = taintStep(backoff, tainted, 1000)
  t.strictSame(applyPlan(tainted, first.plan).taints, [tainted.taints[0]])
  const soon = taintStep(first.backoff, tainted, 1100)
  t.strictSame([soon.plan.kind, soon.dueAt], ['nothing', 3000], 'put back at once: wait')
  const times: number[] = []
  backoff = first.backoff
  for (let now = 1100; now < 2_000_000; now += 100) {
    const step = taintStep(backoff, tainted, now)
    if (step.plan.kind !== 'nothing') times.push(now)
    backoff = step.backoff
  }
  t.strictSame(times.slice(0, 4), [3000, 7000, 15_000, 31_000], 'each wait doubles')
  t.equal(times.at(-1)! - times.at(-2)!, 300_000, 'up to five minutes')
  t.strictSame(taintStep(backoff, makeNode(), backoff.lastAt + 1000).backoff, backoff)
  t.strictSame(taintStep(backoff, makeNode(), backoff.lastAt + 300_000).backoff, NO_BACKOFF)
  t.end()
})
