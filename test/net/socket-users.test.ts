// SPDX-License-Identifier: Apache-2.0
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { kernelSockets, readTable } from '../../net/socket-table.js'
import { byUser, sourceOf, trustedUsers } from '../../net/socket-users.js'
import { endOf, type RemoteEnd, type Sources } from '../../net/sources.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
/** Our end in these tables is 127.0.0.1:51006. */
const PORT = 51_006
const OURS = '0100007F:C73E'

const row = (local: string, state: string, user: string, { to = OURS, inode = '12345' } = {}) =>
  `   3: ${local} ${to} ${state} 00000000:00000000 00:00000000 00000000 ${user}        0 ${inode} 1 0`

const end = (address: string, port: number): RemoteEnd => ({
  ...{ address, port },
  ours: { address: address.includes('.') ? '127.0.0.1' : '::1', port: PORT },
})

/** The end of a connection that was opened just now. */
const opened = (sources: Sources, address: string, port: number): RemoteEnd => {
  const socket = {}
  sources.opened!(socket)
  return { ...end(address, port), socket }
}

t.test('FW5: the user behind a loopback connection, as Linux tells it', async t => {
  const clock = new FakeClock()
  let reads = 0
  let table = [
    HEAD,
    row(OURS, '0A', '    9', { to: '00000000:0000' }),
    row(OURS, '01', '    9', { to: '0100007F:9C40' }),
    row('0100007F:9C40', '01', ' 1000'),
    row('0200007F:9C41', '01', '    0'),
    row('0100007F:9C42', '06', '    0', { inode: '0' }),
    row('0100007F:9C43', '01', 'nobody'),
    'nonsense',
    '',
  ].join('\n')
  const sources = byUser([0, 65_532], {
    clock,
    table: family => {
      reads++
      const zeros = '000000000000000000000000'
      const six = row(`${zeros}01000000:9C44`, '01', '65532', { to: `${zeros}01000000:C73E` })
      return [family === 4 ? table : six]
    },
  })
  const ends = new Map(
    ['127.0.0.1', '::ffff:127.0.0.1', '127.0.0.2', '::1'].flatMap(address =>
      [40_000, 40_001, 40_002, 40_003, 40_004].map(port => {
        const one = opened(sources, address, port)
        return [`${address} ${port}`, one] as const
      }),
    ),
  )
  const keyOf = (address: string, port: number) => sources.keyOf(ends.get(`${address} ${port}`)!)
  t.equal(keyOf('127.0.0.1', 40_000), 'user 1000')
  t.equal(keyOf('::ffff:127.0.0.1', 40_000), 'user 1000')
  t.equal(keyOf('127.0.0.2', 40_001), 'user 0')
  t.equal(reads, 1, 'read once for all of them')
  t.equal(keyOf('127.0.0.1', 40_001), undefined, 'another address')
  t.equal(keyOf('127.0.0.1', 40_002), undefined, 'a socket that is over is nobody’s')
  t.equal(keyOf('127.0.0.1', 40_003), undefined)
  t.equal(keyOf('::1', 40_004), 'user 65532')
  t.equal(sources.keyOf({ address: '127.0.0.1', port: 40_000 }), undefined, 'closed on our side')
  t.equal(reads, 2, 'once for each family')
  table = row('0100007F:9C43', '01', '7')
  await clock.advance(99)
  t.equal(keyOf('127.0.0.1', 40_003), undefined)
  await clock.advance(1)
  t.equal(keyOf('127.0.0.1', 40_003), 'user 7', 'and again after a moment')
  t.equal(
    sources.keyOf(end('10.0.0.9', 40_000)),
    '10.0.0.9',
    'who comes from elsewhere goes by address',
  )
  t.ok(sources.isMember('user 0'))
  t.ok(sources.isMember('user 65532'))
  t.notOk(sources.isMember('user 1000'))
})

t.test('a port that a client shares with others’ connections makes nobody of it', async t => {
  const client = row('0100007F:9C40', '01', '1000')
  const other = row('0100007F:9C40', '01', '0', { to: '0100007F:1F90' })
  for (const rows of [
    [client, other],
    [other, client],
  ]) {
    const table = () => [rows.join('\n')]
    const sources = byUser([0], { clock: new FakeClock(), table })
    t.equal(sources.keyOf(end('127.0.0.1', 40_000)), 'user 1000')
  }
})

t.test(
  'a connection that is half closed is still its user’s, but nobody’s when no program has it',
  async t => {
    for (const [state, inode, user] of [
      ['04', '77', 'user 1000'],
      ['05', '77', 'user 1000'],
      ['08', '77', 'user 1000'],
      ['05', '0', undefined],
      ['06', '77', undefined],
      ['0B', '77', undefined],
    ] as const) {
      const table = () => [row('0100007F:9C40', state, '1000', { inode })]
      const sources = byUser([0], { clock: new FakeClock(), table })
      t.equal(sources.keyOf(end('127.0.0.1', 40_000)), user, `state ${state}, inode ${inode}`)
    }
  },
)

const onLinux = { skip: process.platform !== 'linux' }

/** A server that keeps half-closed connections, and our ends of what was accepted. */
const serve = async (t: Test, host: string): Promise<{ port: number; accepted: Socket[] }> => {
  const accepted: Socket[] = []
  const server: Server = createServer({ allowHalfOpen: true }, socket => {
    accepted.push(socket)
    socket.on('error', () => undefined).resume()
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, accepted }
}

const keyNow = (socket: Socket): string | undefined =>
  byUser(trustedUsers(), { clock: new FakeClock() }).keyOf(endOf(socket))

for (const [host, to] of [
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['::', '127.0.0.1'],
  ['127.0.0.1', '::ffff:127.0.0.1'],
] as const)
  t.test(`FW5: the kernel’s own table knows us: ${to} of ${host}`, onLinux, async t => {
    const { port, accepted } = await serve(t, host)
    const socket = connect({ host: to, port })
    t.teardown(() => socket.destroy())
    while (accepted.length === 0) await new Promise(resolve => setImmediate(resolve))
    const mine = `user ${process.getuid!()}`
    t.equal(keyNow(accepted[0]!), mine)
    const ended = once(accepted[0]!, 'end')
    socket.end()
    await ended
    t.equal(keyNow(accepted[0]!), mine, 'half closed')
    t.match([...kernelSockets(4)].join(''), /local_address/)
  })

const isRoot = process.platform === 'linux' && process.getuid!() === 0

t.test('FW5: who has closed a connection is not root', { skip: !isRoot }, async t => {
  const { port, accepted } = await serve(t, '127.0.0.1')
  const code = `require('node:net').connect(${port}, '127.0.0.1', () => process.exit())`
  const stranger = spawn(process.execPath, ['-e', code], {
    uid: 65_534,
    stdio: 'inherit',
    cwd: '/',
  })
  t.strictSame(await once(stranger, 'exit'), [0, null])
  while (accepted.length === 0) await new Promise(resolve => setImmediate(resolve))
  t.equal(keyNow(accepted[0]!), undefined)
})

t.test('without such a table all clients are one', async t => {
  const table = () => readTable('/nowhere/net/tcp')
  const sources = byUser([0], { clock: new FakeClock(), table })
  t.equal(sources.keyOf(end('127.0.0.1', 1)), undefined)
})

t.test('FW5: words are in the machine’s order', async t => {
  const zeros = '000000000000000000000000'
  const four = row('7F000001:9C40', '01', '5', { to: '7F000001:C73E' })
  const six = [
    row(`${zeros}00000001:9C40`, '01', '6', { to: `${zeros}00000001:C73E` }),
    row('00000000000000000000FFFF7F000001:9C41', '01', '7', {
      to: '00000000000000000000FFFF7F000001:C73E',
    }),
  ].join('\n')
  const table = (family: 4 | 6) => [family === 4 ? four : six]
  for (const [address, port, key] of [
    ['127.0.0.1', 40_000, 'user 5'],
    ['::1', 40_000, 'user 6'],
    ['127.0.0.1', 40_001, 'user 7'],
  ] as const) {
    const sources = byUser([0], { clock: new FakeClock(), table, order: 'BE' })
    t.equal(sources.keyOf(end(address, port)), key)
  }
})

t.test('a connection that is younger than the table is looked up again', async t => {
  const clock = new FakeClock()
  let table = HEAD
  const sources = byUser([0], { clock, table: family => (family === 4 ? [table] : []) })
  const socketOf = (remotePort: number): Socket =>
    ({
      remoteAddress: '127.0.0.1',
      remotePort,
      localAddress: '127.0.0.1',
      localPort: PORT,
    }) as Socket
  const ask = (socket: Socket) =>
    sourceOf(socket, sources, { clock, signal: new AbortController().signal })
  const sockets = [socketOf(40_000), socketOf(40_001)]
  const asked = sockets.map(ask)
  table = row('0100007F:9C40', '01', '    0')
  await clock.advance(200)
  t.strictSame(await Promise.all(asked), [
    { key: 'user 0', isMember: true },
    { key: 'unknown', isMember: false },
  ])
  t.strictSame(await ask(sockets[0]!), { key: 'user 0', isMember: true }, 'then at once')
})

/** A clock that also goes on while a table is read. */
class BusyClock extends FakeClock {
  #busyMs = 0

  get busyMs(): number {
    return this.#busyMs
  }

  override now(): number {
    return super.now() + this.#busyMs
  }

  work(ms: number): void {
    this.#busyMs += ms
  }
}

for (const readMs of [0, 1, 20, 110, 150])
  t.test(`a table that takes ${readMs} ms is read once for many connections`, async t => {
    const clock = new BusyClock()
    let reads = 0
    const table = (): readonly string[] => {
      reads++
      clock.work(readMs)
      return []
    }
    const sources = byUser([0], { clock, table })
    const ends = Array.from({ length: 17 }, (_, i) => opened(sources, '127.0.0.1', 4_000 + i))
    for (const one of ends) t.equal(sources.keyOf(one), undefined)
    t.equal(reads, 2, 'once for each family')
    const before = clock.now()
    for (let i = 0; i < 8_000; i++) {
      sources.keyOf(opened(sources, '127.0.0.1', 5_000 + i))
      await clock.advance(i % 3 === 0 ? 5 : 0)
    }
    const [spent, passed] = [(reads - 2) * readMs, clock.now() - before]
    t.ok(spent <= passed / 10 + 2 * readMs, `a tenth for both, not ${spent} of ${passed} ms`)
  })

t.test('a flood of a stranger makes root wait for one read, not for ever', async t => {
  for (const readMs of [1, 120, 5_000]) {
    const clock = new BusyClock()
    const rows: string[] = []
    const sources = byUser([0], {
      clock,
      table: family => {
        if (family === 6) return []
        clock.work(readMs)
        return [rows.join('\n')]
      },
    })
    sources.keyOf(opened(sources, '127.0.0.1', 4_000))
    const socket = {
      ...{ remoteAddress: '127.0.0.1', remotePort: 40_000 },
      ...{ localAddress: '127.0.0.1', localPort: PORT },
    } as Socket
    sources.opened!(socket)
    rows.push(row('0100007F:9C40', '01', '    0'))
    const cameAt = clock.now()
    let knownAt: number | undefined
    const asked = sourceOf(socket, sources, { clock, signal: new AbortController().signal })
    void asked.then(() => (knownAt = clock.now()))
    for (let i = 0; knownAt === undefined && i < 1_000; i++) {
      sources.keyOf(opened(sources, '127.0.0.1', 5_000 + i))
      await clock.advance(10)
    }
    t.strictSame(await asked, { key: 'user 0', isMember: true })
    const waited = knownAt! - cameAt - readMs
    t.ok(waited <= Math.max(120, Math.min(3_020, readMs * 19 + 20)), `${readMs} ms: ${waited} ms`)
  }
})

t.test('a port that another user had until now does not make its next user root', async t => {
  const clock = new FakeClock()
  let user = '    0'
  const table = (family: 4 | 6) => (family === 4 ? [row('0100007F:9C40', '01', user)] : [])
  const sources = byUser([0], { clock, table })
  const first = opened(sources, '127.0.0.1', 40_000)
  t.equal(sources.keyOf(first), 'user 0')
  user = ' 1000'
  const second = opened(sources, '127.0.0.1', 40_000)
  t.equal(sources.keyOf(second), undefined, 'what was read is older than it')
  await clock.advance(100)
  t.equal(sources.keyOf(second), 'user 1000')
  t.equal(sources.keyOf(first), 'user 0', 'a connection keeps its user')
})

t.test('once the user is known, requests of a connection read nothing', async t => {
  const clock = new FakeClock()
  let reads = 0
  const table = () => {
    reads++
    return [row('0100007F:9C40', '01', ' 1000')]
  }
  const sources = byUser([0], { clock, table })
  const one = opened(sources, '127.0.0.1', 40_000)
  for (let i = 0; i < 10; i++) {
    t.equal(sources.keyOf({ ...one }), 'user 1000')
    await clock.advance(1_000)
  }
  sources.opened!(one.socket!)
  t.equal(sources.keyOf({ ...one }), 'user 1000', 'handed back to Node.js it is no other')
  t.equal(reads, 1)
})

t.test('of a table that is too long the rest counts for nobody, which is said once', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const piece = `${'x'.repeat((1 << 20) - 1)}\n`
  let bytes = 0
  const table = function* (family: 4 | 6): Generator<string> {
    if (family === 6) return
    yield row('0100007F:9C40', '01', '    0')
    for (bytes = 0; ; bytes += piece.length) yield piece
  }
  const sources = byUser([0], { clock, log, table })
  for (const [port, key] of [
    [40_000, 'user 0'],
    [40_001, undefined],
  ] as const) {
    t.equal(sources.keyOf(opened(sources, '127.0.0.1', port)), key)
    t.ok(bytes <= 4 << 20, `${bytes} bytes`)
    await clock.advance(100)
  }
  t.strictSame(log.lines, [
    {
      level: 'warn',
      message: 'too many sockets on this node: some clients count as strangers',
      fields: { family: 4 },
    },
  ])
})

t.test('sources that cannot know more later are asked a second time at once', async t => {
  const clock = new FakeClock()
  const { signal } = new AbortController()
  const sources = { keyOf: () => undefined, isMember: () => false }
  const asked = sourceOf({} as Socket, sources, { clock, signal })
  await clock.advance(0)
  const source = await asked
  t.strictSame(source, { key: 'unknown', isMember: false })
})
