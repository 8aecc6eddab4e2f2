// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { checkAuthorities } from '../../core/authorities.js'
import { certificateFor } from '../../testkit/certificates.js'

const BROKEN = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'

/** Each text with its last line's end. */
const pairFor = async (
  address: string,
): Promise<{ readonly cert: string; readonly key: string }> => {
  const { cert, key } = await certificateFor(address)
  return { cert: `${cert.trimEnd()}\n`, key: `${key.trimEnd()}\n` }
}

t.test('authorities are whole certificates, with other text around them', async t => {
  const [one, two] = await Promise.all([pairFor('127.0.0.1'), pairFor('::1')])
  checkAuthorities(one.cert)
  checkAuthorities(`of our company\n${one.cert}\r\nand of another\n${two.cert}\n`)
  checkAuthorities(`\uFEFF${one.cert}${one.key}${two.cert}`.replaceAll('\n', '  \r\n'))
  checkAuthorities(one.cert.replaceAll(' CERTIFICATE', ' X509 CERTIFICATE'))
  const rows: [why: string, pem: string, message: RegExp][] = [
    ['empty', '', /^it holds no certificate$/],
    ['a key', one.key, /^it holds no certificate$/],
    ['half a file', one.cert.slice(0, 200), /^0 of its 1 certificates are whole$/],
    ['half a bundle', one.cert + two.cert.slice(0, 200), /^1 of its 2 certificates are whole$/],
    ['its end is missing', one.cert.replace(/-----END.*/s, two.cert), /^1 of its 2 /],
    // OpenSSL believes none of these lines, and reads nothing of what they are to begin or to end.
    ['glued together', one.cert.trimEnd() + two.cert, /^0 of its 2 /],
    ['text behind the end', `${one.cert.trimEnd()} # ours\n${two.cert}`, /^1 of its 2 /],
    ['text before the beginning', `${one.cert}ca: ${two.cert}`, /^1 of its 2 /],
    ['half a key', `${one.cert}${one.key.slice(0, 100)}\n${two.cert}`, /^it has a block without/],
    ['half a key first', `${one.key.slice(0, 100)}\n${one.cert}`, /^it has a block without/],
    ['no certificate', BROKEN, /^certificate 1 of 1 cannot be read \(/],
    ['the first is none', BROKEN + one.cert, /^certificate 1 of 2 cannot be read \(/],
    ['the last is none', one.cert + BROKEN, /^certificate 2 of 2 cannot be read \(/],
  ]
  for (const [why, pem, message] of rows) t.throws(() => checkAuthorities(pem), { message }, why)
})
