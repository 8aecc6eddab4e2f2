// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { keepRenewed, readCertificate } from '../../net/tls-files.js'
import { certificateFor } from '../../testkit/certificates.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'

const done = (_request: unknown, response: { end(text: string): unknown }) => response.end('ok')

const get = (port: number, ca: string): Promise<string> =>
  new Promise(resolve => {
    https
      .get({ host: '127.0.0.1', port, ca, agent: false }, response => {
        response.resume()
        resolve(String(response.statusCode))
      })
      .on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
  })

t.test('what cannot be used names its option and file', async t => {
  const own = await certificateFor('127.0.0.1')
  const other = await certificateFor('127.0.0.1')
  const folder = t.testdir({
    ...{ 'cert.pem': own.cert, 'key.pem': own.key, 'other.pem': other.key, 'text.pem': 'hello' },
  })
  const read = (cert: string, key: string) => () =>
    readCertificate(
      { option: '--a', path: join(folder, cert) },
      { option: '--b', path: join(folder, key) },
    )
  t.strictSame(read('cert.pem', 'key.pem')(), { cert: own.cert, key: own.key })
  t.throws(read('none.pem', 'key.pem'), {
    message: /^--a must be a file that can be read .*ENOENT/,
  })
  t.throws(read('text.pem', 'key.pem'), { message: /^--a must be PEM, got "/ })
  t.throws(read('key.pem', 'key.pem'), { message: /^--a must hold a certificate/ })
  t.throws(read('cert.pem', 'other.pem'), { message: /^--b must be the key of --a/ })
})

t.test(
  'a listener without an authority asks its clients for no certificate, and renews its own',
  async t => {
    const first = await certificateFor('127.0.0.1')
    const second = await certificateFor('127.0.0.1')
    const folder = t.testdir({ 'cert.pem': first.cert, 'key.pem': first.key })
    const read = () =>
      readCertificate(
        { option: '--cert', path: join(folder, 'cert.pem') },
        { option: '--key', path: join(folder, 'key.pem') },
      )
    const put = ({ cert, key }: { cert: string; key: string }): void => {
      writeFileSync(join(folder, 'cert.pem'), cert)
      writeFileSync(join(folder, 'key.pem'), key)
    }
    const tls = read()
    const log = recordingLog()
    const clock = new FakeClock()
    const ending = new AbortController()
    const listener = await openListener({ handle: done, tls }, { log })
    t.teardown(() => listener.close())
    const following = keepRenewed(listener, tls, { clock, log, signal: ending.signal, read })
    t.equal(await get(listener.port, first.cert), '200')
    t.not(await get(listener.port, second.cert), '200')
    put(second)
    await clock.advance(60_000)
    t.equal(await get(listener.port, second.cert), '200')
    put({ cert: second.cert, key: 'half of a key' })
    await clock.advance(60_000)
    t.match(log.lines.at(-1), { message: /cannot be renewed; the last good ones stay/ })
    t.equal(await get(listener.port, second.cert), '200')
    put(second)
    await clock.advance(60_000)
    t.equal(log.lines.filter(({ message }) => message === 'certificates are renewed').length, 1)
    ending.abort()
    await following
  },
)
