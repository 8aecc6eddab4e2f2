// SPDX-License-Identifier: Apache-2.0
// The whole wrapper tells the users of its node apart.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { getuid, seteuid } from 'node:process'
import t from 'tap'
import { USERS_FRESH_MS } from '../../net/socket-users.js'
import { behind } from './front.js'
import { isSo, startUpstream, startWrapper } from './wrapper-bed.js'

t.setTimeout(60_000)

const NET = 29
const EVENTS = '/api/v1/namespaces/default/events'
const NOBODY = 65_534

/** A connection of another user. The kernel notes the user when the socket is made, which is in the next tick. */
const connectAs = (user: number, to: URL): Socket => {
  seteuid!(user)
  const socket = connect({ host: to.hostname, port: Number(to.port) })
  process.nextTick(() => seteuid!(0))
  return socket
}

t.test(
  'one user who fills the queue of Events leaves room for another',
  { skip: getuid?.() !== 0 },
  async t => {
    const upstream = await startUpstream(t)
    const front = await behind(t, upstream, request => {
      if (request.method === 'POST') request.socket.destroy()
      return request.method === 'POST'
    })
    const bed = await startWrapper(t, front, { net: NET })
    await isSo(async () => (await bed.shown()) === 'a,b,c')
    const post = async (): Promise<number> => {
      const body = 'x'.repeat(200 << 10)
      return (await bed.write(EVENTS, { method: 'POST', body })).status
    }
    for (const status of [201, 201, 201, 503]) t.equal(await post(), status)
    const socket = connectAs(NOBODY, new URL(bed.url))
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    await bed.clock.advance(USERS_FRESH_MS)
    const body = 'x'.repeat(300 << 10)
    socket.write(
      `POST ${EVENTS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    t.match(answer.toString('latin1', 0, 20), /^HTTP\/1\.1 201/)
    t.match((await bed.status()).events, { waiting: 4, dropped: 1 })
  },
)
