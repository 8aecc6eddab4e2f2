// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Sink } from '../../../bridge/run/sink.js'
import { Terms } from '../../../bridge/run/term.js'
import type { NodeLink } from '../../../bridge/hub/node-link.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { said } from './upstream/upstream-stage.js'

const openTerms = () => {
  const clock = new FakeClock()
  const did: string[] = []
  const lease = { holder: 'us' }
  const program = new AbortController()
  const terms = new Terms({
    ...{ clock, log: recordingLog(), signal: program.signal },
    hub: {
      serve: () => did.push('serve'),
      pause: () => did.push('pause'),
      standBy: () => did.push('stand by'),
      status: { connected: 1 } as never,
    },
    sink: { begin: () => did.push('begin'), pause: () => did.push('end') },
    leader: () => ({ isLeading: lease.holder === 'us', trouble: undefined, ...lease }),
  })
  return { clock, did, lease, program, terms }
}

t.test('edges stay connected for a minute to a bridge whose Lease nobody took', async t => {
  const { clock, did, terms } = openTerms()
  terms.end()
  t.strictSame(did, [], 'there was no term')
  terms.begin()
  t.equal(terms.isServing, true)
  terms.end()
  t.equal(terms.isServing, false)
  await clock.advance(59_000)
  t.strictSame(did, ['begin', 'serve', 'end', 'pause'])
  await clock.advance(2_000)
  t.equal(did.at(-1), 'stand by')
})

t.test('edges are disconnected when another bridge leads', async t => {
  const { clock, did, lease, terms } = openTerms()
  terms.begin()
  terms.end()
  await clock.advance(5_000)
  t.equal(did.at(-1), 'pause')
  lease.holder = 'them'
  await clock.advance(1_000)
  t.equal(did.at(-1), 'stand by')
})

t.test('edges stay connected if the next term begins in time', async t => {
  const { clock, did, terms } = openTerms()
  terms.begin()
  terms.end()
  await clock.advance(20_000)
  terms.begin()
  await clock.advance(120_000)
  t.strictSame(did, ['begin', 'serve', 'end', 'pause', 'begin', 'serve'])
})

t.test('a program that ends disconnects edges at once', async t => {
  for (const whenMs of [0, 5_000]) {
    const { clock, did, program, terms } = openTerms()
    terms.begin()
    if (whenMs === 0) program.abort()
    terms.end()
    await clock.advance(whenMs)
    program.abort()
    await clock.advance(0)
    t.equal(did.at(-1), 'stand by')
  }
})

t.test('to downstream a connection lasts no longer than a term', t => {
  const heard: string[] = []
  const note = (what: string) => (link: NodeLink) => void heard.push(`${what} ${link.node}`)
  const sink = new Sink(
    {
      ...{ connected: note('up'), ended: note('up gone'), received: note('asked by') },
      caughtUp: note('read by'),
    },
    { connected: note('down'), ended: note('down gone'), acknowledged: note('acknowledged by') },
    { connected: note('watch'), ended: note('watch gone'), acknowledged: note('watch of') },
  )
  const link = (node: string) => ({ node }) as NodeLink
  const [one, two] = [link('e1'), link('e2')]
  const ack = (by: NodeLink) =>
    sink.received(by, said('response', 'x/pod/y'), { kind: 'ack', of: 'm' }, '')
  sink.connected(one)
  ack(one)
  sink.begin()
  sink.connected(two)
  ack(one)
  sink.received(two, said('x', 'y'), { kind: 'unknown', reason: '' }, '')
  sink.caughtUp(two)
  sink.ended(two, 'no keepalive')
  sink.pause()
  sink.pause()
  sink.ended(one, 'no keepalive')
  sink.begin()
  t.strictSame(heard, [
    ...['watch e1', 'up e1', 'watch of e1', 'down e1', 'watch e2', 'up e2', 'down e2'],
    ...['watch of e1', 'acknowledged by e1', 'asked by e2', 'read by e2'],
    ...[
      'watch gone e2',
      'up gone e2',
      'down gone e2',
      'down gone e1',
      'watch gone e1',
      'up gone e1',
    ],
  ])
  t.end()
})
