// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { openListener } from '../../testkit/http/open-listener.js'
import { readServerTls } from '../../wrapper/tls.js'
import { certificateFor, type ServerCertificate } from '../../testkit/certificates.js'

const filesIn = (folder: string, ca: string, cert: string, key: string) => ({
  ...{ caFile: join(folder, ca), certFile: join(folder, cert), keyFile: join(folder, key) },
})

t.test('a certificate that cannot be used names its option and file', async t => {
  const own = await certificateFor('127.0.0.1')
  const other = await certificateFor('127.0.0.1')
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  const folder = t.testdir({
    'ca.pem': `a line of text\n${own.cert}\n${other.cert}`,
    ...{ 'cert.pem': own.cert, 'key.pem': own.key, 'other.pem': other.key },
    ...{ 'rubbish.pem': 'no certificate at all', 'broken.pem': broken },
    'half.pem': `${own.cert}\n${broken}`,
  })
  t.match(readServerTls(filesIn(folder, 'ca.pem', 'cert.pem', 'key.pem')), { cert: own.cert })
  const rows: [ca: string, cert: string, key: string, line: RegExp][] = [
    ['absent.pem', 'cert.pem', 'key.pem', /^--ca-file must be a file that can be read .*ENOENT/],
    ['rubbish.pem', 'cert.pem', 'key.pem', /^--ca-file must be PEM, got "/],
    ['broken.pem', 'cert.pem', 'key.pem', /^--ca-file must hold certificates/],
    ['half.pem', 'cert.pem', 'key.pem', /^--ca-file must hold certificates/],
    [
      'key.pem',
      'cert.pem',
      'key.pem',
      /^--ca-file must hold certificates \(it holds no certificate\)/,
    ],
    ['ca.pem', 'rubbish.pem', 'key.pem', /^--cert-file must be PEM/],
    ['ca.pem', 'broken.pem', 'key.pem', /^--cert-file must hold a certificate/],
    ['ca.pem', 'cert.pem', 'absent.pem', /^--key-file must be a file that can be read/],
    ['ca.pem', 'cert.pem', 'other.pem', /^--key-file must be the key of --cert-file/],
    ['ca.pem', 'cert.pem', 'cert.pem', /^--key-file must be the key of --cert-file/],
  ]
  for (const [ca, cert, key, message] of rows)
    t.throws(
      () => readServerTls(filesIn(folder, ca, cert, key)),
      { message },
      `${ca} ${cert} ${key}`,
    )
  t.equal(readServerTls({ caFile: undefined, certFile: undefined, keyFile: undefined }), undefined)
})

const ask = (
  port: number,
  tls: { readonly ca: string; readonly client?: ServerCertificate },
): Promise<number | string> =>
  new Promise(resolve => {
    const { ca, client } = tls
    https
      .request({ host: '127.0.0.1', port, ca, ...client, agent: false }, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      .on('error', error => resolve(error.message))
      .end()
  })

t.test(
  'over TLS only clients with a certificate of the authority are served; new files are used',
  async t => {
    const own = await certificateFor('127.0.0.1')
    const authority = await certificateFor('127.0.0.2')
    const stranger = await certificateFor('127.0.0.3')
    const folder = t.testdir({ 'ca.pem': authority.cert, 'cert.pem': own.cert, 'key.pem': own.key })
    const files = filesIn(folder, 'ca.pem', 'cert.pem', 'key.pem')
    const listener = await openListener({
      handle: (_request, response) => void response.writeHead(204).end(),
      tls: readServerTls(files),
    })
    t.teardown(() => listener.close())
    const { port } = listener
    t.equal(await ask(port, { ca: own.cert, client: authority }), 204)
    t.type(await ask(port, { ca: own.cert }), 'string', 'without a certificate')
    t.type(await ask(port, { ca: own.cert, client: stranger }), 'string', 'of another authority')
    const next = await certificateFor('127.0.0.1')
    writeFileSync(files.certFile, next.cert)
    writeFileSync(files.keyFile, next.key)
    writeFileSync(files.caFile, stranger.cert)
    listener.renew(readServerTls(files)!)
    t.equal(await ask(port, { ca: next.cert, client: stranger }), 204)
    t.type(await ask(port, { ca: next.cert, client: authority }), 'string', 'the old authority')
  },
)
