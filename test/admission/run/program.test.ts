// SPDX-License-Identifier: Apache-2.0
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectPlain, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { resolveAdmissionOptions } from '../../../admission/options/resolve.js'
import { makePair } from '../../../admission/run/certificates.js'
import { makeProgram } from '../../../admission/run/program.js'
import { systemClock } from '../../../core/clock.js'
import { systemRandom } from '../../../core/random.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { freePort } from '../../../testkit/free-port.js'
import { recordingLog } from '../../../testkit/recording-log.js'

const makeOptions = async (
  masterUrl: string,
  port: number,
  more: Readonly<Record<string, string>> = {},
) => {
  const given = {
    ...more,
    'master-url': masterUrl,
    'listen-address': `127.0.0.1:${port}`,
    'status-address': `127.0.0.1:${await freePort()}`,
  }
  const flags = Object.entries(given).map(([name, text]) => ({ name, text }))
  return resolveAdmissionOptions({ flags, env: {} }).options
}

t.test('a webhook whose certificates end by a bug fails, and answers no reviews', async t => {
  const port = await freePort()
  // Nobody answers there.
  const options = await makeOptions('http://127.0.0.1:9', port)
  const lines = recordingLog()
  const warn = (message: string): void => {
    if (message.startsWith('certificates')) throw new Error('broken')
  }
  const log = { ...lines, warn }
  const program = makeProgram(options, {
    ...{ clock: systemClock, random: systemRandom, log, version: 'test', environment: {} },
  })
  t.teardown(() => program.stop())
  await t.rejects(program.start(), { message: 'broken' })
  await t.rejects(program.failed!, { message: 'broken' })
  t.match(
    lines.lines.find(({ level }) => level === 'error'),
    { message: 'bug: the certificates ended' },
  )
  await t.rejects(fetch(`http://127.0.0.1:${port}/`), 'nobody listens for reviews')
})

t.test('Nodes are listed in small pages, so that few of them are in memory at once', async t => {
  let heard: (url: string) => void = () => undefined
  const asked = new Promise<string>(resolve => (heard = resolve))
  const api = createServer(({ url = '' }, response) => {
    if (url.startsWith('/api/v1/nodes')) heard(url)
    response.writeHead(503).end()
  })
  await new Promise<void>(resolve => api.listen(0, '127.0.0.1', resolve))
  const { port } = api.address() as AddressInfo
  const options = await makeOptions(`http://127.0.0.1:${port}`, await freePort())
  const seams = { clock: systemClock, random: systemRandom, log: recordingLog() }
  const program = makeProgram(options, { ...seams, version: 'test', environment: {} })
  t.teardown(async () => {
    await program.stop()
    api.closeAllConnections()
    api.close()
  })
  program.start().catch(() => undefined)
  t.match(await asked, /\?limit=50$/)
})

t.test(
  'a connection without a request stays open for as long as an apiserver keeps it',
  async t => {
    const { ca, cert, key } = await makePair(['webhook'], Date.now())
    const dir = t.testdir({ 'tls.crt': cert, 'tls.key': key })
    const port = await freePort()
    const files = { 'cert-file': join(dir, 'tls.crt'), 'key-file': join(dir, 'tls.key') }
    // Nobody answers there.
    const options = await makeOptions('http://127.0.0.1:9', port, files)
    const clock = new FakeClock()
    const seams = { clock, random: systemRandom, log: recordingLog() }
    const program = makeProgram(options, { ...seams, version: 'test', environment: {} })
    t.teardown(() => program.stop())
    await program.start()
    const spare = connect({ host: '127.0.0.1', port, ca, servername: 'webhook' })
    t.teardown(() => spare.destroy())
    await once(spare, 'secureConnect')
    const closed = once(spare, 'close').then(() => ['closed'])
    const silent = connectPlain({ host: '127.0.0.1', port })
    t.teardown(() => silent.destroy())
    await once(silent, 'close', { signal: AbortSignal.timeout(60_000) })
    t.pass('who connects and begins no handshake does not keep a place')
    // How long apiservers keep idle connections.
    await clock.advance(90_000)
    spare.write('GET / HTTP/1.1\r\nHost: webhook\r\n\r\n')
    const [answer] = (await Promise.race([once(spare, 'data'), closed])) as [Buffer | string]
    t.match(answer.toString(), /^HTTP\/1\.1 40/)
  },
)
