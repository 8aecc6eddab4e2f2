// SPDX-License-Identifier: Apache-2.0
import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { connect, Socket } from 'node:net'
import t from 'tap'
import { Connections } from '../../net/connections.js'
import { byUser, trustedUsers } from '../../net/socket-users.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { ANYBODY, LIMITS, openListener } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'

t.test('a request whose connection is already closed is ignored', async t => {
  const clock = new FakeClock()
  const options = { address: '127.0.0.1', limits: LIMITS, sources: ANYBODY, isSecure: false }
  const connections = new Connections(options, {
    clock,
    random: seededRandom(1),
    log: recordingLog(),
  })
  const request = new IncomingMessage(new Socket())
  connections.requested(request, new ServerResponse(request), () => t.fail('it is served'))
  connections.upgraded(request)
  connections.released(request)
  t.equal(clock.waiting, 0)
  t.ok(connections.isBusy(request))
})

t.test('connections from one port to several of our addresses are not mixed up', async t => {
  const listener = await openListener({
    address: '0.0.0.0',
    handle: (_request, response) => void response.end('done'),
  })
  t.teardown(() => listener.close())
  const { port } = listener
  const openTo = async (host: string, localPort?: number): Promise<Socket> => {
    const socket = connect({ host, port, localAddress: '127.0.0.1', localPort })
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  const ask = async (socket: Socket): Promise<string> => {
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const [answer] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [
      unknown,
    ]
    return String(answer).slice(0, 15)
  }
  const first = await openTo('127.0.0.1')
  t.equal(await ask(first), 'HTTP/1.1 200 OK')
  const second = await openTo('127.0.0.2', first.localPort)
  t.equal(await ask(second), 'HTTP/1.1 200 OK')
  second.destroy()
  await once(second, 'close')
  // The listener has heard of it when another one is answered.
  const third = await openTo('127.0.0.1')
  t.equal(await ask(third), 'HTTP/1.1 200 OK')
  t.equal(await ask(first), 'HTTP/1.1 200 OK', 'the first is still known')
})

t.test(
  'one read of the kernel’s sockets tells the users of all connections that were open before',
  { skip: process.platform !== 'linux' },
  async t => {
    const sources = byUser(trustedUsers(), { clock: new FakeClock() })
    const limits = { total: 8, strangers: 4, perStranger: 4, perMember: 8 }
    const listener = await openListener({
      ...{ sources, limits },
      handle: (_request, response) => void response.end('done'),
    })
    t.teardown(() => listener.close())
    for (let i = 0; i < 8; i++) {
      const socket = connect({ host: '127.0.0.1', port: listener.port })
      t.teardown(() => socket.destroy())
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
      t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 200/)
    }
    t.equal(listener.status.evicted, 0, 'a member has its share')
  },
)
