import { createServer as createTcp, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../core/clock.js'
import { systemRandom } from '../../core/random.js'
import { ANYBODY } from '../../testkit/http/open-listener.js'
import { sendRaw } from '../../testkit/http/raw-http.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { openForClients } from '../../wrapper/listeners.js'
import { Proxy } from '../../wrapper/proxy/proxy.js'
import { upstreamAt } from './proxy-bed.js'

t.setTimeout(60_000)

const start = async (t: Test) => {
  let text = ''
  const sockets: Socket[] = []
  const upstream = createTcp(socket => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', part => {
      text += part.toString('latin1')
      if (text.includes('\r\n\r\n'))
        setTimeout(
          () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'),
          100,
        )
    })
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  const { port } = upstream.address() as AddressInfo
  const [clock, random, log] = [systemClock, systemRandom, recordingLog()]
  const proxy = new Proxy(
    { maxEvents: 3, maxBytes: 1e5 },
    {
      clock,
      random,
      log,
      upstream: upstreamAt(`http://127.0.0.1:${port}`),
      recordOf: () => undefined,
      isCut: () => false,
    },
  )
  const listener = await openForClients(
    { host: '127.0.0.1', port: 0 },
    { handle: proxy.handle, upgrade: proxy.upgrade, tls: undefined, sources: ANYBODY },
    { clock, random, log, signal: new AbortController().signal },
  )
  t.teardown(async () => {
    for (const s of sockets) s.destroy()
    upstream.close()
    await proxy.stop()
    await listener.close()
  })
  return { port: listener.port, text: () => text }
}
for (const n of [900, 1_100, 3_000])
  t.test(`a request with ${n} headers is passed on with all of them`, async t => {
    const bed = await start(t)
    const many = Array.from({ length: n }, (_, i) => `a${i}: b\r\n`).join('')
    const got = await sendRaw(
      bed.port,
      `POST /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer gateway-admin\r\n${many}Impersonate-User: nobody\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody`,
    )
    const sent = bed.text()
    t.match(sent, /Impersonate-User: nobody/, 'the user is impersonated still')
    t.match(sent, /\r\n\r\nbody/, 'the body is passed on')
    t.match(got, /^HTTP\/1.1 200/)
  })
