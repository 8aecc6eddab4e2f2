// SPDX-License-Identifier: Apache-2.0
// One HTTP/2 connection for everything that a client asks, on real sockets.
import net from 'node:net'
import t, { type Test } from 'tap'
import { KubeUnreachableError, WithheldError } from '../../../core/errors.js'
import { KubeClient } from '../../../kube/client/client.js'
import { fixedCredentials } from '../../../kube/client/fixed-credentials.js'
import { readBody, type KubeCall } from '../../../kube/client/open-response.js'
import { makeTls } from '../../../kube/client/tls-material.js'
import { certificateFor } from '../../../testkit/certificates.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { answer, startScripted, type Step } from '../../../testkit/http/scripted-server.js'
import { startLink } from '../../../testkit/http/tcp-link.js'
import { never } from '../../../testkit/kube/built-kube.js'
import { eventually } from '../../../testkit/kube/scripted-watch.js'

const authority = await certificateFor('127.0.0.1')
const CALL = { method: 'GET', path: '/api/v1/nodes' } as const
const SIGN_OF_LIFE = { method: 'GET', path: '/livez', isAnonymous: true } as const
const LIMITS = { timeoutMs: 15_000, maxBytes: 1_000_000 }
const ok = answer({ is: 'ok' })
const stream: Step = { kind: 'stream', lines: ['{}'] }
const hang: Step = { kind: 'hang' }

const setUp = (t: Test, ...steps: Step[]) => setUpWith(t, {}, ...steps)

const setUpWith = async (t: Test, more: { maxRequests?: number }, ...steps: Step[]) => {
  const server = await startScripted({ ...authority, ...more, hasHttp2: true })
  server.script(...steps)
  const clock = new FakeClock()
  const credentials = fixedCredentials({ server: server.url, token: 'one', ca: authority.cert })
  const client = new KubeClient(credentials, clock, 'tester')
  t.teardown(async () => {
    await client.close()
    await server.close()
  })
  /** The same client as if its node were behind this link. */
  const link = async () => {
    const between = await startLink(server.port)
    const url = `https://127.0.0.1:${between.port}`
    const afar = new KubeClient(
      fixedCredentials({ server: url, token: 'one', ca: authority.cert }),
      clock,
      'tester',
    )
    t.teardown(async () => {
      between.close()
      await afar.close()
    })
    return { between, afar }
  }
  const ask = (call: KubeCall = CALL, signal = never): Promise<unknown> =>
    client.json(call, LIMITS, signal)
  return { server, clock, client, ask, credentials, link }
}

t.test('watches and calls share a connection, signs of life have another one', async t => {
  const { server, client, ask } = await setUp(t, stream, stream, ok, ok, ok, ok)
  const watches = [
    await client.open(CALL, 1_000, never),
    await client.open({ ...CALL, path: '/api/v1/pods' }, 1_000, never),
  ]
  await Promise.all([ask(), ask(), ask()])
  t.equal(server.connections, 1)
  t.match(server.asked[0], {
    method: 'GET',
    headers: { authorization: 'Bearer one', 'user-agent': 'tester', accept: 'application/json' },
  })
  await ask(SIGN_OF_LIFE)
  t.equal(server.connections, 2)
  t.notMatch(server.asked[5]!.headers, { authorization: /./ })
  for (const watch of watches) await watch.end()
  t.equal(server.open, 2, 'a connection outlives its answers')
})

t.test('what one connection may not carry goes over another one', async t => {
  const { server, client, ask } = await setUpWith(t, { maxRequests: 2 }, ok, stream, stream, ok)
  await ask()
  const watches = [await client.open(CALL, 1_000, never), await client.open(CALL, 1_000, never)]
  t.equal(server.connections, 1)
  await ask()
  t.equal(server.connections, 2)
  t.equal(server.open, 2)
  for (const watch of watches) await watch.end()
  await eventually(() => server.open === 1)
})

t.test('more requests at once than one connection may carry are all sent', async t => {
  const all = Array.from({ length: 9 }, () => ok)
  const { server, ask } = await setUpWith(t, { maxRequests: 2 }, ...all)
  await Promise.all(all.map(() => ask()))
  t.equal(server.asked.length, 9)
  await eventually(() => server.open === 1)
})

t.test('a server that takes no requests at all', async t => {
  const { server, ask } = await setUpWith(t, { maxRequests: 0 })
  await t.rejects(ask(), KubeUnreachableError)
  t.equal(server.connections, 2, 'it is not asked again and again')
})

t.test('requests at once open one connection', async t => {
  const { server, ask } = await setUp(t, ok, ok, ok, ok)
  await Promise.all([ask(), ask(), ask(), ask()])
  t.equal(server.connections, 1)
})

t.test('a call right after one that was aborted while it connected', async t => {
  const { link, server } = await setUp(t, ok)
  const { between, afar } = await link()
  between.freeze()
  const stopping = new AbortController()
  const aborted = t.rejects(afar.json(CALL, LIMITS, stopping.signal), { message: 'enough' })
  await eventually(() => between.connections === 1)
  stopping.abort(new Error('enough'))
  await aborted
  between.thaw()
  await afar.json(CALL, LIMITS, never)
  t.equal(server.asked.length, 1)
})

t.test('a body arrives as it was sent', async t => {
  const { server, ask } = await setUp(t, ok)
  const text = JSON.stringify({ text: 'é'.repeat(100_000) })
  await ask({ ...CALL, method: 'POST', body: { type: 'application/json', text } })
  t.equal(server.asked[0]!.body, text)
  t.match(server.asked[0]!.headers, { 'content-length': String(Buffer.byteLength(text)) })
})

for (const then of ['cut', 'reset'] as const)
  t.test(
    `an answer whose connection is ${then} in the middle is not taken for a whole one`,
    async t => {
      const { ask } = await setUp(t, { kind: 'stream', lines: ['{"is":"half"}'], then })
      await t.rejects(ask(), KubeUnreachableError)
    },
  )

t.test('a connection that broke is replaced', async t => {
  const { server, ask } = await setUp(t, ok, ok)
  await ask()
  server.resetAll()
  await eventually(() => server.open === 0)
  await ask()
  t.equal(server.connections, 2)
})

t.test(
  'a request that a used connection took along is repeated, unless it must not be',
  async t => {
    const reset: Step = { kind: 'reset' }
    const { server, ask } = await setUp(t, ok, reset, ok, reset, ok)
    await ask()
    await ask()
    t.equal(server.asked.length, 3, 'a read is sent again')
    const body = { type: 'application/json', text: '{}' }
    await t.rejects(ask({ ...CALL, method: 'POST', body }), KubeUnreachableError)
    t.equal(server.asked.length, 4)
  },
)

t.test('the first request over a connection is not repeated', async t => {
  const { server, ask } = await setUp(t, { kind: 'reset' }, ok)
  await t.rejects(ask(), KubeUnreachableError)
  t.equal(server.asked.length, 1)
})

t.test('a call that is aborted leaves the connection to others', async t => {
  const { server, client, ask } = await setUp(t, stream, hang, ok)
  const watch = await client.open(CALL, 1_000, never)
  const stopping = new AbortController()
  const aborted = t.rejects(ask(CALL, stopping.signal), { message: 'enough' })
  const asked = await server.request(1)
  stopping.abort(new Error('enough'))
  await aborted
  await asked.gone
  await ask()
  t.equal(server.connections, 1)
  await watch.end()
})

t.test(
  'a call without an answer over a dead link: the next goes over a new connection',
  async t => {
    const { server, clock, link } = await setUp(t, stream, ok, ok)
    const { between, afar } = await link()
    const watch = await afar.open(CALL, 1_000, never)
    between.freeze()
    const late = t.rejects(afar.json(CALL, LIMITS, never), KubeUnreachableError)
    await clock.advance(15_000)
    await late
    const next = afar.json(CALL, LIMITS, never)
    await eventually(() => between.connections === 2)
    between.thaw()
    await next
    server.asked[0]!.line('{"still":"here"}')
    const { bytesRead } = watch.received
    watch.body.resume()
    await eventually(() => watch.received.bytesRead > bytesRead)
    await watch.end()
  },
)

t.test('a call without an answer over a link that is well: the server was slow', async t => {
  const { server, client, clock, ask } = await setUp(t, stream, hang, ok, ok)
  const watch = await client.open(CALL, 1_000, never)
  const late = t.rejects(ask(), KubeUnreachableError)
  const asked = await server.request(1)
  await clock.advance(15_000)
  await late
  await asked.gone
  // The answer to the PING comes before that of what is asked after it.
  await server.pinged()
  await ask()
  await ask()
  await clock.advance(60_000)
  t.equal(server.connections, 1)
  t.equal(server.open, 1)
  await watch.end()
})

t.test('a server that answers PINGs but no calls: the fourth goes elsewhere', async t => {
  const { server, client, clock, ask } = await setUp(
    t,
    stream,
    hang,
    hang,
    ok,
    hang,
    hang,
    hang,
    ok,
  )
  const watch = await client.open(CALL, 1_000, never)
  const unanswered = async (n: number) => {
    const late = t.rejects(ask(), KubeUnreachableError)
    await server.request(n)
    await clock.advance(15_000)
    await late
    await server.asked[n]!.gone
    await server.pinged()
  }
  await unanswered(1)
  await unanswered(2)
  await ask()
  for (const n of [4, 5, 6]) await unanswered(n)
  t.equal(server.connections, 1, 'an answer in between is proof enough')
  await ask()
  t.equal(server.connections, 2)
  t.equal(server.open, 2, 'the watch stays where it is')
  await watch.end()
})

t.test('a watch over a dead connection breaks soon after the server answers elsewhere', async t => {
  const { clock, link } = await setUp(t, stream, ok)
  const { between, afar } = await link()
  const watch = await afar.open(CALL, 1_000, never)
  const broken = t.rejects(readBody(watch, 1_000), { message: 'the other end does not answer' })
  await clock.advance(10_000)
  between.lose()
  const late = t.rejects(afar.json(CALL, LIMITS, never), KubeUnreachableError)
  await clock.advance(3_600_000)
  await late
  t.equal(between.open, 1, 'while nobody answers, the link may be cut')
  await afar.json(CALL, LIMITS, never)
  await clock.advance(10_999)
  t.equal(between.open, 2)
  await clock.advance(1)
  await eventually(() => between.open === 1)
  await broken
  await watch.end()
})

t.test('a call without an answer does not replace a connection that is alive', async t => {
  const { server, client, clock, ask } = await setUp(t, stream, hang, ok)
  const watch = await client.open(CALL, 1_000, never)
  watch.body.resume()
  const late = t.rejects(ask(), KubeUnreachableError)
  await server.request(1)
  await clock.advance(14_000)
  const { bytesRead } = watch.received
  server.asked[0]!.line('{"an":"event"}')
  await eventually(() => watch.received.bytesRead > bytesRead)
  await clock.advance(1_000)
  await late
  await ask()
  t.equal(server.connections, 1)
  await watch.end()
})

t.test('a server that takes no new requests: the watch stays, calls go elsewhere', async t => {
  const { server, client, ask } = await setUp(t, stream, ok)
  const watch = await client.open(CALL, 1_000, never)
  await server.leave()
  await eventually(() => server.open === 1)
  await ask()
  t.equal(server.connections, 2)
  const { bytesRead } = watch.received
  watch.body.resume()
  server.asked[0]!.line('{"still":"here"}')
  await eventually(() => watch.received.bytesRead > bytesRead)
  await watch.end()
  await eventually(() => server.open === 1)
})

t.test(
  'a caller gets another connection when it wants one, no more often than twice a minute',
  async t => {
    const { server, client, clock, ask } = await setUp(t, ok, ok, ok, ok)
    await ask()
    client.reconnect()
    await ask()
    t.equal(server.connections, 1, 'it is new')
    await clock.advance(30_000)
    client.reconnect()
    await ask()
    t.equal(server.connections, 2)
    await eventually(() => server.open === 1)
  },
)

const WRITE = { ...CALL, method: 'PATCH', body: { type: 'application/json', text: '{}' } } as const

t.test(
  'a write that nothing answers takes its connection along, with what is not delivered',
  async t => {
    const { server, clock, link } = await setUp(t, stream, ok)
    const { between, afar } = await link()
    const watch = await afar.open(CALL, 1_000, never)
    between.freeze()
    const stopping = new AbortController()
    const withdrawn = t.rejects(afar.json(WRITE, LIMITS, stopping.signal), { message: 'withdrawn' })
    await clock.advance(1_000)
    stopping.abort(new Error('withdrawn'))
    await withdrawn
    await clock.advance(4_999)
    t.equal(between.open, 1)
    await clock.advance(1)
    await eventually(() => between.open === 0)
    await t.rejects(readBody(watch, 1_000), { message: 'the other end does not answer' })
    await watch.end()
    between.thaw()
    await afar.json(CALL, LIMITS, never)
    t.strictSame(
      server.asked.map(({ method }) => method),
      ['GET', 'GET'],
    )
    t.equal(clock.waiting, 0)
  },
)

t.test('a write that is withdrawn over a link that is well costs nobody a connection', async t => {
  const { server, client, clock, ask } = await setUp(t, stream, hang, ok)
  const watch = await client.open(CALL, 1_000, never)
  await clock.advance(60_000)
  const stopping = new AbortController()
  const withdrawn = t.rejects(ask(WRITE, stopping.signal), { message: 'withdrawn' })
  const asked = await server.request(1)
  stopping.abort(new Error('withdrawn'))
  await withdrawn
  await asked.gone
  await server.pinged()
  await ask()
  await clock.advance(60_000)
  t.equal(server.connections, 1)
  t.equal(server.open, 1)
  await watch.end()
})

/** Send a write over a link that is cut, and withdraw it. */
const withdrawWrite = async (t: Test, client: KubeClient, clock: FakeClock): Promise<void> => {
  const stopping = new AbortController()
  const call = client.json(WRITE, LIMITS, stopping.signal)
  const withdrawn = t.rejects(call, { message: 'withdrawn' })
  await clock.advance(1_000)
  stopping.abort(new Error('withdrawn'))
  await withdrawn
}

t.test('a write that is withdrawn soon after one that had arrived', async t => {
  const { server, clock, link } = await setUp(t, hang, ok)
  const { between, afar } = await link()
  const stopping = new AbortController()
  const first = t.rejects(afar.json(WRITE, LIMITS, stopping.signal), { message: 'enough' })
  await server.request(0)
  stopping.abort(new Error('enough'))
  await first
  await afar.json(CALL, LIMITS, never)
  between.freeze()
  await withdrawWrite(t, afar, clock)
  await clock.advance(5_000)
  await eventually(() => between.open === 0)
})

t.test('a write that is withdrawn while only the way to the server is cut', async t => {
  const { server, clock, link } = await setUp(t, stream)
  const { between, afar } = await link()
  const watch = await afar.open(CALL, 1_000, never)
  watch.body.on('error', () => undefined).resume()
  between.freeze('there')
  await withdrawWrite(t, afar, clock)
  await clock.advance(4_000)
  const { bytesRead } = watch.received
  server.asked[0]!.line('{"an":"event"}')
  await eventually(() => watch.received.bytesRead > bytesRead)
  await clock.advance(4_999)
  t.equal(between.open, 1, 'the answer to the PING may wait behind others')
  await clock.advance(1)
  await eventually(() => between.open === 0)
  await watch.end()
})

/** A client with a connection that nobody uses, over a link that is cut; and how often it resets that. */
const setUpCut = async (t: Test) => {
  const { clock, link } = await setUp(t, stream)
  const { between, afar } = await link()
  const watch = await afar.open(CALL, 1_000, never)
  const { socket } = watch
  await watch.end()
  const resets = t.capture(socket, 'resetAndDestroy', () => socket.destroy())
  between.freeze()
  return { client: afar, clock, resets }
}

t.test('a write that is withdrawn when its connection takes no other requests', async t => {
  const { client, clock, resets } = await setUpCut(t)
  await clock.advance(30_000)
  const stopping = new AbortController()
  const withdrawn = t.rejects(client.json(WRITE, LIMITS, stopping.signal), { message: 'withdrawn' })
  await clock.advance(1_000)
  client.reconnect()
  stopping.abort(new Error('withdrawn'))
  await withdrawn
  t.equal(resets().length, 1)
  t.equal(clock.waiting, 0)
})

t.test('a client that is closed leaves no write behind that may still be delivered', async t => {
  const { client, clock, resets } = await setUpCut(t)
  const unanswered = t.rejects(client.json(WRITE, LIMITS, never), KubeUnreachableError)
  await clock.advance(1_000)
  await client.close()
  await unanswered
  t.equal(resets().length, 1)
})

t.test('any number of writes that are withdrawn at once over a link that is well', async t => {
  const writes = Array.from({ length: 30 }, () => hang)
  const { server, client, clock, ask } = await setUp(t, ok, ...writes, ok)
  await ask()
  const stopping = new AbortController()
  const all = Promise.allSettled(writes.map(() => ask(WRITE, stopping.signal)))
  await server.request(writes.length)
  stopping.abort(new Error('enough'))
  await all
  await ask()
  await clock.advance(60_000)
  t.equal(server.open, 1)
  t.equal(clock.waiting, 0)
  await client.close()
})

t.test('a write without an answer over a connection that is alive is cancelled alone', async t => {
  const { server, client, clock, ask } = await setUp(t, stream, hang, ok)
  const watch = await client.open(CALL, 1_000, never)
  watch.body.resume()
  await clock.advance(1_000)
  const late = t.rejects(ask(WRITE), KubeUnreachableError)
  const asked = await server.request(1)
  await clock.advance(1_000)
  const { bytesRead } = watch.received
  server.asked[0]!.line('{"an":"event"}')
  await eventually(() => watch.received.bytesRead > bytesRead)
  await clock.advance(15_000)
  await late
  await asked.gone
  t.equal(server.open, 1, 'the watch goes on')
  await watch.end()
})

t.test('an answer that stalls ends its call, although others arrive', async t => {
  const { server, client, clock } = await setUp(t, stream, { kind: 'stream', lines: [] })
  const watch = await client.open(CALL, 1_000, never)
  const stalled = client.body(CALL, { ...LIMITS, idleMs: 8_000 }, never)
  const failed = t.rejects(stalled, { message: /nothing heard for 8000 ms/ })
  await server.request(1)
  for (let i = 0; i < 12; i++) {
    server.asked[0]!.line('{}')
    await clock.advance(1_000)
  }
  await failed
  await watch.end()
})

t.test('a write whose guard objects once there is a connection is not sent', async t => {
  const { server, ask } = await setUp(t, ok)
  const guarded = { ...CALL, guard: () => (server.connections === 0 ? undefined : 'too late') }
  await t.rejects(ask(guarded), WithheldError)
  t.equal(server.asked.length, 0)
})

t.test('other TLS material: new calls have a connection of their own', async t => {
  const { server, client, ask, credentials } = await setUp(t, stream, ok)
  const watch = await client.open(CALL, 1_000, never)
  const before = await credentials.material()
  const parts = { cert: undefined, key: undefined, insecure: false, servername: undefined }
  const after = { ...before, tls: makeTls({ ...parts, ca: authority.cert }) }
  credentials.material = () => Promise.resolve(after)
  await ask()
  t.equal(server.connections, 2)
  t.equal(server.open, 2)
  await watch.end()
  await eventually(() => server.open === 1)
})

t.test('a server that takes connections and says nothing', async t => {
  const sockets = new Set<net.Socket>()
  let gone = 0
  const server = net.createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => gone++)
    socket.resume()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  const clock = new FakeClock()
  const access = { server: `https://127.0.0.1:${port}`, token: 'one', ca: authority.cert }
  const client = new KubeClient(fixedCredentials(access), clock, 'tester')
  t.teardown(async () => {
    await client.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const first = t.rejects(client.json(CALL, LIMITS, never), KubeUnreachableError)
  await eventually(() => sockets.size === 1)
  await clock.advance(10_000)
  await first
  await eventually(() => gone === 1)
  const stopping = new AbortController()
  const calls = [never, stopping.signal].map(signal => client.json(CALL, LIMITS, signal))
  const ended = Promise.allSettled(calls)
  await eventually(() => sockets.size === 2)
  stopping.abort(new Error('enough'))
  await t.rejects(calls[1]!, { message: 'enough' })
  t.equal(gone, 1, 'one still waits for it')
  await client.close()
  await ended
  await eventually(() => gone === 2)
})

/** A client whose credentials change, and its server with them, while it connects to the former one, which is silent. */
const setUpChange = async (t: Test) => {
  const [former, present] = [await startScripted(authority), await startScripted(authority)]
  const between = await startLink(former.port)
  const credentials = fixedCredentials({
    server: `https://127.0.0.1:${between.port}`,
    ...{ token: 'former', ca: authority.cert },
  })
  const client = new KubeClient(credentials, new FakeClock(), 'tester')
  t.teardown(async () => {
    await client.close()
    between.close()
    await Promise.all([former.close(), present.close()])
  })
  between.freeze()
  const first = client.json(CALL, LIMITS, never)
  first.catch(() => undefined)
  await eventually(() => between.connections === 1)
  const { tls } = await credentials.material()
  const headers = { authorization: 'Bearer present' }
  const server = new URL(present.url)
  credentials.material = () => Promise.resolve({ server, headers, tls })
  present.script(ok, ok)
  await client.json(CALL, LIMITS, never)
  return { former, present, between, client, first }
}

t.test('credentials that change while it connects do not go to the former server', async t => {
  const { former, present, between, client, first } = await setUpChange(t)
  former.script(ok)
  between.thaw()
  await first
  client.reconnect()
  await client.json(CALL, LIMITS, never)
  const tokensAt = ({ asked }: typeof former) => asked.map(one => one.headers.authorization)
  t.strictSame(tokensAt(former), ['Bearer former'])
  t.strictSame(tokensAt(present), ['Bearer present', 'Bearer present'])
})

t.test(
  'a client that is closed while it connects to a former server leaves nothing open',
  async t => {
    const { between, client, first } = await setUpChange(t)
    await client.close()
    await t.rejects(first, KubeUnreachableError)
    await eventually(() => between.open === 0)
  },
)
