// SPDX-License-Identifier: Apache-2.0
// On real sockets, over real TLS; the hub's time is the test's.
import { connect, type Socket } from 'node:net'
import { request } from 'node:https'
import t from 'tap'
import type { Message } from '../../../bridge/model/message/message.js'
import { makeAuthority, makeNodePair } from '../../../testkit/edge/certificates.js'
import { dialWebsocket } from '../../../testkit/edge/link.js'
import { HUB_LIMITS } from '../../../bridge/hub/hub-options.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { ProcessClock } from '../../../testkit/process-clock.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { spoil } from '../../../testkit/http/raw-http.js'
import { KEEPALIVE, LEASE, openStage, until } from './stage.js'

const note = (n: number): Message => ({
  id: `m${n}`,
  parentId: undefined,
  timestamp: 0,
  resourceVersion: '1',
  ...{ source: 'edgecontroller', group: 'resource', operation: 'update' },
  resource: `default/configmap/c${n}`,
  content: { kind: 'ConfigMap' },
})

t.test('an edge connects, and messages pass in both directions', async t => {
  const { hub, dial, reports, received, linkOf } = await openStage(t)
  const edge = await dial('e1')
  t.strictSame(edge.said, ['opened'])
  edge.say(KEEPALIVE, 'ping')
  edge.say(LEASE, { metadata: { name: 'e1' } })
  await until(() => received('e1').length === 1)
  t.match(reports, [
    { kind: 'connected', link: { node: 'e1', isHeld: false } },
    {
      kind: 'received',
      message: { operation: 'update', content: { metadata: { name: 'e1' } } },
      what: { kind: 'request', resource: { node: 'e1', type: 'lease' } },
    },
  ])
  t.ok(linkOf('e1').send(note(1)))
  await until(() => edge.got.length === 1)
  t.ok(edge.got[0]!.endsWith('}\n'))
  t.match(JSON.parse(edge.got[0]!), { header: { msg_id: 'm1', resourceversion: '1' } })
  edge.say({ source: 'x', group: 'y', operation: 'ping', resource: 'node' })
  await until(() => edge.got.length === 2)
  t.match(JSON.parse(edge.got[1]!), { route: { operation: 'response' }, content: 'ack' })
  t.match(hub.status, { connected: 1, accepted: 1, framesIn: 3, framesOut: 2, malformed: 0 })
  const link = linkOf('e1')
  edge.reset()
  await until(() => hub.status.connected === 0)
  t.notOk(link.send(note(2)), 'a connection that is over takes nothing')
  t.equal(hub.linkOf(link.node), undefined)
})

t.test("only a node's own certificate opens a connection for it", async t => {
  const { hub, dial, reports, log } = await openStage(t)
  const refused = async (...args: Parameters<typeof dial>): Promise<string> =>
    (await dial(...args)).said.join()
  t.match(await refused('e1', { pair: { commonName: 'system:node:e2' } }), /403/)
  t.match(await refused('e1', { nodeId: 'e2' }), /403/)
  t.match(await refused('E_1'), /400/)
  t.match(log.lines.slice(-2), [
    { message: 'an edge was refused' },
    { message: 'an edge was refused' },
  ])
  // Not even a request: TLS ends before.
  t.notMatch(await refused('e1', { ca: await makeAuthority() }), /40\d|opened/)
  t.notMatch(await refused('e1', { pair: { hours: -1 } }), /40\d|opened/)
  t.notMatch(await refused('e1', { pair: { usage: 'server' } }), /40\d|opened/)
  t.match(hub.status.refused, { 403: 2, 400: 1 })
  t.strictSame(reports, [])
})

t.test('a certificate for a Node that is not an edge node is refused', async t => {
  const waiting: ((isForeign: boolean) => void)[] = []
  const { dial, hub, reports } = await openStage(t, {
    isForeign: node => {
      if (node === 'cp-1') return Promise.resolve(true)
      if (node === 'e1') return Promise.reject(new Error('the apiserver is away'))
      return new Promise(resolve => waiting.push(resolve))
    },
  })
  t.match((await dial('cp-1')).said, [/403/])
  t.match((await dial('e1')).said, [/503/], 'nor is it guessed')
  const first = dial('e2')
  await until(() => waiting.length === 1)
  t.match((await dial('e2')).said, [/503/], 'one connection of a node waits, not a thousand')
  waiting[0]!(false)
  t.strictSame((await first).said, ['opened'])
  t.equal(reports.length, 1)
  t.match(hub.status, { connected: 1, refused: { 403: 1, 503: 2 } })
})

t.test(
  'who connected before there was a Node of that name is sent nothing once it is no edge node',
  async t => {
    let isForeign: () => Promise<boolean> = () => Promise.resolve(false)
    const { dial, ended, linkOf, hub, log } = await openStage(t, {
      isEdge: () => false,
      isForeign: () => isForeign(),
    })
    const thief = await dial('cp-2')
    linkOf('cp-2').send(note(1))
    await until(() => thief.got.length === 1)
    isForeign = () => Promise.reject(new Error('the apiserver is away'))
    linkOf('cp-2').send(note(2))
    await until(() => log.lines.some(({ fields }) => fields['error'] === 'the apiserver is away'))
    isForeign = () => Promise.resolve(true)
    linkOf('cp-2').send(note(3))
    await until(() => ended('cp-2').length === 1)
    t.strictSame(ended('cp-2'), ['the bridge is leaving'])
    t.match(log.lines.at(-1), { fields: { detail: 'the Node is not an edge node' } })
    await until(() => thief.said.length === 2)
    t.equal(thief.got.length, 1)
    t.match(hub.status, { connected: 0, framesOut: 1 })
  },
)

t.test('without a certificate there is no connection, and without an upgrade only 404', async t => {
  const { hub, url, ca, reports } = await openStage(t)
  const said: string[] = []
  dialWebsocket(
    { url, node: 'e1', tls: { ca: ca.cert } },
    {
      opened: () => said.push('opened'),
      refused: reason => said.push(reason),
      received: () => undefined,
      ended: reason => said.push(reason),
    },
  )
  await until(() => said.length > 0)
  t.not(said[0], 'opened')
  const status = await new Promise(resolve => {
    void makeNodePair(ca, 'e1').then(pair =>
      request(
        { host: '127.0.0.1', port: hub.port, path: '/', agent: false, ca: ca.cert, ...pair },
        response => {
          response.resume()
          resolve(response.statusCode)
        },
      ).end(),
    )
  })
  t.equal(status, 404)
  t.strictSame(reports, [])
})

t.test('a second connection of a node ends the first; an impostor’s does not', async t => {
  const { dial, reports, linkOf, ended, hub } = await openStage(t)
  const first = await dial('e1')
  const before = linkOf('e1')
  t.match((await dial('e1', { pair: { commonName: 'system:node:e2' } })).said, [/403/])
  t.equal(linkOf('e1'), before)
  const second = await dial('e1')
  await until(() => reports.length === 3)
  t.strictSame(
    reports.map(({ kind }) => kind),
    ['connected', 'ended', 'connected'],
    'the end of the old one is reported before the new one',
  )
  t.strictSame(ended('e1'), ['another connection of the node'])
  await until(() => first.said.length === 2)
  second.say(LEASE, {})
  await until(() => reports.length === 4)
  t.equal(linkOf('e1').node, 'e1')
  t.equal(hub.status.connected, 1)
})

t.test(
  'a node without a keepalive for 30 s is disconnected, even if its websocket answers pings',
  async t => {
    const { clock, dial, ended, hub } = await openStage(t)
    await dial('mute')
    const edge = await dial('e1')
    for (let s = 0; s < 60; s += 5) {
      if (s % 15 === 0) {
        const { framesIn } = hub.status
        edge.say(KEEPALIVE, 'ping')
        await until(() => hub.status.framesIn > framesIn)
      }
      if (s === 30) break
      await clock.advance(4_990)
      t.strictSame(ended('mute'), [])
      await clock.advance(10)
      // Pongs come over a real network.
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    t.strictSame(ended('mute'), ['no keepalive'])
    t.strictSame(ended('e1'), [])
  },
)

t.test('a half-open connection ends after two pings without an answer', async t => {
  const { clock, dial, ended, hub } = await openStage(t)
  const edge = await dial('e1')
  await clock.advance(5_000)
  edge.say(KEEPALIVE, 'ping')
  await until(() => hub.status.framesIn === 1)
  edge.freeze()
  await clock.advance(24_900)
  t.strictSame(ended('e1'), [])
  await clock.advance(100)
  t.strictSame(ended('e1'), ['no answer to pings'])
})

t.test('a bridge that was suspended does not count that time as silence of its edges', async t => {
  const world = new FakeClock()
  const own = new ProcessClock(world, { offsetMs: 0 })
  const { dial, ended, hub } = await openStage(t, { world, clock: own })
  const edge = await dial('e1')
  own.freeze()
  await world.advance(120_000)
  own.thaw()
  await world.advance(1)
  t.strictSame(ended('e1'), [])
  edge.say(KEEPALIVE, 'ping')
  await until(() => hub.status.framesIn === 1)
  edge.freeze()
  await world.advance(40_000)
  t.equal(ended('e1').length, 1, 'from then on it counts again')
})

t.test('a full queue pauses one socket, and its keepalives are not missed', async t => {
  const { clock, dial, received, ended, linkOf, hub } = await openStage(t, {
    onReceived: (link, { content }) => {
      if (content === 'stop') link.hold('lane')
    },
  })
  const edge = await dial('e1')
  const other = await dial('e2')
  edge.say(LEASE, 'stop')
  for (let i = 0; i < 300; i++) edge.say(LEASE, i)
  await until(() => linkOf('e1').isHeld)
  other.say(LEASE, 'hello')
  await until(() => received('e2').length === 1)
  t.equal(received('e1').length, 1)
  for (let s = 0; s < 120; s += 10) {
    other.say(KEEPALIVE, 'ping')
    const { framesIn } = hub.status
    await until(() => hub.status.framesIn >= framesIn)
    await clock.advance(10_000)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  t.strictSame(ended('e1'), [])
  linkOf('e1').release('lane')
  await until(() => received('e1').length === 301)
  t.strictSame(
    received('e1').map(({ content }) => content),
    ['stop', ...Array.from({ length: 300 }, (_, i) => i)],
  )
})

t.test('a node that floods is read at the rate limit, and others do not wait', async t => {
  const { clock, dial, received } = await openStage(t)
  const flood = await dial('e1')
  const other = await dial('e2')
  for (let i = 0; i < 5_000; i++) flood.say(LEASE, i)
  other.say(LEASE, 'hello')
  await until(() => received('e2').length === 1 && received('e1').length >= 1_001)
  t.equal(received('e1').length, 1_001)
  await clock.advance(1_000)
  await until(() => received('e1').length >= 1_200)
  t.ok(received('e1').length <= 1_202, `${received('e1').length}`)
})

t.test(
  'a node that does not read is not read from, and disconnected after a minute without progress',
  async t => {
    const { clock, dial, ended, linkOf } = await openStage(t)
    const edge = await dial('e1')
    edge.freeze()
    const link = linkOf('e1')
    const large = { ...note(1), content: 'x'.repeat(1 << 20) }
    // The kernel's buffers take some megabytes.
    for (let i = 0; i < 64 && !link.isHeld; i++) {
      link.send(large)
      await new Promise(resolve => setTimeout(resolve, 1))
    }
    t.ok(link.isHeld)
    await clock.advance(59_000)
    t.strictSame(ended('e1'), [])
    await clock.advance(62_000)
    t.strictSame(ended('e1'), ['does not read'])
  },
)

t.test('a slow reader is read from again once it has caught up', async t => {
  const { dial, ended, linkOf, received, reports } = await openStage(t)
  const edge = await dial('e1')
  edge.freeze()
  const link = linkOf('e1')
  const large = { ...note(1), content: 'x'.repeat(1 << 20) }
  let sent = 0
  while (!link.isHeld) {
    link.send(large)
    sent++
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  t.ok(link.isBehind)
  edge.thaw()
  edge.say(LEASE, 'later')
  await until(() => edge.got.length === sent && received('e1').length === 1)
  t.notOk(link.isHeld)
  t.notOk(link.isBehind)
  t.equal(reports.filter(({ kind }) => kind === 'caught up').length, 1)
  t.strictSame(ended('e1'), [])
})

t.test('a message that the connection still buffers has not left', async t => {
  const { dial, linkOf } = await openStage(t)
  const edge = await dial('e1')
  edge.freeze()
  const link = linkOf('e1')
  const large = { ...note(1), content: 'x'.repeat(1 << 20) }
  const left: number[] = []
  let sent = 0
  while (!link.isHeld) {
    const index = sent++
    link.send(large, () => left.push(index))
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  t.ok(left.length < sent)
  edge.thaw()
  await until(() => left.length === sent)
  t.strictSame(
    left,
    [...left].sort((a, b) => a - b),
  )
})

t.test('a frame of 16 MiB is taken, a larger one ends the connection', async t => {
  const { clock, raw, received, ended, linkOf } = await openStage(t)
  const socket = await raw('e1')
  const head =
    '{"header":{"msg_id":"1","timestamp":1},"route":{"source":"edged","operation":"query","resource":"a/b/c"},"content":"'
  const whole = `${head}${'x'.repeat(HUB_LIMITS.frameBytes - head.length - 2)}"}`
  socket.send(whole)
  await until(() => received('e1').length === 1)
  t.equal((received('e1')[0]!.content as string).length, whole.length - head.length - 2)
  t.ok(linkOf('e1').isHeld, 'it counts for many frames')
  await clock.advance(20_000)
  socket.send(`${whole} `)
  await until(() => ended('e1').length === 1)
  t.strictSame(ended('e1'), ['connection broke'])
})

t.test('parts of large frames are bounded over all nodes', async t => {
  const { raw, ended, hub } = await openStage(t, { limits: { partBytes: 4 << 20 } })
  const sockets = await Promise.all(['e1', 'e2', 'e3', 'e4'].map(raw))
  for (const socket of sockets) socket.send('x'.repeat(2 << 20), { fin: false })
  await until(() => hub.status.connected < 4)
  const all = ['e1', 'e2', 'e3', 'e4'].flatMap(ended)
  t.ok(all.length >= 1 && all.every(why => why === 'too much in one frame'))
  t.ok(hub.status.connected >= 1)
})

t.test('a half frame does not outlive the keepalive', async t => {
  const { clock, raw, ended } = await openStage(t)
  const socket = await raw('e1')
  socket.send('{"header":', { fin: false })
  for (let s = 0; s < 30; s += 5) {
    t.strictSame(ended('e1'), [])
    socket.ping()
    await new Promise(resolve => setTimeout(resolve, 10))
    await clock.advance(5_000)
  }
  t.strictSame(ended('e1'), ['no keepalive'])
})

t.test(
  'malformed frames are counted, not answered, and end no connection; binary ones do',
  async t => {
    const { raw, ended, hub, clock } = await openStage(t, {
      limits: {
        session: { ...HUB_LIMITS.session, intake: { perSecond: 100_000, burst: 100_000 } },
      },
    })
    const socket = await raw('e1')
    const good = Buffer.from(
      '{"header":{"msg_id":"1","timestamp":1},"route":{"source":"edged","operation":"query","resource":"a/secret/c"},"content":{"a":[1,2,{"b":null}]}}\n',
    )
    const random = seededRandom(11)
    for (let i = 0; i < 2_000; i++) socket.send(Buffer.from(spoil(random, [good])).toString('utf8'))
    await until(() => hub.status.framesIn === 2_000)
    t.strictSame(ended('e1'), [])
    t.ok(hub.status.malformed > 1_000)
    await clock.advance(1)
    socket.send(good)
    await until(() => ended('e1').length === 1)
    t.strictSame(ended('e1'), ['binary frame'])
  },
)

t.test(
  'connections without a request are limited by source and time; nodes are not among them',
  async t => {
    const { clock, hub, dial, ended } = await openStage(t, {
      limits: {
        listen: { ...HUB_LIMITS.listen, total: 8, strangers: 8, perStranger: 4, perMember: 4 },
      },
    })
    for (let i = 0; i < 8; i++) t.strictSame((await dial(`n${i}`)).said, ['opened'])
    t.equal(hub.status.connected, 8)
    let open = 0
    const sockets: Socket[] = []
    for (let i = 0; i < 20; i++) {
      const socket = connect({ host: '127.0.0.1', port: hub.port }, () => open++)
      socket.on('error', () => undefined)
      socket.on('close', () => open--)
      sockets.push(socket)
    }
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
    })
    await until(() => sockets.filter(({ destroyed }) => destroyed).length === 16)
    t.equal(hub.status.connected, 8, 'no node lost its place')
    await clock.advance(10_000)
    await until(() => sockets.every(({ destroyed }) => destroyed))
    t.strictSame(
      Array.from({ length: 8 }, (_, i) => ended(`n${i}`)).flat(),
      [],
      'no request within 10 s',
    )
  },
)

t.test('more nodes than there may be are refused until later', async t => {
  const { dial, hub } = await openStage(t, { limits: { nodes: 2 } })
  await dial('e1')
  await dial('e2')
  t.match((await dial('e3')).said, [/503/])
  t.strictSame((await dial('e2')).said, ['opened'], 'who is connected may connect again')
  t.match(hub.status.refused, { 503: 1 })
})

t.test(
  'a bridge that stops leading disconnects its edges with a close frame and refuses new ones',
  async t => {
    const { dial, hub, ended } = await openStage(t)
    const edge = await dial('e1')
    hub.standBy()
    await until(() => hub.status.connected === 0)
    t.strictSame(ended('e1'), ['the bridge is leaving'])
    await until(() => edge.said.length === 2)
    t.match(edge.said[1], /1001/)
    t.match((await dial('e1')).said, [/503/])
    hub.serve()
    t.strictSame((await dial('e1')).said, ['opened'])
  },
)

t.test('closing does not wait for an edge that does not answer', async t => {
  const { dial, hub, ended, clock } = await openStage(t)
  const edge = await dial('e1')
  edge.freeze()
  let isClosed = false
  const closing = hub.close().then(() => (isClosed = true))
  await clock.advance(900)
  t.notOk(isClosed)
  await clock.advance(200)
  await closing
  t.strictSame(ended('e1'), ['the bridge is leaving'])
  t.match((await dial('e1')).said, [/ECONNREFUSED/])
})

t.test('a message of a connection that ends while the cluster is asked has left, too', async t => {
  const asked: ((isForeign: boolean) => void)[] = []
  let isKnown = true
  const { dial, linkOf, ended } = await openStage(t, {
    isEdge: () => isKnown,
    isForeign: () =>
      isKnown ? Promise.resolve(false) : new Promise<boolean>(resolve => void asked.push(resolve)),
  })
  const edge = await dial('e1')
  isKnown = false
  let left = 0
  t.ok(linkOf('e1').send(note(1), () => left++))
  await until(() => asked.length === 1)
  edge.reset()
  await until(() => ended('e1').length === 1)
  asked[0]!(false)
  await until(() => left === 1)
  t.equal(left, 1)
})
