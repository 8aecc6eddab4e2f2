// SPDX-License-Identifier: Apache-2.0
// The whole wrapper tells the users of its node apart.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { getuid, seteuid } from 'node:process'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { USERS_FRESH_MS } from '../../net/socket-users.js'
import { behind } from './front.js'
import {
  ENDPOINTS,
  SLICES,
  isSo,
  startUpstream,
  startWrapper,
  type WrapperBed,
} from './wrapper-bed.js'

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

/** The answer to a GET by that user, over a connection of its own. */
const askAs = async (user: number, bed: WrapperBed, path: string): Promise<string> => {
  const socket = connectAs(user, new URL(bed.url))
  await once(socket, 'connect')
  await bed.clock.advance(USERS_FRESH_MS)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  return text(socket)
}

/** The wrapper's own versions have 16 digits. */
const FROM_STORE = /"resourceVersion":"\d{16}"/
const FROM_API = /"resourceVersion":"\d{1,9}"/

t.test(
  'a stranger does not make the wrapper keep what it had not kept',
  { skip: getuid?.() !== 0 },
  async t => {
    const bed = await startWrapper(t, await startUpstream(t), { net: NET })
    await isSo(async () => (await bed.shown()) === 'a,b,c')
    const kept = async (): Promise<readonly string[]> => {
      const { resources } = await bed.status()
      return resources.flatMap(({ resource, source }) => (source === 'none' ? [] : [resource]))
    }
    t.match(await askAs(NOBODY, bed, SLICES), FROM_STORE, 'what is always kept is for all')
    for (const query of ['', '?limit=1', '?resourceVersion=0'])
      t.match(await askAs(NOBODY, bed, ENDPOINTS + query), FROM_API, `passed on: ${query}`)
    t.notOk((await kept()).includes('endpoints'))
    t.match(await askAs(0, bed, ENDPOINTS), FROM_STORE, 'it is kept for root')
    t.ok((await kept()).includes('endpoints'))
    t.match(await askAs(NOBODY, bed, ENDPOINTS), FROM_STORE, 'and then for all')
  },
)
