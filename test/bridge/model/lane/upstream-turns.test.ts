// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  UPSTREAM_LIMITS,
  UpstreamLanes,
  type Task,
} from '../../../../bridge/model/lane/upstream-lanes.js'
import { UpstreamTurns, type Turn } from '../../../../bridge/model/lane/upstream-turns.js'
import type { UpstreamLane } from '../../../../bridge/model/route/upstream.js'
import { parseNodeName, type NodeName } from '../../../../core/ids.js'
import fc from '../../../../testkit/properties.js'

const nodes: readonly NodeName[] = ['a', 'b', 'c'].map(parseNodeName)
const [A, B] = nodes as [NodeName, NodeName]
const task = (lane: UpstreamLane, value: string, key = value): Task<string> => ({
  ...{ lane, key, bytes: 1, value, isAgents: false },
})
const drain = (turns: UpstreamTurns<string>): readonly string[] => {
  const order: string[] = []
  for (let turn = turns.take(); turn !== undefined; turn = turns.take())
    order.push(`${turn.node} ${turn.task.value}`)
  return order
}

t.test('of a node that is paused only Leases run', t => {
  const turns = new UpstreamTurns<string>()
  turns.pause(A)
  turns.pause(A)
  turns.pause(B)
  turns.push(A, task('request', 'one'))
  turns.push(A, task('lease', 'beat'))
  t.strictSame(drain(turns), ['a beat'])
  turns.resume(B)
  turns.resume(B)
  t.strictSame(drain(turns), [], 'who has asked nothing has nothing to run')
  turns.push(B, task('request', 'other'))
  t.strictSame(drain(turns), ['b other'])
  turns.resume(A)
  t.strictSame(drain(turns), ['a one'])
  t.end()
})

t.test('what is taken out does not run, and is no longer counted', t => {
  const turns = new UpstreamTurns<string>()
  turns.pause(A)
  t.strictSame([...turns.paused], ['a'])
  for (const lane of ['event', 'request', 'lease'] as const) turns.push(A, task(lane, lane))
  const remove = (node: NodeName, value: string) =>
    turns.remove(node, task => task.value === value)?.value
  t.equal(remove(A, 'none'), undefined)
  t.equal(remove(B, 'event'), undefined)
  t.strictSame([remove(A, 'event'), remove(A, 'request')], ['event', 'request'])
  t.strictSame([turns.waiting, turns.bytes], [1, 1])
  const lease = turns.take()!
  t.equal(remove(A, 'lease'), undefined, 'what runs is not taken out')
  turns.push(A, task('request', 'next'))
  t.equal(remove(A, 'next'), 'next')
  turns.done(lease)
  turns.push(A, task('request', 'last'))
  t.equal(remove(A, 'last'), 'last')
  t.equal(turns.lanesOf(A), undefined)
  turns.resume(A)
  t.strictSame(drain(turns), [])
  turns.push(A, task('request', 'again'))
  t.strictSame(drain(turns), ['a again'])
  t.end()
})

t.test('nodes are served round-robin', t => {
  const turns = new UpstreamTurns<string>()
  for (let index = 0; index < 10; index++) turns.push(A, task('request', `flood${index}`))
  turns.push(B, task('request', 'one'))
  t.equal(turns.waiting, 11)
  t.strictSame(
    drain(turns),
    ['a flood0', 'b one', 'a flood1', 'a flood2', 'a flood3'],
    'four of a node',
  )
  t.equal(turns.lanesOf(A)?.messages, 6)
  t.equal(turns.waiting, 6)
  t.equal(turns.lanesOf(nodes[2]!), undefined)
  t.end()
})

t.test('requests that run have a limit of bytes, and those that wait are counted', t => {
  const turns = new UpstreamTurns<string>({ leases: 1, others: 9, bytes: 100 })
  const large = { ...task('request', 'large'), bytes: 100 }
  for (const [node, each] of [
    [A, large],
    [B, task('request', 'small')],
    [B, task('lease', 'beat')],
  ] as const)
    turns.push(node, each)
  t.equal(turns.bytes, 102)
  const beat = turns.take()!
  const first = turns.take()!
  t.strictSame([beat.task.value, first.task.value], ['beat', 'large'])
  t.equal(turns.bytes, 1)
  t.equal(turns.take(), undefined)
  turns.push(A, task('lease', 'next'))
  t.equal(turns.take(), undefined, 'one Lease at a time')
  turns.done(beat)
  t.equal(turns.take()?.task.value, 'next', 'Leases do not wait for others')
  turns.done(first)
  t.equal(turns.take()?.task.value, 'small')
  t.equal(turns.bytes, 0)
  t.end()
})

t.test('Leases have a limit of their own', t => {
  const turns = new UpstreamTurns<string>({ leases: 1, others: 2, bytes: 100 })
  for (const name of ['r0', 'r1', 'r2']) turns.push(A, task('request', name))
  turns.push(A, task('lease', 'la'))
  turns.push(B, task('lease', 'lb'))
  t.strictSame(drain(turns), ['a la', 'a r0', 'a r1'], 'no more than there is room for')
  turns.done({ node: A, task: task('request', 'r0') })
  turns.done({ node: A, task: task('lease', 'la') })
  t.strictSame(drain(turns), ['b lb', 'a r2'])
  t.end()
})

t.test('a node without queued or running requests is forgotten', t => {
  const turns = new UpstreamTurns<string>()
  turns.push(A, task('request', 'x'))
  const turn = turns.take()!
  t.equal(turns.take(), undefined)
  turns.done(turn)
  t.equal(turns.lanesOf(A), undefined)
  t.equal(turns.take(), undefined)
  turns.push(A, task('request', 'x'))
  turns.push(A, task('request', 'x2', 'x'))
  const again = turns.take()!
  t.equal(turns.take(), undefined, 'the object is busy')
  turns.done(again)
  t.equal(turns.take()?.task.value, 'x2')
  t.end()
})

t.test('dropped Events are reported', t => {
  const turns = new UpstreamTurns<string>(
    undefined,
    () => new UpstreamLanes({ ...UPSTREAM_LIMITS, maxMessages: 1 }),
  )
  turns.push(A, task('event', 'e0'))
  t.strictSame(turns.push(A, task('event', 'e1')), [task('event', 'e0')])
  t.end()
})

t.test('every request runs, in whatever order others end', t => {
  const push = fc.tuple(
    fc.constantFrom(...nodes),
    fc.constantFrom<UpstreamLane>('lease', 'request', 'event'),
    fc.nat(2),
  )
  fc.assert(
    fc.property(fc.array(push, { maxLength: 60 }), fc.array(fc.nat(9)), (pushes, ends) => {
      const turns = new UpstreamTurns<string>({ leases: 1, others: 2, bytes: 100 })
      const running: Turn<string>[] = []
      let taken = 0
      const takeAll = () => {
        for (let turn = turns.take(); turn !== undefined; turn = turns.take()) {
          running.push(turn)
          taken++
        }
        const leases = running.filter(({ task }) => task.lane === 'lease').length
        t.ok(leases <= 1 && running.length - leases <= 2)
      }
      pushes.forEach(([node, lane, key], index) => {
        turns.push(node, task(lane, String(index), `${key}`))
        takeAll()
        const [ended] = running.splice((ends[index] ?? 9) % 4, 1)
        if (ended !== undefined) turns.done(ended)
      })
      takeAll()
      while (running.length > 0) {
        turns.done(running.shift()!)
        takeAll()
      }
      t.equal(taken, pushes.length)
      for (const node of nodes) t.equal(turns.lanesOf(node), undefined)
    }),
  )
  t.end()
})
