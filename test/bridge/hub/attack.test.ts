// SPDX-License-Identifier: Apache-2.0
// What an edge with a good certificate may try, and what becomes of the others.
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { HUB_LIMITS } from '../../../bridge/hub/hub-options.js'
import { encodeFrame, makeFrame } from '../../../testkit/edge/frame.js'
import { KEEPALIVE, LEASE, openStage, until } from './stage.js'

t.test('websocket pings are read no faster than frames', async t => {
  const { clock, raw, dial, received, linkOf, ended } = await openStage(t)
  const flood = await raw('e1')
  const other = await dial('e2')
  let pongs = 0
  flood.on('pong', () => pongs++)
  const answered = async (): Promise<void> => {
    for (let sent = 0; !linkOf('e1').isHeld;) {
      for (let i = 0; i < 20; i++, sent++) flood.ping()
      await until(() => pongs >= sent || linkOf('e1').isHeld)
    }
  }
  await answered()
  t.ok(pongs >= 980 && pongs <= 1_040, `${pongs} were answered at once`)
  other.say(LEASE, 'hello')
  await until(() => received('e2').length === 1)
  t.strictSame(ended('e1'), [])
  await clock.advance(1_000)
  t.notOk(linkOf('e1').isHeld)
})

t.test('websocket pongs that nobody asked for are read no faster than frames', async t => {
  const session = { ...HUB_LIMITS.session, keepaliveMs: 1e9, pingMs: 1e9 }
  const { clock, raw, received, linkOf, ended } = await openStage(t, { limits: { session } })
  const flood = await raw('e1')
  for (let i = 0; i < 2_000; i++) flood.pong()
  flood.send(encodeFrame(makeFrame(LEASE, { content: 'hello', wall: 0 })))
  await until(() => linkOf('e1').isHeld || received('e1').length > 0)
  t.strictSame([received('e1'), ended('e1')], [[], []], 'what came after them is not read yet')
  while (received('e1').length === 0) {
    await clock.advance(1_000)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  t.strictSame(ended('e1'), [])
})

t.test('a node that sends pings and reads no answers is disconnected', async t => {
  const { raw, ended } = await openStage(t)
  const flood = await raw('e1')
  flood.pause()
  for (let i = 0; i < 50_000; i++) flood.ping()
  await until(() => ended('e1').length > 0)
  t.strictSame(ended('e1'), ['connection broke'])
})

t.test('the largest incomplete frame makes room for smaller ones', async t => {
  const { raw, received, ended, hub } = await openStage(t, { limits: { partBytes: 8 << 20 } })
  const hogs = ['h1', 'h2', 'h3']
  for (const hog of hogs) {
    const socket = await raw(hog)
    socket.send('x'.repeat(2_500_000), { fin: false })
  }
  await until(() => hub.status.connected === 3)
  const node = await raw('e1')
  const head =
    '{"header":{"msg_id":"1","timestamp":1},"route":{"source":"edged","operation":"query","resource":"a/b/c"},"content":"'
  node.send(`${head}${'x'.repeat(2_000_000)}"}`)
  await until(() => received('e1').length === 1)
  t.strictSame(ended('e1'), [])
  t.ok(hogs.flatMap(ended).length <= 1)
})

t.test('a flood of connections from one address leaves another address its handshakes', async t => {
  const { raw, dial, url, hub, log } = await openStage(t)
  const { port } = new URL(url)
  const flood: Socket[] = []
  for (let i = 0; i < 400; i++) {
    const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: '127.0.0.9' })
    socket.on('error', () => undefined)
    flood.push(socket)
  }
  t.teardown(() => flood.forEach(socket => socket.destroy()))
  await until(() => hub.listening?.waiting === 300)
  // Time stands still: who comes from elsewhere gets what is left of the burst of all.
  const edge = await dial('e1')
  t.strictSame(edge.said, ['opened'])
  await raw('e2')
  t.equal(hub.listening?.waiting, 300)
  const warnings = log.lines.filter(({ message }) => message.includes('too many new connections'))
  t.match(warnings, [{ level: 'warn', fields: { from: '127.0.0.9' } }])
  t.equal(warnings.length, 1)
})

t.test(
  'edges behind one address that all come back at once are let in one after the other',
  async t => {
    const perSource = { perSecond: 10, burst: 4 }
    const { listen } = HUB_LIMITS
    const limits = { listen: { ...listen, handshakes: { all: perSource, perSource } } }
    const { dial, hub, clock } = await openStage(t, { limits })
    const edges = Array.from({ length: 20 }, (_, i) => dial(`e${i}`))
    await until(() => hub.status.connected === 4 && hub.listening?.waiting === 16)
    await clock.advance(1_000)
    await until(() => hub.status.connected === 14)
    await clock.advance(600)
    for (const { said } of await Promise.all(edges)) t.strictSame(said, ['opened'])
  },
)

t.test('an apiserver with ever different errors fills neither the log nor memory', async t => {
  let count = 0
  const { dial, log } = await openStage(t, {
    isForeign: () => Promise.reject(new Error(`request ${++count} timed out`)),
  })
  for (const node of ['e1', 'e2', 'e3'])
    t.strictSame((await dial(node)).said, ['Unexpected server response: 503'])
  const warnings = log.lines.filter(({ message }) => message === 'an edge was refused')
  t.match(warnings, [{ fields: { status: 503, error: 'request 1 timed out' } }])
  t.equal(warnings.length, 1)
})

t.test('a sink that throws loses one message, and the process goes on', async t => {
  const { dial, log, received, hub } = await openStage(t, {
    onReceived: (_link, { content }) => {
      if (content === 'bug') throw new Error('a bug')
    },
  })
  const edge = await dial('e1')
  edge.say(LEASE, 'bug')
  edge.say(LEASE, 'more')
  await until(() => received('e1').length === 2)
  t.match(log.lines.at(-1), { level: 'error', message: 'bug: handling a message failed' })
  edge.say(KEEPALIVE, 'ping')
  await until(() => hub.status.framesIn === 3)
  t.equal(hub.status.connected, 1)
})

t.test('a node that connects again and again leaves nothing behind', async t => {
  const { dial, hub, reports, clock } = await openStage(t)
  const before = clock.waiting
  for (let i = 0; i < 20; i++) await dial('e1')
  await until(() => reports.filter(({ kind }) => kind === 'ended').length === 19)
  t.equal(hub.status.connected, 1)
  const kinds = reports.map(({ kind }) => kind)
  t.strictSame(kinds.slice(0, 5), ['connected', 'ended', 'connected', 'ended', 'connected'])
  t.ok(clock.waiting <= before + 2, `${clock.waiting} timers for one connection`)
})

t.test('a node that connects again and again does not fill the log', async t => {
  const { dial, log, reports, clock } = await openStage(t)
  for (let i = 0; i < 20; i++) await dial('e1')
  await dial('e2')
  await until(() => reports.filter(({ kind }) => kind === 'ended').length === 19)
  const lines = () =>
    log.lines.map(({ message, fields }) => [message, fields['node'], fields['suppressed']])
  const connected = 'a node is connected'
  const once = [
    [connected, 'e1', undefined],
    ['a node is disconnected', 'e1', undefined],
    [connected, 'e2', undefined],
  ]
  t.strictSame(lines(), once)
  await clock.advance(20_000)
  await clock.advance(20_000)
  await clock.advance(20_000)
  await dial('e1')
  t.strictSame(lines().slice(-1), [[connected, 'e1', 19]])
})
