// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:https'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { systemClock } from '../../../core/clock.js'
import { silentLog } from '../../../core/log.js'
import { CertificateFiles } from '../../../admission/run/certificate-files.js'
import { makePair } from '../../../admission/run/certificates.js'

t.test(
  'a new certificate that cannot be used: the old one is served, and status says so',
  async t => {
    const dir = t.testdir({})
    const [certFile, keyFile] = [join(dir, 'tls.crt'), join(dir, 'tls.key')]
    const now = Date.now()
    const [first, second] = [
      await makePair(['a.b.svc'], now - 86_400_000),
      await makePair(['a.b.svc'], now),
    ]
    writeFileSync(certFile, first.cert)
    writeFileSync(keyFile, first.key)
    const server = createServer({ cert: first.cert, key: first.key })
    let serving = first.cert
    const files = new CertificateFiles(
      {
        certFile,
        keyFile,
        // As Listener.renew does.
        onServe: ({ cert, key }) => {
          server.setSecureContext({ cert, key })
          serving = cert
        },
      },
      { clock: systemClock, log: silentLog },
    )
    await files.turn()
    writeFileSync(
      certFile,
      `${second.cert}\n-----BEGIN CERTIFICATE-----\nQUJDREVG\n-----END CERTIFICATE-----\n`,
    )
    writeFileSync(keyFile, second.key)
    const turn = (): Promise<string> =>
      files.turn().then(
        () => 'ok',
        (error: unknown) => String(error),
      )
    const [one, two] = [await turn(), await turn()]
    t.not(one, 'ok', 'the new one is refused')
    t.equal(serving, first.cert, 'the old one is served still')
    t.not(two, 'ok', 'that the new one cannot be used is still said 30 s later')
    t.equal(
      files.status.validUntil,
      Date.parse(new X509Certificate(first.cert).validTo),
      'validUntil is that of what is served',
    )
    t.end()
  },
)
