// SPDX-License-Identifier: Apache-2.0
import { request } from 'node:http'
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { listenForOperators } from '../../net/operator-listener.js'
import { seededRandom } from '../../testkit/seeded-random.js'

const views = {
  status: () => ({}),
  metrics: () => '',
  ready: () => ({ isReady: true, reason: 'ok' }),
}
const seams = {
  ...{ clock: systemClock, random: seededRandom(1), log: silentLog },
  signal: new AbortController().signal,
}

const statusFor = (port: number, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { host }
    const asked = request({ host: '127.0.0.1', port, path: '/readyz', headers }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
    asked.on('error', reject).end()
  })

t.test('on loopback another Host is refused; on all addresses any is served', async t => {
  for (const [host, status] of [
    ['127.0.0.1', 403],
    ['0.0.0.0', 200],
  ] as const) {
    const listener = await listenForOperators({ host, port: 0 }, views, seams)
    t.teardown(() => listener.close())
    t.equal(await statusFor(listener.port, 'localhost'), 200, host)
    t.equal(await statusFor(listener.port, 'rebound.example.com'), status, host)
  }
})
