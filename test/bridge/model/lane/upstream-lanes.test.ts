// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  UPSTREAM_LIMITS,
  UpstreamLanes,
  type Task,
  type UpstreamLimits,
} from '../../../../bridge/model/lane/upstream-lanes.js'
import type { UpstreamLane } from '../../../../bridge/model/route/upstream.js'
import fc from '../../../../testkit/properties.js'

const makeLanes = (limits: Partial<UpstreamLimits> = {}) =>
  new UpstreamLanes<string>({ ...UPSTREAM_LIMITS, ...limits })
const task = (lane: UpstreamLane, value: string, key = value, bytes = 10): Task<string> => ({
  ...{ lane, key, bytes, value, isAgents: false },
})
const valuesOf = (tasks: readonly (Task<string> | undefined)[]) => tasks.map(task => task?.value)

t.test('the Lease, then requests, then Events', t => {
  const lanes = makeLanes()
  t.equal(lanes.isIdle, true)
  for (const lane of ['event', 'request', 'lease'] as const) lanes.push(task(lane, lane))
  t.strictSame([lanes.messages, lanes.bytes, lanes.isIdle], [3, 30, false])
  t.equal(lanes.takeLease()?.value, 'lease')
  t.equal(lanes.takeLease(), undefined)
  t.strictSame(valuesOf([lanes.takeOther(), lanes.takeOther(), lanes.takeOther()]), [
    'request',
    'event',
    undefined,
  ])
  t.strictSame([lanes.messages, lanes.bytes, lanes.isIdle], [0, 0, false])
  for (const lane of ['event', 'request', 'lease'] as const) lanes.done(task(lane, lane))
  t.equal(lanes.isIdle, true)
  t.end()
})

t.test('one request per object at a time, four per node; its Lease does not wait for them', t => {
  const lanes = makeLanes()
  const first = task('request', 'a1', 'a')
  for (const one of [first, task('request', 'a2', 'a'), task('request', 'b')]) lanes.push(one)
  t.strictSame(valuesOf([lanes.takeOther(), lanes.takeOther(), lanes.takeOther()]), [
    'a1',
    'b',
    undefined,
  ])
  lanes.done(first)
  t.equal(lanes.takeOther()?.value, 'a2')
  for (const name of ['c', 'd', 'e']) lanes.push(task('request', name))
  lanes.push(task('lease', 'lease'))
  t.strictSame(valuesOf([lanes.takeOther(), lanes.takeOther(), lanes.takeOther()]), [
    'c',
    'd',
    undefined,
  ])
  t.equal(lanes.takeLease()?.value, 'lease')
  t.end()
})

t.test('agents leave one of the four requests to the pods of their node', t => {
  const lanes = makeLanes()
  const agents = ['a', 'b', 'c', 'd'].map(name => ({ ...task('request', name), isAgents: true }))
  for (const one of [...agents, task('request', 'pod'), task('request', 'more')]) lanes.push(one)
  const take = () => lanes.takeOther()?.value
  t.strictSame([take(), take(), take(), take(), take()], ['a', 'b', 'c', 'pod', undefined])
  lanes.done(agents[1]!)
  t.equal(take(), 'd')
  lanes.done(agents[0]!)
  t.equal(take(), 'more')
  for (const one of [agents[2]!, agents[3]!, task('request', 'pod'), task('request', 'more')])
    lanes.done(one)
  t.ok(lanes.isIdle)
  t.end()
})

t.test('after some requests an Event is sent', t => {
  const lanes = makeLanes({ eventEvery: 3 })
  for (let index = 0; index < 7; index++) lanes.push(task('request', `r${index}`))
  lanes.push(task('event', 'e0'))
  lanes.push(task('event', 'e1'))
  const order: string[] = []
  for (let one = lanes.takeOther(); one !== undefined; one = lanes.takeOther()) {
    order.push(one.value)
    lanes.done(one)
  }
  t.strictSame(order, ['r0', 'r1', 'r2', 'e0', 'r3', 'r4', 'r5', 'e1', 'r6'])
  t.end()
})

t.test('when the queue is full, Events are dropped first, then the socket is paused', t => {
  const lanes = makeLanes({ maxMessages: 4 })
  t.strictSame([lanes.isFull, lanes.mayResume], [false, true])
  for (const name of ['e0', 'e1', 'e2']) t.strictSame(lanes.push(task('event', name)), [])
  t.strictSame(lanes.push(task('request', 'r0')), [])
  t.equal(lanes.isFull, true)
  t.strictSame(valuesOf(lanes.push(task('request', 'r1'))), ['e0'], 'the oldest')
  t.strictSame(valuesOf(lanes.push(task('event', 'e3'))), ['e1'])
  for (const name of ['r2', 'r3', 'r4']) lanes.push(task('request', name))
  t.equal(lanes.messages, 5, 'what came before the socket stopped is kept')
  t.strictSame(
    valuesOf(lanes.push(task('event', 'e4'))),
    ['e4'],
    'an Event that finds no room is dropped itself',
  )
  t.strictSame([lanes.isFull, lanes.mayResume], [true, false])
  for (let count = 0; count < 3; count++) lanes.done(lanes.takeOther()!)
  t.strictSame([lanes.messages, lanes.isFull, lanes.mayResume], [2, false, true])
  t.end()
})

t.test('bytes count as well', t => {
  const lanes = makeLanes({ maxBytes: 100 })
  lanes.push(task('request', 'r', 'r', 60))
  t.strictSame([lanes.isFull, lanes.mayResume], [false, false])
  t.strictSame(valuesOf(lanes.push(task('event', 'e', 'e', 60))), ['e'])
  lanes.push(task('request', 'large', 'large', 40))
  t.equal(lanes.isFull, true)
  t.end()
})

t.test('only Events are dropped, and requests about one object stay in order', t => {
  const step = fc.oneof(
    fc
      .tuple(fc.constantFrom<UpstreamLane>('lease', 'request', 'event'), fc.nat(3))
      .map(([lane, key]) => ({ kind: 'push' as const, lane, key: `${lane} ${key}` })),
    fc.constant({ kind: 'take' as const }),
    fc.nat(5).map(index => ({ kind: 'done' as const, index })),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), steps => {
      const lanes = makeLanes({ maxMessages: 6, inFlight: 2 })
      const pushed: Task<string>[] = []
      const taken: Task<string>[] = []
      const running: Task<string>[] = []
      const dropped: Task<string>[] = []
      const take = () => {
        const task = lanes.takeLease() ?? lanes.takeOther()
        if (task === undefined) return false
        t.notOk(
          running.some(({ key }) => key === task.key),
          'one of each object',
        )
        taken.push(task)
        running.push(task)
        return true
      }
      const end = (index: number) => {
        const [task] = running.splice(index % Math.max(running.length, 1), 1)
        if (task !== undefined) lanes.done(task)
      }
      for (const step of steps)
        if (step.kind === 'push') {
          const one = task(step.lane, String(pushed.length), step.key)
          pushed.push(one)
          dropped.push(...lanes.push(one))
        } else if (step.kind === 'take') take()
        else end(step.index)
      while (take() || running.length > 0) end(0)
      t.equal(lanes.isIdle, true)
      t.ok(dropped.every(({ lane }) => lane === 'event'))
      t.equal(taken.length + dropped.length, pushed.length)
      for (const key of new Set(pushed.map(({ key }) => key))) {
        const order = (tasks: readonly Task<string>[]) =>
          tasks.filter(task => task.key === key && !dropped.includes(task))
        t.strictSame(order(taken), order(pushed))
      }
    }),
  )
  t.end()
})
