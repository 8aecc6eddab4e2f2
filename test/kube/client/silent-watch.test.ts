// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  bookmark,
  event,
  eventually,
  list,
  open,
  setUp,
} from '../../../testkit/kube/scripted-watch.js'

t.test('an endless silence asks for a list, also where something ends silent watches', async t => {
  const { server, sink, clock, watching } = await setUp(t, [
    ...[list('7', ['a']), open(), open(), open(), open()],
    ...[list('5', ['b']), open(event('ADDED', 'c', '6'))],
  ])
  for (let watch = 1; watch <= 4; watch++) {
    await server.request(watch)
    await eventually(() => watching.status.state === 'watching')
    await clock.advance(50_000)
    server.asked[watch]!.end()
  }
  await sink.until(3)
  t.same(sink.changes, ['=a', '=b', '+c'])
})

t.test('a silent watch is closed and resumed; an endless silence asks for a list', async t => {
  const { server, sink, clock, watching, waitedFor, log } = await setUp(t, [
    list('1', ['a']),
    open(bookmark('4')),
    open(),
    open(),
    list('5', ['b']),
    open(event('ADDED', 'c', '6')),
  ])
  await server.request(1)
  await eventually(() => watching.status.state === 'watching')
  await clock.advance(80_000)
  server.asked[1]!.line(bookmark('5'))
  await eventually(() => watching.status.lastHeardAt === clock.now())
  await clock.advance(80_000)
  t.equal(watching.status.state, 'watching', 'a bookmark keeps it')
  await clock.advance(11_000)
  await server.asked[1]!.gone
  t.match(watching.status.trouble, /nothing heard for 90000 ms/)
  await waitedFor(2)
  t.equal(server.asked[2]!.query.get('resourceVersion'), '5')
  for (const n of [2, 3]) {
    await eventually(() => watching.status.state === 'watching')
    await clock.advance(90_000)
    await server.asked[n]!.gone
    await waitedFor(n + 1)
  }
  await sink.until(3)
  t.same(sink.changes, ['=a', '=b', '+c'])
  t.notOk(
    log.lines.some(line => line.level === 'warn'),
    'a quiet server is nothing to warn of',
  )
})
