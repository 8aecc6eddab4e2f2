// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { authoritiesIn } from '../../core/authorities.js'
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
  const both = one.cert + two.cert
  t.equal(authoritiesIn(one.cert), one.cert)
  t.equal(authoritiesIn(one.cert.replaceAll(' CERTIFICATE', ' X509 CERTIFICATE')), one.cert.replaceAll(' CERTIFICATE', ' X509 CERTIFICATE')) // prettier-ignore
  // Of most of these OpenSSL would read the first certificate alone, or none.
  const files: [why: string, pem: string][] = [
    ['comments', `of our company\n${one.cert}\r\nand of another\n${two.cert}\n`],
    ['a byte order mark, and a key', `\uFEFF${one.cert}${one.key}${two.cert}`],
    ['glued together', one.cert.trimEnd() + two.cert],
    ['glued by a carriage return', `${one.cert.trimEnd()}\r${two.cert}`],
    ['text behind the end', `${one.cert.trimEnd()} # ours\n${two.cert}`],
    ['half a key', `${one.cert}${one.key.slice(0, 100)}\n${two.cert}`],
    ['a block without its end', `-----BEGIN ${'-'.repeat(100_000)}\n${both}`],
  ]
  for (const [why, pem] of files) t.equal(authoritiesIn(pem), both, why)
  t.equal(authoritiesIn(both.replaceAll('\n', '  \r\n')).match(/-----END/g)?.length, 2)
  const rows: [why: string, pem: string, message: RegExp][] = [
    ['empty', '', /^it holds no certificate$/],
    ['a key', one.key, /^it holds no certificate$/],
    ['half a file', one.cert.slice(0, 200), /^0 of its 1 certificates are whole$/],
    ['half a bundle', one.cert + two.cert.slice(0, 200), /^1 of its 2 certificates are whole$/],
    ['its end is missing', one.cert.replace(/-----END.*/s, two.cert), /^1 of its 2 /],
    ['commented out by its first line', `${one.cert}# ${two.cert}`, /^1 of its 2 /],
    ['commented out', one.cert + two.cert.replaceAll(/^/gm, '# '), /^1 of its 2 /],
    ['no certificate', BROKEN, /^certificate 1 of 1 cannot be read \(/],
    ['the first is none', BROKEN + one.cert, /^certificate 1 of 2 cannot be read \(/],
    ['the last is none', one.cert + BROKEN, /^certificate 2 of 2 cannot be read \(/],
  ]
  for (const [why, pem, message] of rows) t.throws(() => authoritiesIn(pem), { message }, why)
})
