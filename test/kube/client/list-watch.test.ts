// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeView } from '../../../core/node.js'
import type { Watching } from '../../../kube/client/watching.js'
import { makeResourceClient } from '../../../kube/client/http-resource-client.js'
import { makeCredentials } from '../../../kube/client/credentials.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { answer, refusal, startScripted, type Step } from '../../../testkit/http/scripted-server.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

import {
  node,
  list,
  event,
  bookmark,
  gone,
  open,
  ended,
  recordingSink,
  eventually,
  NODES,
  setUp,
} from '../../../testkit/kube/scripted-watch.js'

t.test('a list in pages, then a watch from its version', async t => {
  const { server, sink, watching, clock } = await setUp(
    t,
    [
      list('10', ['a', 'b'], 'more'),
      list('10', ['c']),
      open(event('MODIFIED', 'b', '11'), event('DELETED', 'a', '12'), event('ADDED', 'd', '13')),
    ],
    { pick: { selector: 'zone in (x,y)' } },
  )
  const before = { state: 'listing', lastHeardAt: -Infinity, lists: 0, trouble: undefined }
  t.same(watching.status, { ...before, isAway: false })
  await sink.until(4)
  t.same(sink.changes, ['=a,b,c', '+b', '-a', '+d'])
  const [first, second, watch] = server.asked
  t.equal(first!.query.get('limit'), '200')
  t.equal(first!.query.get('labelSelector'), 'zone in (x,y)')
  t.equal(second!.query.get('continue'), 'more')
  t.match(Object.fromEntries(watch!.query), {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: '10',
    labelSelector: 'zone in (x,y)',
  })
  const seconds = Number(watch!.query.get('timeoutSeconds'))
  t.ok(seconds >= 300 && seconds <= 600, 'the watch ends itself after 5 to 10 minutes')
  t.match(watching.status, { state: 'watching', lists: 1, lastHeardAt: clock.now() })
})

// The rows of what may happen to a watch, and what must follow: [what happens, the script, what the sink is told,
// the version that the last watch starts from, lists in all].
const reset = { kind: 'reset' } as const
const LONG_AGO = 'Thu, 01 Jan 2026 00:00:00 GMT'
const rows: [why: string, steps: Step[], changes: string[], from: string, lists: number][] = [
  [
    'the server ends the watch: the next one resumes from the last event',
    [list('1', ['a']), ended(event('ADDED', 'b', '5')), open(event('ADDED', 'c', '6'))],
    ['=a', '+b', '+c'],
    '5',
    1,
  ],
  [
    'the server ends the watch after a bookmark: the next one resumes from there',
    [list('1', ['a']), ended(bookmark('9')), open(event('ADDED', 'c', '10'))],
    ['=a', '+c'],
    '9',
    1,
  ],
  [
    'the connection is reset: resume',
    [
      list('1', ['a']),
      { kind: 'stream', lines: [event('ADDED', 'b', '5')], then: 'reset' },
      open(event('ADDED', 'c', '6')),
    ],
    ['=a', '+b', '+c'],
    '5',
    1,
  ],
  [
    'the connection is closed in the middle: resume',
    [
      list('1', ['a']),
      { kind: 'stream', lines: [event('ADDED', 'b', '5')], then: 'cut' },
      open(event('ADDED', 'c', '6')),
    ],
    ['=a', '+b', '+c'],
    '5',
    1,
  ],
  [
    'the watch is answered 410: list again',
    [list('1', ['a']), refusal(410, 'Expired'), list('7', ['b']), open(event('ADDED', 'c', '8'))],
    ['=a', '=b', '+c'],
    '7',
    2,
  ],
  [
    'an ERROR 410 and the end: list again',
    [list('1', ['a']), ended(gone), list('7', ['b']), open(event('ADDED', 'c', '8'))],
    ['=a', '=b', '+c'],
    '7',
    2,
  ],
  [
    'an ERROR 410 and the connection stays open: list again',
    [list('1', ['a']), open(gone), list('7', ['b']), open(event('ADDED', 'c', '8'))],
    ['=a', '=b', '+c'],
    '7',
    2,
  ],
  [
    'an ERROR 500: resume',
    [
      list('1', ['a']),
      open({ type: 'ERROR', object: { code: 500, reason: 'InternalError' } }),
      open(event('ADDED', 'c', '8')),
    ],
    ['=a', '+c'],
    '1',
    1,
  ],
  ...[401, 403, 429, 500].map((code): (typeof rows)[number] => [
    `the watch is answered ${code}: resume`,
    [list('1', ['a']), refusal(code, 'No'), open(event('ADDED', 'c', '8'))],
    ['=a', '+c'],
    '1',
    1,
  ]),
  ...[502, 503].map((code): (typeof rows)[number] => [
    `the watch is answered ${code}, and the store is as new as before: resume`,
    [list('7', ['a']), refusal(code, 'No'), list('7', []), open(event('ADDED', 'c', '8'))],
    ['=a', '+c'],
    '7',
    1,
  ]),
  [
    'the server is away, and a cache answers that kept an older version: resume',
    [
      ...[list('7', ['a']), refusal(503, 'No')],
      answer({ metadata: { resourceVersion: '6' }, items: [] }, { headers: { date: LONG_AGO } }),
      open(event('ADDED', 'c', '8')),
    ],
    ['=a', '+c'],
    '7',
    1,
  ],
  [
    'the server was away, knows no rules yet, and has an older store: list again, not from its memory',
    [
      ...[list('7', ['a']), refusal(503, 'No'), refusal(403, 'No'), list('6', [])],
      ...[list('6', ['b']), open(bookmark('7'))],
    ],
    ['=a', '=b'],
    '6',
    2,
  ],
  [
    'the watch is answered 500 four times: list again',
    [
      ...[list('1', ['a']), ...Array.from({ length: 4 }, () => refusal(500, 'No'))],
      ...[list('2', ['b']), open(event('ADDED', 'c', '8'))],
    ],
    ['=a', '=b', '+c'],
    '2',
    2,
  ],
  [
    'an outage, then the watch is answered 500: resume',
    [
      ...[list('1', ['a']), ...Array.from({ length: 4 }, () => ({ kind: 'reset' }) as const)],
      ...[list('1', []), refusal(500, 'No'), open(event('ADDED', 'c', '8'))],
    ],
    ['=a', '+c'],
    '1',
    1,
  ],
  [
    'one server behind the address answers 500 each time, the other none: list again',
    [
      list('1', ['a']),
      // A connection that was kept is tried once more.
      ...Array.from({ length: 3 }, () => [refusal(500, 'No'), reset, reset]).flat(),
      ...[refusal(500, 'No'), list('2', []), list('2', ['b']), open(event('ADDED', 'c', '8'))],
    ],
    ['=a', '=b', '+c'],
    '2',
    2,
  ],
  [
    'the watch is answered 400: list again',
    [list('1', ['a']), refusal(400, 'BadRequest'), list('2', ['b']), open(bookmark('3'))],
    ['=a', '=b'],
    '2',
    2,
  ],
  ...[401, 403, 429, 500].map((code): (typeof rows)[number] => [
    `the list is answered ${code}: list again`,
    [refusal(code, 'No'), list('2', ['b']), open(event('ADDED', 'c', '8'))],
    ['=b', '+c'],
    '2',
    1,
  ]),
  [
    'the list is reset: list again',
    [{ kind: 'reset' }, list('2', ['b']), open(bookmark('3'))],
    ['=b'],
    '2',
    1,
  ],
  [
    'the list is not JSON, then no list: list again',
    [answer('<html>'), answer({ items: {} }), list('2', ['b']), open(bookmark('3'))],
    ['=b'],
    '2',
    1,
  ],
  [
    'a continue page is answered 410: the list starts again and is handed over once',
    [
      list('1', ['a'], 'x'),
      refusal(410, 'Expired'),
      list('2', ['a'], 'y'),
      list('2', ['b']),
      open(event('ADDED', 'c', '8')),
    ],
    ['=a,b', '+c'],
    '2',
    1,
  ],
  [
    'a line is no JSON: list again',
    [list('1', ['a']), open('{"type":"ADDED","obj'), list('2', ['b']), open(bookmark('3'))],
    ['=a', '=b'],
    '2',
    2,
  ],
  [
    'a line is no event: list again',
    [list('1', ['a']), open({ type: 'ADDED' }), list('2', ['b']), open(bookmark('3'))],
    ['=a', '=b'],
    '2',
    2,
  ],
  [
    'an event without a version: list again',
    [
      list('1', ['a']),
      open({ type: 'ADDED', object: { metadata: { name: 'x' } } }),
      list('2', ['b']),
      open(bookmark('3')),
    ],
    ['=a', '=b'],
    '2',
    2,
  ],
  [
    'a bookmark of an older version, so the store is another one: list again',
    [list('10', ['a']), open(bookmark('9')), list('9', ['b']), open(event('ADDED', 'c', '10'))],
    ['=a', '=b', '+c'],
    '9',
    2,
  ],
  [
    'an event of an unknown type: list again',
    [list('1', ['a']), open(event('RENAMED', 'a', '2')), list('2', ['b']), open(bookmark('3'))],
    ['=a', '=b'],
    '2',
    2,
  ],
]
for (const [why, steps, changes, from, lists] of rows) {
  t.test(why, async t => {
    const { server, sink, watching, waitedFor, state } = await setUp(t, steps)
    const waited = await waitedFor(steps.length - 1)
    await sink.until(changes.length)
    await state('watching')
    t.same(sink.changes, changes)
    for (const { query, headers } of server.asked)
      if (query.has('fieldSelector')) t.equal(headers['user-agent'], 'edge-health-store-version')
    t.equal(server.asked.at(-1)!.query.get('resourceVersion'), from)
    t.equal(watching.status.lists, lists)
    const isImmediate = why.startsWith('a continue page')
    // Each further failure in a row doubles the wait, from half a second on.
    const mostMs = /four times|outage|each time/.test(why) ? 500 * (2 ** 7 - 1) : 2_000
    if (!isImmediate) t.ok(waited >= 350 && waited < mostMs, `after a short wait (${waited} ms)`)
    t.equal(server.asked.length, steps.length, 'no request more than needed')
  })
}

t.test('a line that is cut off at the end of the watch: counted, logged, list again', async t => {
  const { server, sink, log, waitedFor } = await setUp(t, [
    list('1', ['a']),
    open(event('ADDED', 'b', '2')),
    list('3', ['c']),
    open(),
  ])
  await sink.until(2)
  server.asked[1]!.write('{"type":"MODIFIED","object"')
  server.asked[1]!.end()
  await waitedFor(3)
  t.same(sink.changes, ['=a', '+b', '=c'])
  t.match(
    log.lines.find(line => line.level === 'warn'),
    { message: 'watch trouble', fields: { what: 'nodes', brokenLines: 1, error: /cut off/ } },
  )
})

t.test('lines end at \\n alone, wherever chunks are cut, and are bounded', async t => {
  const { server, sink, waitedFor } = await setUp(t, [
    list('1', ['a']),
    open(),
    list('9', []),
    open(),
  ])
  const asked = await server.request(1)
  const text = JSON.stringify({
    type: 'ADDED',
    object: {
      metadata: {
        ...(node('b', '2')['metadata'] as object),
        labels: { x: 'ä\u2028\u2029\u0085ö' },
      },
    },
  })
  t.ok(text.includes('\u2028'))
  for (const byte of Buffer.from(`${text}\n\n`)) asked.write(Buffer.of(byte))
  await sink.until(2)
  t.same(sink.changes, ['=a', '+b'])
  asked.write(Buffer.alloc(9 * 1024 * 1024, 'x'))
  await waitedFor(3)
  t.same(sink.changes, ['=a', '+b', '='])
})

t.test('no headers within the deadline: the next attempt resumes', async t => {
  const { server, sink, clock, waitedFor } = await setUp(t, [
    { kind: 'hang' },
    list('1', ['a']),
    { kind: 'hang' },
    list('1', []),
    open(event('ADDED', 'b', '2')),
  ])
  await server.request(0)
  await clock.advance(30_000)
  await server.asked[0]!.gone
  await waitedFor(2)
  await clock.advance(30_000)
  await server.asked[2]!.gone
  await waitedFor(4)
  await sink.until(2)
  t.same(sink.changes, ['=a', '+b'])
})

t.test('refused connections: waits grow to 30 s, and start anew after a success', async t => {
  const server = await startScripted()
  await server.close()
  const clock = new FakeClock()
  const log = recordingLog()
  const credentials = makeCredentials({ masterUrl: server.url, environment: {} }, { clock, log })
  const seams = { credentials, clock, log, random: seededRandom(3) }
  const api = makeResourceClient(seams, { fieldManager: 'test' })
  const watching = api.watch(NODES, {}, recordingSink())
  for (const nominal of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    await eventually(() => watching.status.state === 'backing-off')
    const { waitMs } = log.lines.at(-1)!.fields as { waitMs: number }
    t.ok(waitMs >= 0.7 * nominal && waitMs <= nominal, `${waitMs} ms is about ${nominal} ms`)
    await clock.advance(waitMs + 1)
  }
  t.match(watching.status, { trouble: /ECONNREFUSED/, isAway: true })
  t.equal(log.lines.filter(line => line.level === 'warn').length, 1, 'warned once')
  await api.close()
})

t.test('a server that ends each watch at once is not asked in a loop', async t => {
  const { server, clock, state, sink, watching } = await setUp(t, [
    list('1', ['a']),
    ...Array.from({ length: 50 }, (_, i) => ended(bookmark(String(i + 2)))),
  ])
  for (let second = 0; second < 120; second++) {
    await state('backing-off')
    await clock.advance(1_000)
  }
  t.ok(server.asked.length <= 12, `${server.asked.length} requests in two minutes`)
  t.same(sink.changes, ['=a'])
  t.match(watching.status.trouble, /ended the watch at once/)
})

t.test('a watch that lives resets the waits and says that it is well', async t => {
  const { server, clock, waitedFor, state, log, watching } = await setUp(t, [
    ...Array.from({ length: 5 }, () => refusal(503, 'ServiceUnavailable')),
    list('1', ['a']),
    open(),
    ended(),
    open(),
  ])
  await waitedFor(6)
  await state('watching')
  await clock.advance(5_000)
  t.match(log.lines.at(-1), { level: 'info', message: 'watch recovered' })
  t.match(watching.status, { trouble: undefined, isAway: false })
  server.asked[6]!.end()
  t.equal(await waitedFor(7), 0, 'a watch that ends in the course of things is resumed at once')
  const waited = await waitedFor(8)
  t.ok(waited >= 350 && waited <= 700, `the waits are short again (${waited} ms)`)
})

t.test(
  'a 410 after a long cut: the list follows soon; a server that always says 410 has to wait',
  async t => {
    const { server, waitedFor, state } = await setUp(t, [
      list('1', ['a']),
      open(),
      ...Array.from({ length: 6 }, () => refusal(503, 'ServiceUnavailable')),
      list('1', []),
      refusal(410, 'Expired'),
      ...Array.from({ length: 4 }, () => [list('2', ['a']), open(gone)]).flat(),
    ])
    await state('watching')
    server.asked[1]!.reset()
    t.ok((await waitedFor(8)) > 15_000, 'the waits have grown')
    t.ok((await waitedFor(10)) <= 550, 'the list comes soon')
    for (const [n, most] of [
      [12, 1_100],
      [14, 2_100],
      [16, 4_100],
    ] as const) {
      const waited = await waitedFor(n)
      t.ok(waited >= most * 0.6 && waited <= most, `${waited} ms`)
    }
  },
)

t.test('Retry-After is honoured, within reason', async t => {
  const { waitedFor } = await setUp(t, [
    refusal(429, 'TooManyRequests', { 'retry-after': '17' }),
    refusal(503, 'ServiceUnavailable', { 'retry-after': 'Thu, 01 Jan 2026 00:00:42 GMT' }),
    refusal(503, 'ServiceUnavailable', { 'retry-after': '86400' }),
    refusal(503, 'ServiceUnavailable', { 'retry-after': 'soon' }),
    list('1', ['a']),
  ])
  const within = (ms: number, low: number, high: number): void => {
    t.ok(ms >= low && ms <= high, `${ms} is within ${low} and ${high}`)
  }
  within(await waitedFor(1), 16_900, 17_100)
  within(await waitedFor(2), 24_000, 26_000)
  within(await waitedFor(3), 299_000, 301_000)
  within(await waitedFor(4), 2_000, 6_000)
})

t.test('objects that are broken are left out, named and logged once', async t => {
  const broken = { metadata: { name: 'bad', uid: 'u', resourceVersion: 3 } }
  const { sink, log } = await setUp(t, [
    answer({ metadata: { resourceVersion: '1' }, items: [node('a'), broken, null] }),
    open(
      {
        type: 'MODIFIED',
        object: { ...broken, metadata: { ...broken.metadata, resourceVersion: '2', labels: 1 } },
      },
      {
        type: 'MODIFIED',
        object: { ...broken, metadata: { ...broken.metadata, resourceVersion: '3', labels: 1 } },
      },
      event('MODIFIED', 'bad', '4'),
      event('DELETED', 'bad', '5'),
    ),
  ])
  await sink.until(3)
  t.same(sink.changes, ['=a', '+bad', '-bad'])
  t.match(
    log.lines.filter(line => line.message === 'object left out').map(line => line.fields),
    [
      { what: 'nodes', name: 'bad', error: /Node: metadata\.resourceVersion must be string/ },
      { name: '', error: /Node must be Object/ },
      { name: 'bad', error: /metadata\.labels/ },
    ],
  )
})

t.test('a receiver that throws is a bug in the log and ends nothing', async t => {
  const inner = recordingSink()
  const boom = (): never => {
    throw new Error('boom')
  }
  const sink = {
    ...inner,
    replace: (items: readonly NodeView[]) => {
      inner.replace(items)
      boom()
    },
    upsert: (item: NodeView) => {
      inner.upsert(item)
      boom()
    },
  }
  const { log } = await setUp(
    t,
    [list('1', ['a']), open(event('ADDED', 'b', '2'), event('DELETED', 'a', '3'))],
    { sink },
  )
  await inner.until(3)
  t.same(inner.changes, ['=a', '+b', '-a'])
  t.equal(
    log.lines.filter(line => line.level === 'error' && line.message.startsWith('bug')).length,
    2,
  )
})

t.test('stop means stop', async t => {
  const stopped: [
    when: string,
    steps: Step[],
    ready: (s: Awaited<ReturnType<typeof setUp>>) => Promise<unknown>,
  ][] = [
    ['before the first request', [list('1', ['a'])], () => Promise.resolve()],
    ['during the list', [{ kind: 'hang' }], s => s.server.request(0)],
    ['during a page', [list('1', ['a'], 'x'), { kind: 'hang' }], s => s.server.request(1)],
    [
      'before the headers of the watch',
      [list('1', ['a']), { kind: 'hang' }],
      s => s.server.request(1),
    ],
    ['during the watch', [list('1', ['a']), open()], s => s.state('watching')],
    ['while it waits', [refusal(500, 'InternalError')], s => s.state('backing-off')],
  ]
  for (const [when, steps, ready] of stopped) {
    const s = await setUp(t, steps)
    await ready(s)
    const changes = s.sink.changes.length
    const asked = s.server.asked.length
    const ending = s.watching.stop()
    t.equal(s.watching.status.state, 'stopped', when)
    s.server.asked.at(-1)?.line(event('ADDED', 'late', '99'))
    await ending
    await s.watching.stop()
    await eventually(() => s.server.open === 0 || !['hang', 'stream'].includes(steps.at(-1)!.kind))
    t.equal(s.clock.waiting, 0, `${when}: no timer is left`)
    await s.clock.advance(600_000)
    t.equal(s.sink.changes.length, changes, `${when}: nothing is told after it`)
    t.equal(s.server.asked.length, asked, `${when}: nothing is asked after it`)
    t.equal(s.watching.status.state, 'stopped')
  }
})

t.test('stop from inside the sink: the rest of the chunk is not handed over', async t => {
  const inner = recordingSink()
  const handle: { watching?: Watching; ending?: Promise<void> } = {}
  const sink = {
    ...inner,
    upsert: (item: NodeView) => {
      inner.upsert(item)
      handle.ending = handle.watching!.stop()
    },
  }
  const { watching, server } = await setUp(
    t,
    [list('1', ['a']), open(event('ADDED', 'b', '2'), event('ADDED', 'c', '3'))],
    { sink },
  )
  handle.watching = watching
  await inner.until(2)
  await handle.ending
  await eventually(() => server.open === 0)
  t.same(inner.changes, ['=a', '+b'])
})

t.test(
  "a list as KubeEdge's MetaServer keeps it has no version: it is taken, and read again after each watch",
  async t => {
    const kept = (...names: string[]) =>
      answer({
        apiVersion: 'v1',
        kind: 'ConfigmapList',
        metadata: {},
        items: names.map(name => node(name)),
      })
    const { server, sink, waitedFor } = await setUp(t, [
      kept('a', 'b'),
      ended(event('ADDED', 'c', '7')),
      kept('a', 'c'),
      open(),
    ])
    await waitedFor(3)
    t.same(sink.changes, ['=a,b', '+c', '=a,c'])
    const versions = server.asked.map(({ query }) => query.get('resourceVersion'))
    t.same(versions, [null, '', null, ''])
  },
)

t.test('what is no list is none, also without a version', async t => {
  const { watching, state } = await setUp(t, [answer({ kind: 'Status', metadata: {} })])
  await state('backing-off')
  t.match(watching.status, { trouble: /no list of the Kubernetes API/, isAway: false })
})
