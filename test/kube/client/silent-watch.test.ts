// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  bookmark,
  ended,
  event,
  eventually,
  gone,
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
  t.match(
    log.lines.filter(({ message }) => message === 'a full list is needed'),
    [{ fields: { why: 'silence' } }],
  )
  t.notOk(
    log.lines.some(line => line.level === 'warn'),
    'a quiet server is nothing to warn of',
  )
})

const QUIET = { bookmarks: false, watchMs: 7_200_000 }

t.test('quiet watches that break are resumed, however often something cuts them', async t => {
  const { server, clock, state, waitedFor, watching } = await setUp(
    t,
    [list('7', ['a']), open(), open(), open(), open()],
    { watch: QUIET },
  )
  for (const [watch, lastsMs] of [130_000, 50_000, 50_000].entries()) {
    await waitedFor(watch + 1)
    await state('watching')
    await clock.advance(lastsMs)
    server.asked[watch + 1]!.reset()
    await state('backing-off')
  }
  await waitedFor(4)
  t.equal(server.asked[4]!.query.get('resourceVersion'), '7')
  t.equal(watching.status.lists, 1)
})

t.test('a list ends a row of silent watches', async t => {
  const { server, clock, state, waitedFor, watching, log } = await setUp(t, [
    ...[list('7', ['a']), open(), ended(gone), list('9', ['a']), open(), open()],
  ])
  await server.request(1)
  for (const watch of [1, 4]) {
    await state('watching')
    await clock.advance(90_000)
    await server.asked[watch]!.gone
    await waitedFor(watch === 1 ? 4 : 5)
  }
  t.equal(server.asked[5]!.query.get('resourceVersion'), '9')
  t.equal(watching.status.lists, 2)
  t.match(
    log.lines.filter(({ message }) => message === 'a full list is needed'),
    [{ level: 'debug', fields: { what: 'nodes', why: 'status 410' } }],
  )
})

t.test(
  'objects older than where their watch began change nothing, and a list follows the watch',
  async t => {
    const { sink, waitedFor, log } = await setUp(t, [
      list('10', ['a', 'b']),
      ended(
        event('ADDED', 'a', '9'),
        event('ADDED', 'gone', '3'),
        event('MODIFIED', 'b', '11'),
        event('DELETED', 'a', '4'),
        event('ADDED', 'a', '8'),
        event('MODIFIED', 'gone', '4'),
      ),
      list('12', ['b']),
      open(event('ADDED', 'b', '12'), event('ADDED', 'c', '13')),
    ])
    await waitedFor(3)
    await sink.until(7)
    t.same(sink.changes, ['=a,b', '+b', '-a', '+a', '=b', '+b', '+c'], 'what is anew is not lost')
    t.match(
      log.lines.filter(({ message }) => message === 'a full list is needed'),
      [{ fields: { why: 'the watch came from a cache' } }],
    )
  },
)

t.test('so it does after an object of the very version where its watch began', async t => {
  const { sink, waitedFor } = await setUp(t, [
    list('10', ['a']),
    ended(event('ADDED', 'a', '10')),
    list('12', ['b']),
    open(),
  ])
  await waitedFor(3)
  t.same(sink.changes, ['=a', '+a', '=b'])
})
