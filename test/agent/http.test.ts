// SPDX-License-Identifier: Apache-2.0
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { makeLocalApp } from '../../agent/http/local-routes.js'
import { makePeerApp } from '../../agent/http/peer-routes.js'
import { explainText } from '../../agent/text/explain-text.js'
import { statusText } from '../../agent/text/status-text.js'
import type { PeerAnswer } from '../../agent/ports/peer-inbox.js'
import { systemClock, type Clock } from '../../core/clock.js'
import { plain } from '../../core/text.js'
import type { Listener } from '../../net/listen.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { ask, fuzzRoute, sendRaw } from '../../testkit/http/raw-http.js'
import type { Sources } from '../../net/sources.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import { FakeViews, nodeFixture } from '../../testkit/zone/status-fixture.js'

interface PeerWorld {
  readonly port: number
  readonly received: { route: string; body: Uint8Array; from: string }[]
  readonly log: ReturnType<typeof recordingLog>
  answer: PeerAnswer | Error
}

const LIMIT = { gossip: 2_000, vote: 1_000, result: 3_000 } as const

const startPeer = async (t: Test): Promise<PeerWorld> => {
  const log = recordingLog()
  const world: PeerWorld = {
    port: 0,
    received: [],
    log,
    answer: { status: 200, body: 'Received!\n' },
  }
  const handle = makePeerApp({
    clock: systemClock,
    log,
    inbox: {
      isMember: () => true,
      maxBytes: route => LIMIT[route],
      receive: (route, body, from) => {
        world.received.push({ route, body, from })
        if (world.answer instanceof Error) throw world.answer
        return world.answer
      },
    },
  })
  const listener = await openListener({ handle }, { log })
  t.teardown(() => listener.close())
  return Object.assign(world, { port: listener.port })
}

const startLocal = async (
  t: Test,
  clock: Clock = systemClock,
  localinfoTime: 'zero' | 'unix' | 'rfc3339' | 'omit' = 'zero',
  sources?: Sources,
): Promise<{ views: FakeViews; port: number; listener: Listener }> => {
  const views = new FakeViews()
  const log = recordingLog()
  const listener = await openListener(
    makeLocalApp({
      views,
      localinfoTime,
      metricsNodes: 'all',
      namespace: 'edge-system',
      clock,
      log,
      ...(sources === undefined ? {} : { sources }),
    }),
    { log },
  )
  t.teardown(() => listener.close())
  return { views, port: listener.port, listener }
}

t.test('peers: the exchange gets exact bytes and its answer goes back as it is', async t => {
  const world = await startPeer(t)
  world.answer = { status: 409, body: Uint8Array.of(0, 255, 10), headers: { 'X-Boot': '7' } }
  const body = Buffer.from([0, 1, 2, 255])
  const gossip = await ask(world.port, '/v1/gossip', { method: 'POST', body })
  t.equal(gossip.status, 409)
  const asked = { connection: 'close' }
  t.same(gossip.headers, { ...asked, 'x-boot': '7', 'content-length': '3' }, 'nothing for nothing')
  t.strictSame(Buffer.from(world.received[0]!.body), body, 'without a content type')
  t.match(world.received[0], { route: 'gossip', from: '127.0.0.1' })
  await ask(world.port, '/v1/vote', { method: 'POST', body: 'x' })
  t.equal(world.received[1]!.route, 'vote')
})

t.test('peers: an answer on a kept connection has no header but its length', async t => {
  const world = await startPeer(t)
  world.answer = { status: 200, body: Buffer.from('answer') }
  const message = (version: string, more = ''): string =>
    `POST /v1/gossip HTTP/${version}\r\nHost: a\r\n${more}Content-Length: 1\r\n\r\nx`
  const answer = (more = ''): string => `HTTP/1.1 200 OK\r\nContent-Length: 6\r\n${more}\r\nanswer`
  const last = message('1.1', 'Connection: close\r\n')
  t.equal(
    await sendRaw(world.port, `${message('1.1')}${message('1.1')}${last}`),
    `${answer()}${answer()}${answer('Connection: close\r\n')}`,
  )
  const old = await sendRaw(world.port, message('1.0', 'Connection: keep-alive\r\n'), 'answer')
  t.equal(
    old,
    answer('Connection: keep-alive\r\nKeep-Alive: timeout=120\r\n'),
    'HTTP/1.0 must be told',
  )
})

t.test('peers: /result takes any method, with or without a body', async t => {
  const world = await startPeer(t)
  for (const method of ['PUT', 'POST', 'PATCH', 'DELETE']) {
    const { status, text, headers } = await ask(world.port, '/result', { method, body: '{}' })
    t.strictSame([status, text], [200, 'Received!\n'], method)
    t.equal(headers['content-type'], 'text/plain; charset=utf-8')
  }
  const nosniff = { 'X-Content-Type-Options': 'nosniff' }
  world.answer = { status: 402, body: 'EOF\n', headers: nosniff }
  const empty = await ask(world.port, '/result')
  t.strictSame([empty.status, empty.text], [402, 'EOF\n'])
  t.equal(empty.headers['x-content-type-options'], 'nosniff', 'as Go answers errors')
  t.equal(world.received.at(-1)?.body.length, 0)
})

t.test('on the peers’ address there is nothing else', async t => {
  const world = await startPeer(t)
  const paths = [
    '/',
    '/localinfo',
    '/status',
    '/metrics',
    '/probe',
    '/debug/flags/v',
    '/readyz',
    '/v1/gossip/',
    '/V1/gossip',
    '/healthz/x',
    '/%zz',
  ]
  for (const path of paths) {
    const { status, text } = await ask(world.port, path)
    t.strictSame([status, text], [404, '404 page not found\n'], path)
  }
  t.equal((await ask(world.port, '/v1/gossip')).status, 404, 'GET is not a message')
  t.match(await ask(world.port, '/healthz'), { status: 200, text: 'ok\n' })
  t.equal(world.received.length, 0)
})

t.test('sizes are refused before the body is read', async t => {
  const world = await startPeer(t)
  const limit = LIMIT.gossip
  const head = (path: string, more: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n\r\n`
  const big = await sendRaw(world.port, head('/v1/gossip', `Content-Length: ${limit + 1}`))
  t.match(big, /^HTTP\/1\.1 413 .*Connection: close.*body too large\n$/s, 'not one byte was sent')
  t.notMatch(big, /\r\nDate:/)
  t.match(
    await sendRaw(world.port, head('/v1/vote', 'Transfer-Encoding: chunked')),
    /^HTTP\/1\.1 411 /,
  )
  t.match(
    await sendRaw(world.port, head('/result', 'Transfer-Encoding: chunked')),
    /^HTTP\/1\.1 411 /,
  )
  t.match(await sendRaw(world.port, head('/v1/gossip', 'X: y')), /^HTTP\/1\.1 411 /)
  t.match(
    await sendRaw(
      world.port,
      head('/v1/gossip', 'Content-Length: 1\r\nTransfer-Encoding: chunked'),
    ),
    /^HTTP\/1\.1 400 /,
  )
  t.match(await sendRaw(world.port, head('/v1/gossip', 'Content-Length: -1')), /^HTTP\/1\.1 400 /)
  t.match(await sendRaw(world.port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /)
  t.match(
    await sendRaw(world.port, head('/v1/gossip', `X: ${'y'.repeat(9_000)}`)),
    /^HTTP\/1\.1 431 /,
  )
  t.equal(world.received.length, 0)
  const whole = await ask(world.port, '/v1/gossip', { method: 'POST', body: Buffer.alloc(limit) })
  t.equal(whole.status, 200, 'exactly the limit is taken')
  t.equal(world.received[0]?.body.length, limit)
})

t.test('a bug of ours is one short line for the peer and a log line for us', async t => {
  const world = await startPeer(t)
  world.answer = new Error('secret detail')
  const { status, text } = await ask(world.port, '/v1/vote', { method: 'POST', body: 'x' })
  t.strictSame([status, text], [500, 'internal error\n'])
  t.match(world.log.lines, [
    {
      level: 'error',
      message: 'request failed',
      fields: { path: '/v1/vote', error: 'secret detail' },
    },
  ])
})

t.test('fuzzed bodies: every one gets an answer', async t => {
  const world = await startPeer(t)
  const target = { port: world.port, path: '/v1/gossip', method: 'POST' }
  const statuses = await fuzzRoute(target, 500, seededRandom(7), [Buffer.alloc(64, 1)])
  t.strictSame([...statuses], [[200, 500]])
  t.equal(world.received.length, 500)
})

t.test('/localinfo has the contract’s form', async t => {
  const { views, port } = await startLocal(t)
  t.equal(
    (await ask(port, '/localinfo')).text,
    '{}\n',
    'empty before the roster: absent nodes are shown',
  )
  views.setLocal({ 'node-3': false, 'node-1': true })
  for (const method of ['GET', 'POST', 'PUT']) {
    const { status, text, headers } = await ask(port, '/localinfo', { method })
    t.equal(status, 200)
    t.equal(
      text,
      '{"node-1":{"Normal":true,"Hamc":"","Time":"0001-01-01T00:00:00Z"},' +
        '"node-3":{"Normal":false,"Hamc":"","Time":"0001-01-01T00:00:00Z"}}\n',
      method,
    )
    t.equal(headers['content-type'], 'text/plain; charset=utf-8')
    t.notHas(headers, 'date')
  }
})

t.test('/localinfo?interest= names nodes to look at', async t => {
  const { views, port } = await startLocal(t)
  t.equal((await ask(port, '/localinfo?interest=node-1,node-3,')).text, '{}\n')
  t.same(views.interest, ['node-1', 'node-3'])
})

t.test('interest is trusted of root and the own user alone', async t => {
  for (const [key, isTrusted] of [
    ['uid 0', true],
    ['uid 1000', false],
    [undefined, false],
  ] as const) {
    const sources = { keyOf: () => key, isMember: (given: string) => given === 'uid 0' }
    const { views, port } = await startLocal(t, systemClock, 'zero', sources)
    await ask(port, '/localinfo?interest=node-1')
    t.equal(views.isInterestTrusted, isTrusted, `${key}`)
  }
})

t.test('a client that is not known yet is waited for, where it matters who it is', async t => {
  for (const [path, isTrusted] of [
    ['/localinfo?interest=node-1', true],
    ['/localinfo', undefined],
  ] as const) {
    let asked = 0
    const sources = {
      // Known the second time, as after the kernel's table was read again.
      keyOf: () => (++asked > 1 ? 'uid 0' : undefined),
      isMember: (given: string) => given === 'uid 0',
      askAgainMs: () => 1,
    }
    const { views, port } = await startLocal(t, systemClock, 'zero', sources)
    await ask(port, path)
    t.equal(views.isInterestTrusted, isTrusted, path)
    t.equal(asked > 0, isTrusted === true)
  }
})

t.test('/localinfo may say the time in other forms', async t => {
  const rows = [
    ['unix', '{"a":{"Normal":true,"Hamc":"","Time":1767225600}}\n'],
    ['rfc3339', '{"a":{"Normal":true,"Hamc":"","Time":"2026-01-01T00:00:00Z"}}\n'],
    ['omit', '{"a":{"Normal":true,"Hamc":""}}\n'],
  ] as const
  for (const [form, want] of rows) {
    const { views, port } = await startLocal(t, new FakeClock(), form)
    views.setLocal({ a: true })
    t.equal((await ask(port, '/localinfo')).text, want)
  }
})

/** Reads a stream until it has said so many events. */
const openStream = (port: number, path: string) => {
  let got = ''
  let closed = false
  const socket = connect({ port, host: '127.0.0.1' })
  socket.setEncoding('utf8')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  socket.on('data', (chunk: string) => (got += chunk))
  socket.on('error', () => undefined)
  socket.on('close', () => (closed = true))
  const until = async (isThere: () => boolean): Promise<void> => {
    for (let i = 0; i < 2_000 && !isThere(); i++) await settle()
  }
  return {
    /** Events so far, as `event id data`. */
    events: () =>
      [...got.matchAll(/event: (\w+)\nid: (\d+)\ndata: (.*)\n\n/g)].map(([, ...parts]) =>
        parts.join(' '),
      ),
    until,
    text: () => got,
    isClosed: () => closed,
    destroy: () => socket.destroy(),
  }
}

t.test(
  'the stream: a snapshot, then only what changed, a heartbeat, and an end at close',
  async t => {
    const clock = new FakeClock()
    const { views, port, listener } = await startLocal(t, clock, 'omit')
    views.setLocal({ a: true, b: true })
    const stream = openStream(port, '/localinfo?stream=1')
    await stream.until(() => stream.events().length === 1)
    views.setLocal({ b: false })
    views.setLocal({ b: false })
    views.setLocal({ a: null, c: true })
    await stream.until(() => stream.events().length === 3)
    t.strictSame(stream.events(), [
      'snapshot 2 {"a":{"Normal":true,"Hamc":""},"b":{"Normal":true,"Hamc":""}}',
      'change 3 {"b":{"Normal":false,"Hamc":""}}',
      'change 5 {"c":{"Normal":true,"Hamc":""},"a":null}',
    ])
    t.match(stream.text(), /Content-Type: text\/event-stream/)
    await clock.advance(15_000)
    await stream.until(() => stream.text().includes(': still here'))
    t.match(stream.text(), /: still here\n\n/, 'so that a dead connection is noticed')
    const second = openStream(port, '/localinfo?stream=1')
    await second.until(() => second.events().length === 1)
    t.match(second.events()[0], /^snapshot 5 \{"b":.*"c":/, 'who comes later sees everything')
    await listener.close()
    await stream.until(stream.isClosed)
    t.ok(stream.isClosed())
    t.equal(views.listeners.size, 0)
    t.equal(clock.waiting, 0, 'no timer is left')
  },
)

t.test('who holds all streams takes nothing from those that come later', async t => {
  const { views, port } = await startLocal(t, new FakeClock(), 'omit')
  views.setLocal({ n4: true })
  const held = Array.from({ length: 32 }, () => openStream(port, '/localinfo?stream=1'))
  for (const stream of held) await stream.until(() => stream.events().length === 1)
  views.setLocal({ n4: false })
  t.match(await ask(port, '/localinfo?stream=1'), {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    text: '{"n4":{"Normal":false,"Hamc":""}}\n',
  })
  for (const stream of held) stream.destroy()
})

t.test('FA9: the stream sends every change, also across changes of the roster', async t => {
  const { views, port, listener } = await startLocal(t, new FakeClock(), 'omit')
  views.setLocal({ n4: true, n5: true })
  const early = openStream(port, '/localinfo?stream=1')
  await early.until(() => early.events().length === 1)
  views.setLocal({ n4: false })
  // Its Node is deleted and comes back: only the roster says so, and it is up again for all that is known.
  views.setLocal({ n4: null }, 'unheard')
  views.setLocal({ n4: true }, 'unheard')
  const late = openStream(port, '/localinfo?stream=1')
  await late.until(() => late.events().length === 1)
  views.setLocal({ n4: false })
  await late.until(() => late.events().length === 2)
  await early.until(() => early.events().length === 4)
  const [up, down] = ['{"n4":{"Normal":true,"Hamc":""}}', '{"n4":{"Normal":false,"Hamc":""}}']
  t.strictSame(late.events().slice(1), [`change 6 ${down}`], 'it dies again')
  t.strictSame(
    early.events().slice(1),
    [`change 3 ${down}`, `change 5 ${up}`, `change 6 ${down}`],
    'who was there before has missed nothing either',
  )
  await listener.close()
})

t.test('/status: the zone, one node with its voters, and a stream of whole views', async t => {
  const clock = new FakeClock()
  const { views, port } = await startLocal(t, clock)
  t.strictSame(JSON.parse((await ask(port, '/status')).text), views.view)
  views.details = [
    {
      ...nodeFixture(2),
      voters: [{ name: 'node-1', says: 'up', ageSeconds: 1, counts: true, why: null }],
    },
  ]
  const one = JSON.parse((await ask(port, '/status?node=node-2')).text) as Record<string, unknown>
  t.match(one, { self: { name: 'node-1' }, node: { name: 'node-2', voters: [{ says: 'up' }] } })
  t.notHas(one, 'nodes', 'not the whole zone again')
  t.match(await ask(port, '/status?node=nobody'), {
    status: 404,
    text: 'no such node in this zone\n',
  })
  const stream = openStream(port, '/status?stream=1')
  await stream.until(() => stream.events().length === 1)
  for (let i = 0; i < 10; i++) views.changed()
  await clock.advance(250)
  await stream.until(() => stream.events().length === 2)
  t.equal(stream.events().length, 2, 'a burst of changes is one event')
  await clock.advance(5_000)
  await stream.until(() => stream.events().length === 3)
  t.equal(stream.events().length, 3, 'ages grow without changes')
  stream.destroy()
})

t.test('/history: what happened, from an entry on, and as a stream', async t => {
  const { views, port } = await startLocal(t, new FakeClock())
  const entry = (id: number) => ({
    ...({ id, at: '2026-01-01T10:00:00.000Z', kind: 'brake', nodes: [], count: 0 } as const),
    ...{ from: null, to: 'on', text: 'the brake holds' },
  })
  views.happened(entry(1))
  views.happened(entry(2))
  const idsOf = (text: string) =>
    (JSON.parse(text) as { entries: { id: number }[] }).entries.map(({ id }) => id)
  t.strictSame(idsOf((await ask(port, '/history')).text), [1, 2])
  t.strictSame(idsOf((await ask(port, '/history?after=1')).text), [2])
  for (const after of ['', '-1', '1.5', 'x', '9'.repeat(16)])
    t.match(await ask(port, `/history?after=${after}`), {
      status: 400,
      text: `after must be the id of an entry, got "${after}"\n`,
    })
  const stream = openStream(port, '/history?stream=1&after=1')
  await stream.until(() => stream.events().length === 1)
  views.happened(entry(3))
  await stream.until(() => stream.events().length === 2)
  const [first = '', second = ''] = stream.events()
  t.match(first, /^snapshot 2 /)
  t.strictSame(idsOf(first.slice('snapshot 2 '.length)), [2])
  t.match(second, /^entry 3 \{"id":3,/)
  stream.destroy()
})

t.test('texts: the same as the command line prints, and no other format', async t => {
  const { views, port } = await startLocal(t)
  views.details = [{ ...nodeFixture(2), voters: [] }]
  t.match(await ask(port, '/status?format=text'), {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    text: statusText(views.view, plain),
  })
  const explained = explainText({ ...views.zone(), node: views.details[0]! }, plain)
  t.match(await ask(port, '/explain/node-2?format=text'), { status: 200, text: explained })
  t.match(await ask(port, '/status?node=node-2&format=text'), { status: 200, text: explained })
  t.match(JSON.parse((await ask(port, '/explain/node-2')).text), { node: { name: 'node-2' } })
  t.match(await ask(port, '/explain/node-9'), { status: 404, text: 'no such node in this zone\n' })
  for (const path of ['/status?format=xml', '/explain/node-2?format=xml'])
    t.match(await ask(port, path), {
      status: 400,
      text: 'format must be json or text, got "xml"\n',
    })
})

t.test('/readyz is red until the roster is known, and says why; /healthz is not', async t => {
  const { views, port } = await startLocal(t)
  t.match(await ask(port, '/readyz'), { status: 503, text: 'the roster is not known yet\n' })
  t.match(await ask(port, '/healthz'), { status: 200, text: 'ok\n' })
  views.ready = { isReady: true, reason: '5 nodes, from the API' }
  t.match(await ask(port, '/readyz'), { status: 200, text: '5 nodes, from the API\n' })
})

t.test('/debug/flags/v answers as SuperEdge’s does', async t => {
  const { views, port } = await startLocal(t)
  const put = (body: string) => ask(port, '/debug/flags/v', { method: 'PUT', body })
  t.match(await put('4'), { status: 200, text: 'successfully set klog.logging.verbosity to 4' })
  t.equal(views.verbosity, 4)
  t.match(await ask(port, '/debug/flags/v'), { status: 406, text: 'unsupported http method' })
  for (const body of ['', '11', '-1', 'a', '4 ', '9'.repeat(5_000)])
    t.equal((await put(body)).status, 400)
  t.equal(views.verbosity, 4)
})

t.test('a page from elsewhere whose name points to 127.0.0.1 is refused', async t => {
  const { port } = await startLocal(t)
  const status = async (host: string) =>
    (await ask(port, '/status', { headers: { Host: host } })).status
  for (const host of [
    'localhost',
    'localhost:51005',
    '127.0.0.1:1',
    '127.9.9.9',
    '[::1]:51005',
    'LOCALHOST',
  ])
    t.equal(await status(host), 200, host)
  for (const host of [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '[::2]',
  ])
    t.equal(await status(host), 403, host)
  t.match(await ask(port, '/nothing'), { status: 404, text: '404 page not found\n' })
})

t.test('/metrics: own names, units, _total on counters alone, O(N) series', async t => {
  const { views, port } = await startLocal(t)
  const scrape = async () => (await ask(port, '/metrics')).text
  const text = await scrape()
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(
    ([, name, type]) => [name!, type!] as const,
  )
  t.ok(types.length > 30)
  for (const [name, type] of types) {
    t.match(name, /^edge_health_[a-z_]+$/)
    t.equal(name.endsWith('_total'), type === 'counter', name)
    t.match(text, new RegExp(`^# HELP ${name} .{10}`, 'm'), `${name} says what it is`)
  }
  t.match(text, /^edge_health_node_up\{peer="node-5"\} 1$/m, 'a judged node is a peer')
  t.match(text, /^edge_health_build_info\{version="0.1.0",node="node-1",zone="shanghai"\} 1$/m)
  t.match(text, /^edge_health_node_class\{class="healthy"\} 5$/m)
  t.match(text, /^edge_health_node_class\{class="dead"\} 0$/m)
  t.match(text, /^edge_health_keys_shared_members 5$/m)
  t.match(text, /^edge_health_identity_members 0$/m)
  t.match(text, /^edge_health_identity_verified_total 7$/m)
  t.match(text, /^edge_health_identity_equivocations_total 1$/m)
  t.match(text, /^edge_health_writer 0$/m)
  t.match(text, /^edge_health_probe_duration_seconds_bucket\{le="\+Inf"\} 3$/m)
  t.match(text, /^edge_health_zone_disruption\{state="normal"\} 1$/m)
  t.match(text, /^edge_health_exchange_refused_total\{reason="bad-signature"\} 1$/m)
  t.match(text, /^edge_health_connections_evicted_total\{listener="peers"\} 2$/m)
  t.match(text, /^edge_health_api_writes_total\{kind="lease",result="done"\} 4$/m)
  t.match(text, /^edge_health_stage_rounds_total\{stage="vote"\} 9$/m)
  t.notMatch(text, /edge_health_node_probe_up\{peer="node-1"\}/, 'the own node is not probed')
  const series = (body: string): number =>
    body.split('\n').filter(line => /^[a-z]/.test(line)).length
  views.view = { ...views.view, nodes: Array.from({ length: 100 }, (_, i) => nodeFixture(i + 1)) }
  const perNode = (series(await scrape()) - series(text)) / 95
  t.ok(perNode < 16, `${perNode} series for each node`)
  views.view = { ...views.view, nodes: [] }
  t.notMatch(await scrape(), /peer="node-5"/, 'a node that left leaves nothing behind')
})
