// SPDX-License-Identifier: Apache-2.0
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { makeTls } from '../../../kube/client/tls-material.js'
import { certificateFor } from '../../../testkit/certificates.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { call, scripted, startProxy, type Got } from '../proxy-bed.js'
import { answer, type ScriptedServer } from '../../../testkit/http/scripted-server.js'

/** A way to a TLS server that can be cut as a dead link is: connections stay, and nothing arrives. */
const startWay = async (t: Test, api: ScriptedServer) => {
  const sockets: Socket[] = []
  let isHole = false
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    if (isHole) return
    const inner = connect(api.port, '127.0.0.1')
    sockets.push(inner)
    inner.on('error', () => undefined)
    socket.pipe(inner).pipe(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const forget = (): void => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  return {
    port: (server.address() as AddressInfo).port,
    /** New connections as well. */
    cut: () => {
      isHole = true
      forget()
    },
    /** The connections that are there, as when a modem dials again. */
    forget,
    get connections() {
      return sockets.length
    },
  }
}

const makeBed = async (t: Test) => {
  const { key, cert } = await certificateFor('127.0.0.1')
  const api = await scripted(t, { key, cert })
  const way = await startWay(t, api)
  const clock = new FakeClock()
  const tls = makeTls({
    ...{ ca: cert, cert: undefined, key: undefined, servername: undefined },
    insecure: false,
  })
  const server = new URL(`https://127.0.0.1:${way.port}`)
  const upstream = () => Promise.resolve({ server, headers: {}, tls })
  const bed = await startProxy(t, { clock, upstream })
  /** What is answered when this much time has gone by, one second after the other. */
  const within = async (seconds: number, asking: Promise<Got>): Promise<Got | undefined> => {
    let got: Got | undefined
    void asking.then(answer => (got = answer))
    // Handshakes take real time: what they need must fit into five of these.
    const pause = () => new Promise(resolve => setTimeout(resolve, 60))
    await pause()
    for (let i = 0; i < seconds && got === undefined; i++) {
      await clock.advance(1_000)
      await pause()
    }
    return got
  }
  const idle = async (): Promise<void> => {
    api.script(answer({}))
    await call(bed, '/version')
  }
  return { api, way, bed, clock, within, idle }
}

t.test('FW16: a dead link is an error within seconds, on a kept connection too', async t => {
  const { way, bed, within, idle } = await makeBed(t)
  await idle()
  way.cut()
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const got = await within(15, call(bed, '/api/v1/namespaces/n/pods/p', { method }))
    t.match(got, { status: 503, text: /cannot be reached from this node/ }, method)
  }
})

t.test('FW16: a link that dies while an answer is due is an error within seconds', async t => {
  const { api, way, bed, within } = await makeBed(t)
  api.script({ kind: 'hang' })
  const asking = call(bed, '/api/v1/namespaces/n/pods/p', { method: 'PUT' }, '{}')
  await api.request(0)
  way.cut()
  t.match(await within(15, asking), { status: 503, text: /accepts no new connection/ })
})

t.test('FW16: dead kept-alive connections are closed, and new ones are tried', async t => {
  const { api, way, bed, within, idle } = await makeBed(t)
  await idle()
  way.forget()
  api.script(answer({ is: 'there' }))
  const got = await within(15, call(bed, '/api/v1/pods'))
  t.match(got, { status: 200, text: '{"is":"there"}' })
})

t.test('an apiserver that is slow is waited for, and asked once', async t => {
  const { api, bed, within } = await makeBed(t)
  api.script({ kind: 'hang' })
  const asking = call(bed, '/api/v1/namespaces/n/pods/p', { method: 'PUT' }, '{}')
  await api.request(0)
  t.equal(await within(60, asking), undefined)
  t.match(await within(15, asking), { status: 503, text: /no answer within 70000 ms/ })
  t.equal(api.asked.length, 1)
})
