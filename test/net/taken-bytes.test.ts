// SPDX-License-Identifier: Apache-2.0
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { takenBytes } from '../../net/taken-bytes.js'
import { certificateFor } from '../../testkit/certificates.js'

/** More than the kernel's buffers of a connection. */
const LARGE = Buffer.alloc(64 << 20)
const authority = await certificateFor('127.0.0.1')

/** A connection whose other end reads when it is told to. */
const connect = async (t: Test, isTls: boolean): Promise<{ here: Socket; there: Socket }> => {
  const server = isTls ? tls.createServer(authority) : net.createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const arrived = once(server, isTls ? 'secureConnection' : 'connection')
  const here = isTls
    ? tls.connect({ port, host: '127.0.0.1', ca: authority.cert })
    : net.connect(port, '127.0.0.1')
  const opened = once(here, isTls ? 'secureConnect' : 'connect')
  const [there] = (await arrived) as [Socket]
  await opened
  there.pause()
  t.teardown(() => {
    for (const socket of [here, there]) socket.on('error', () => undefined).destroy()
    server.close()
  })
  return { here, there }
}

for (const isTls of [false, true])
  t.test(`they grow while one write is on its way (${isTls ? 'TLS' : 'TCP'})`, async t => {
    const { here, there } = await connect(t, isTls)
    here.write(LARGE)
    let last = takenBytes(here)!
    t.ok(last < LARGE.length, 'the other end reads nothing')
    let read = 0
    let steps = 0
    let hasShrunk = false
    await new Promise<void>(resolve => {
      there.on('data', (bytes: Buffer) => {
        read += bytes.length
        const now = takenBytes(here)!
        hasShrunk ||= now < last
        if (now > last && read < LARGE.length) steps++
        last = now
        if (read === LARGE.length) resolve()
      })
      there.resume()
    })
    t.notOk(hasShrunk)
    t.ok(steps > 0, 'there is progress before the write is over')
    t.ok(takenBytes(here)! >= LARGE.length, 'all are taken once all have arrived')
  })

t.test('what is no socket tells nothing', async t => {
  t.equal(takenBytes(new Duplex()), undefined)
})
