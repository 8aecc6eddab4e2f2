// SPDX-License-Identifier: Apache-2.0
import { createServer, connect, type Socket } from 'node:net'
import t from 'tap'
import { byUser, kernelSockets, readTable, trustedUsers } from '../../net/socket-users.js'
import { FakeClock } from '../../testkit/fake-clock.js'

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
const row = (local: string, state: string, user: string): string =>
  `   3: ${local} 0100007F:C73E ${state} 00000000:00000000 00:00000000 00000000 ${user}        0 12345 1 0`

t.test('FW5: the user behind a loopback connection, as Linux tells it', async t => {
  const clock = new FakeClock()
  let reads = 0
  let table = [
    HEAD,
    row('0100007F:9C40', '01', ' 1000'),
    row('0200007F:9C41', '01', '    0'),
    row('0100007F:9C42', '06', '    0'),
    row('0100007F:9C43', '01', 'nobody'),
    'nonsense',
    '',
  ].join('\n')
  const sources = byUser([0, 65_532], {
    clock,
    table: family => {
      reads++
      const six = '00000000000000000000000001000000:9C44'
      return family === 4 ? table : row(six, '01', '65532')
    },
  })
  const keyOf = (address: string, port: number) => sources.keyOf({ address, port })
  t.equal(keyOf('127.0.0.1', 40_000), 'user 1000')
  t.equal(keyOf('::ffff:127.0.0.1', 40_000), 'user 1000')
  t.equal(keyOf('127.0.0.2', 40_001), 'user 0')
  t.equal(keyOf('127.0.0.1', 40_001), undefined, 'another address')
  t.equal(keyOf('127.0.0.1', 40_002), undefined, 'a socket that is over is nobody’s')
  t.equal(keyOf('127.0.0.1', 40_003), undefined)
  t.equal(reads, 1, 'read once for all of them')
  t.equal(keyOf('::1', 40_004), 'user 65532')
  table = row('0100007F:9C40', '01', '7')
  await clock.advance(99)
  t.equal(keyOf('127.0.0.1', 40_000), 'user 1000')
  await clock.advance(1)
  t.equal(keyOf('127.0.0.1', 40_000), 'user 7', 'and again after a moment')
  t.equal(keyOf('10.0.0.9', 40_000), '10.0.0.9', 'who comes from elsewhere goes by address')
  t.ok(sources.isMember('user 0'))
  t.ok(sources.isMember('user 65532'))
  t.notOk(sources.isMember('user 1000'))
})

t.test('FW5: the kernel’s own table knows us', { skip: process.platform !== 'linux' }, async t => {
  for (const host of ['127.0.0.1', '::1']) {
    const accepted: Socket[] = []
    const server = createServer(socket => accepted.push(socket)).listen(0, host)
    await new Promise(resolve => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const socket = connect({ host, port })
    while (accepted.length === 0) await new Promise(resolve => setImmediate(resolve))
    const { remoteAddress: address = '', remotePort = 0 } = accepted[0]!
    const sources = byUser(trustedUsers(), { clock: new FakeClock() })
    const key = sources.keyOf({ address, port: remotePort })
    t.equal(key, `user ${process.getuid!()}`, host)
    t.ok(sources.isMember(key!))
    socket.destroy()
    accepted[0]!.destroy()
    server.close()
  }
  t.match(kernelSockets(4), /local_address/)
})

t.test('without such a table all clients are one', async t => {
  const table = () => readTable('/nowhere/net/tcp')
  const sources = byUser([0], { clock: new FakeClock(), table })
  t.equal(sources.keyOf({ address: '127.0.0.1', port: 1 }), undefined)
})

t.test('FW5: words are in the machine’s order', async t => {
  const four = row('7F000001:9C40', '01', '5')
  const six = row('00000000000000000000000000000001:9C40', '01', '6')
  const table = (family: 4 | 6): string => (family === 4 ? four : six)
  const sources = byUser([0], { clock: new FakeClock(), table, order: 'BE' })
  t.equal(sources.keyOf({ address: '127.0.0.1', port: 40_000 }), 'user 5')
  t.equal(sources.keyOf({ address: '::1', port: 40_000 }), 'user 6')
})
