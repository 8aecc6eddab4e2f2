// SPDX-License-Identifier: Apache-2.0
// Requests that are sent before the ones ahead of them are answered (RFC 9112, 9.3.2).
import type { RequestListener, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { sendRaw } from '../../testkit/http/raw-http.js'

const get = (path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`
const upgrade = (to: string): string => `Connection: Upgrade\r\nUpgrade: ${to}\r\n`

/** A listener whose answers the test gives. */
const openSlow = async (t: Test) => {
  const open: { readonly path: string; readonly response: ServerResponse }[] = []
  const handle: RequestListener = ({ url = '' }, response) => {
    open.push({ path: url, response })
    response.writeHead(200).flushHeaders()
  }
  const tunnels: string[] = []
  const listener = await openListener({
    handle,
    upgrade: ({ url = '' }, socket) => {
      tunnels.push(url)
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    },
    asksForUpgrade: ({ headers }) => headers.upgrade === 'websocket',
  })
  t.teardown(() => listener.close())
  return { ...listener, open, tunnels }
}

const comes = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await settle()
}

t.test('requests of one connection are served one after the other, in their order', async t => {
  const { port, open } = await openSlow(t)
  const answer = sendRaw(port, `${get('/1')}${get('/2')}${get('/3', 'Connection: close\r\n')}`)
  for (const path of ['/1', '/2', '/3']) {
    await comes(() => open.length > 0)
    await settle()
    t.strictSame(
      open.map(each => each.path),
      [path],
    )
    open.shift()!.response.end(path)
  }
  t.match(await answer, /\/1[^]*\/2[^]*\/3/)
})

t.test(
  'a client that pipelines more than 4 requests is disconnected, and none of them is served',
  async t => {
    const { port, open } = await openSlow(t)
    t.match(await sendRaw(port, get('/').repeat(1_000)), /^(HTTP\/1\.1 200[^]*)?$/)
    await settle()
    t.equal(open.length, 1)
    t.ok(open[0]!.response.destroyed)
  },
)

t.test('pipelined requests of a client that left are not served', async t => {
  const { port, open } = await openSlow(t)
  const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(get('/').repeat(3)))
  await comes(() => open.length > 0)
  socket.destroy()
  await comes(() => open[0]!.response.destroyed)
  await settle()
  t.equal(open.length, 1)
})

t.test('a body that waits for its turn is not late', async t => {
  const clock = new FakeClock()
  const responses: ServerResponse[] = []
  const handle: RequestListener = (request, response) => {
    request.resume()
    responses.push(response)
  }
  const listener = await openListener({ handle }, { clock })
  t.teardown(() => listener.close())
  const put = 'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf'
  const answer = sendRaw(listener.port, `${get('/')}${put}`)
  await comes(() => responses.length > 0)
  await clock.advance(60_000)
  responses[0]!.end('first')
  await comes(() => responses.length > 1)
  await clock.advance(60_000)
  t.match(await answer, /^HTTP\/1\.1 200 [^]*first[^]*HTTP\/1\.1 408 /)
})

for (const protocol of ['h2c', 'websocket'])
  t.test(`who asks for ${protocol} before the last answer gets no two answers mixed`, async t => {
    const { port, open, tunnels } = await openSlow(t)
    const answer = await sendRaw(port, `${get('/1')}${get('/2', upgrade(protocol))}`)
    t.equal(answer.match(/HTTP\/1\.1/g)?.length ?? 0, open.length)
    t.ok(open.length <= 1)
    t.strictSame(tunnels, [])
  })

t.test('who asks for another protocol after the answer gets it', async t => {
  const listener = await openListener({
    handle: ({ url }, response) => void response.end(`${url}.`),
    upgrade: (_request, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    asksForUpgrade: ({ headers }) => headers.upgrade === 'websocket',
  })
  t.teardown(() => listener.close())
  const requests = [get('/1'), get('/2', upgrade('h2c')), get('/3', upgrade('websocket'))]
  const answers = await new Promise<string>(resolve => {
    let got = ''
    const socket = connect({ port: listener.port, host: '127.0.0.1' })
    const send = (): void => void socket.write(requests.shift()!)
    socket.setEncoding('latin1').on('connect', send)
    socket.on('data', (part: string) => {
      got += part
      if (part.endsWith('.')) send()
    })
    socket.on('close', () => resolve(got))
  })
  t.match(answers, /\/1\.HTTP[^]*\/2\.HTTP\/1\.1 101 /)
})

t.test(
  'a connection that asks in vain for other protocols again and again costs no more',
  async t => {
    const warnings: Error[] = []
    const warn = (warning: Error): void => void warnings.push(warning)
    process.on('warning', warn)
    t.teardown(() => process.off('warning', warn))
    const listener = await openListener({
      handle: ({ url, socket }, response) =>
        void response.end(
          `${url} ${socket
            .eventNames()
            .map(name => socket.listenerCount(name))
            .join()}.`,
        ),
      upgrade: () => undefined,
      asksForUpgrade: () => false,
    })
    t.teardown(() => listener.close())
    const counts: string[] = []
    const socket = connect({ port: listener.port, host: '127.0.0.1' })
    socket.setEncoding('latin1')
    await new Promise<void>(resolve => {
      socket.on('data', (part: string) => {
        counts.push(...(/\/x (.*)\./.exec(part)?.slice(1) ?? []))
        if (counts.length === 50) resolve()
        else socket.write(get('/x', upgrade('h2c')))
      })
      socket.write(get('/x', upgrade('h2c')))
    })
    socket.destroy()
    t.equal(counts[2], counts[49])
    t.strictSame(warnings, [])
  },
)
