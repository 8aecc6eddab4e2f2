// SPDX-License-Identifier: Apache-2.0
// A list/watch over HTTP/2. What it does with each answer: list-watch.test.ts.
import t from 'tap'
import { event, eventually, list, open, setUp } from '../../../testkit/kube/scripted-watch.js'

const OVER_HTTP2 = { hasHttp2: true }

t.test('it lists, and follows, over one connection', async t => {
  const { server, sink, state } = await setUp(
    t,
    [list('1', ['a', 'b']), open(event('ADDED', 'c', '2'))],
    OVER_HTTP2,
  )
  await sink.until(2)
  await state('watching')
  server.asked[1]!.line(event('DELETED', 'a', '3'))
  await sink.until(3)
  t.same(sink.changes, ['=a,b', '+c', '-a'])
  t.equal(server.connections, 1)
})

for (const [how, cut] of [
  ['is reset', (server: { resetAll(): void }) => server.resetAll()],
  ['ends the watch', (server: { asked: readonly { end(): void }[] }) => server.asked[1]!.end()],
] as const)
  t.test(`the server ${how}: the watch is resumed where it was`, async t => {
    const { server, sink, state, clock } = await setUp(
      t,
      [list('1', ['a']), open(event('ADDED', 'b', '2')), open(event('ADDED', 'c', '3'))],
      OVER_HTTP2,
    )
    await sink.until(2)
    await state('watching')
    cut(server)
    await state('backing-off')
    await clock.advance(1_000)
    await sink.until(3)
    t.equal(server.asked[2]!.query.get('resourceVersion'), '2')
    t.same(sink.changes, ['=a', '+b', '+c'])
  })

t.test('a list that is cut off is not handed over', async t => {
  const half = { kind: 'stream', lines: ['{"metadata":{"resourceVersion":"1"},"items":['] } as const
  const { server, sink, state, clock } = await setUp(
    t,
    [{ ...half, then: 'reset' }, list('2', ['a']), open()],
    OVER_HTTP2,
  )
  await state('backing-off')
  await clock.advance(1_000)
  await server.request(2)
  t.same(sink.changes, ['=a'])
})

t.test('once stopped, the watch ends at the server', async t => {
  const { server, watching, state } = await setUp(t, [list('1', ['a']), open()], OVER_HTTP2)
  await state('watching')
  await watching.stop()
  await server.asked[1]!.gone
  await eventually(() => watching.status.state === 'stopped')
  t.equal(server.open, 1, 'the connection stays for other calls')
})

t.test('signs of life without an answer leave the connection of others alone', async t => {
  const hang = { kind: 'hang' } as const
  const { server, api, clock, state } = await setUp(
    t,
    [list('1', ['a']), open(), hang, hang, hang, list('1', ['a'])],
    OVER_HTTP2,
  )
  await state('watching')
  const { signal } = new AbortController()
  for (const n of [2, 3, 4]) {
    const late = t.rejects(api.ping(signal))
    await server.request(n)
    await clock.advance(15_000)
    await late
    await server.asked[n]!.gone
  }
  await server.pinged()
  const nodes = { group: '', version: 'v1', resource: 'nodes', parse: (raw: unknown) => raw }
  await api.list(nodes, {}, signal)
  t.equal(server.connections, 4, 'each of them had one of its own')
})
