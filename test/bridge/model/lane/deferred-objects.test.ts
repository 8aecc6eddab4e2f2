// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { DeferredObjects } from '../../../../bridge/model/lane/deferred-objects.js'

const makeDeferred = () =>
  new DeferredObjects<string>({ deferMs: 10, longestDeferMs: 35 }, ms => ms + 1)
const of = (key: string) => ({ key, uid: key, reason: 'refused' })

t.test('an object waits twice as long each time, up to the longest wait', t => {
  const deferred = makeDeferred()
  const waits = [0, 100, 200, 300].map(now => {
    deferred.defer(of('a'), 'queue of a', now)
    const { nextAt } = deferred
    t.strictSame(deferred.takeDue(nextAt - 1), [], 'not before')
    t.strictSame(deferred.takeDue(nextAt), ['queue of a'])
    return nextAt - now
  })
  t.strictSame(waits, [11, 21, 36, 36])
  t.equal(deferred.nextAt, Infinity)
  t.end()
})

t.test('after a success, or with other content, an object waits as after a first failure', t => {
  for (const startOver of ['succeeded', 'changed'] as const) {
    const deferred = makeDeferred()
    for (const now of [0, 100]) deferred.defer(of('a'), 'queue of a', now)
    deferred[startOver]('a')
    deferred.defer(of('a'), 'queue of a', 200)
    t.match(deferred.list(), [{ times: 1, until: 211 }], startOver)
  }
  t.end()
})

t.test('other content brings a wait forward, but never puts it off', t => {
  const deferred = makeDeferred()
  for (const now of [0, 100, 200]) deferred.defer(of('a'), 'queue of a', now)
  t.equal(deferred.nextAt, 236)
  deferred.changed('a')
  t.equal(deferred.nextAt, 211)
  deferred.changed('a')
  t.equal(deferred.nextAt, 211)
  deferred.changed('unknown')
  t.equal(deferred.list().length, 1)
  t.end()
})

t.test('objects wait apart from each other, and all can be taken at once', t => {
  const deferred = makeDeferred()
  deferred.defer(of('a'), 'queue of a', 0)
  deferred.defer(of('b'), 'queue of b', 5)
  t.strictSame(deferred.takeDue(11), ['queue of a'])
  deferred.defer(of('a'), 'queue of a', 11)
  t.strictSame(deferred.takeAll(), ['queue of b', 'queue of a'])
  t.strictSame(deferred.list(), [])
  deferred.defer(of('a'), 'queue of a', 100)
  t.match(deferred.list(), [{ times: 3, until: 136 }], 'taking all is no success')
  t.end()
})
