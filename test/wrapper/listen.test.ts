// SPDX-License-Identifier: Apache-2.0
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { ListenError } from '../../core/errors.js'
import { listen } from '../../wrapper/listen.js'
import { FakeClock, settle } from '../support/fake-clock.js'
import { recordingLog } from '../support/recording-log.js'

const host = '127.0.0.1'

t.test('an address that cannot be had is told in words', async t => {
  const seams = { clock: systemClock, log: recordingLog() }
  const handle = (): void => undefined
  const first = await listen({ at: { host, port: 0 }, handle }, seams)
  t.teardown(() => first.close())
  const { port } = first
  const rejected = (at: { host: string; port: number }, message: RegExp): Promise<unknown> =>
    t.rejects(listen({ at, handle }, seams), { constructor: ListenError, message })
  await rejected({ host, port }, /127\.0\.0\.1:\d+: the port is taken; is another wrapper running/)
  await rejected(
    { host: '192.0.2.1', port },
    /192\.0\.2\.1:\d+: this node does not have the address/,
  )
})

const open = (port: number, text: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      socket.on('error', () => undefined)
      socket.write(text)
      resolve(socket)
    })
  })

t.test(
  'closing lets answers end for a moment, and cuts what is left, upgrades at once',
  async t => {
    const clock = new FakeClock()
    const asked: string[] = []
    const listener = await listen(
      {
        at: { host, port: 0 },
        handle: request => void asked.push(request.url!),
        upgrade: (request, socket) => {
          asked.push(request.url!)
          socket.on('error', () => undefined)
        },
      },
      { clock, log: recordingLog() },
    )
    const { port } = listener
    const waiting = await open(port, 'GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    const upgraded = await open(
      port,
      'GET /exec HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    const ends = (socket: Socket): Promise<void> => new Promise(done => socket.once('close', done))
    const upgradeEnds = ends(upgraded)
    const waitingEnds = ends(waiting)
    upgraded.resume()
    waiting.resume()
    while (asked.length < 2) await settle()
    const closed = listener.close()
    await upgradeEnds
    t.equal(listener.close(), closed, 'may be asked twice')
    t.equal(waiting.destroyed, false, 'an answer may still come')
    await clock.advance(1_000)
    await closed
    await waitingEnds
  },
)

t.test('a page whose name was rebound to this machine is answered nothing', async t => {
  const asked: string[] = []
  const listener = await listen(
    {
      at: { host, port: 0 },
      handle: (request, response) => {
        asked.push(request.headers.host!)
        response.end()
      },
      upgrade: request => void asked.push(request.headers.host!),
    },
    { clock: systemClock, log: recordingLog() },
  )
  t.teardown(() => listener.close())
  const answerTo = async (name: string, more = ''): Promise<string> => {
    const socket = await open(listener.port, `GET / HTTP/1.1\r\nHost: ${name}\r\n${more}\r\n`)
    let text = ''
    socket.on('data', part => (text += part.toString()))
    const isOver = (): boolean => socket.destroyed || text.includes('\r\n\r\n')
    while (!isOver()) await settle()
    socket.destroy()
    return text
  }
  for (const name of ['127.0.0.1:51006', 'localhost', '[::1]:51006'])
    t.match(await answerTo(name), /^HTTP\/1\.1 200/, name)
  t.equal(asked.length, 3)
  for (const name of ['evil.example', '127.0.0.1.evil.example', '10.0.0.1'])
    t.match(await answerTo(name), /^HTTP\/1\.1 403[^]*"kind":"Status"/, name)
  t.equal(await answerTo('evil.example', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), '')
  t.equal(asked.length, 3, 'nobody behind the listener hears of them')
})
