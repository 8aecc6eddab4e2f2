// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import { ExtendedKeyUsageExtension, X509Certificate as Parsed } from '@peculiar/x509'
import type { AuthorityBytes } from '../../../bridge/enroll/join-token.js'
import { makeAuthority, makeSigner } from '../../../bridge/enroll/signer.js'
import type { NodeName } from '../../../core/ids.js'
import { makeAuthority as makeOther } from '../../../testkit/edge/certificates.js'
import { edgeSubject, requestCertificate } from '../../../testkit/edge/certificate-request.js'

const now = Date.now()
const e1 = 'e1' as NodeName
const DAY = 86_400_000
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'

const pemOf = (der: Uint8Array): X509Certificate => new X509Certificate(der)
/** DER of a name inside of a certificate. */
const subjectBytes = (der: Uint8Array): string => {
  const { subjectName } = new Parsed(Buffer.from(der))
  return Buffer.from(subjectName.toArrayBuffer()).toString('hex')
}
const issuerBytes = (der: Uint8Array): string => {
  const { issuerName } = new Parsed(Buffer.from(der))
  return Buffer.from(issuerName.toArrayBuffer()).toString('hex')
}

const authorityOf = async (encoded: 'ours' | 'of another library'): Promise<AuthorityBytes> => {
  if (encoded === 'ours') return makeAuthority(now)
  const { cert, key } = await makeOther()
  return {
    certificate: new Uint8Array(pemOf(Buffer.from(cert)).raw),
    key: new Uint8Array(createPrivateKey(key).export({ type: 'sec1', format: 'der' })),
  }
}

const signs = async (t: Test, authority: AuthorityBytes) => {
  const signer = await makeSigner(authority)
  const { der } = await requestCertificate(edgeSubject('e1'), {
    usages: [SERVER_AUTH, CLIENT_AUTH],
  })
  const signed = await signer.signNode(der, e1, now)
  const certificate = pemOf(signed)
  const ca = pemOf(authority.certificate)
  t.ok(certificate.verify(ca.publicKey))
  t.ok(certificate.checkIssued(ca))
  t.equal(issuerBytes(signed), subjectBytes(authority.certificate), 'byte for byte')
  t.equal(certificate.subject, 'O=system:nodes\nCN=system:node:e1')
  t.notOk(certificate.ca)
  const usages = new Parsed(Buffer.from(signed)).getExtension(ExtendedKeyUsageExtension)
  t.strictSame([...(usages?.usages ?? [])], [CLIENT_AUTH], 'whatever was wished for')
  t.equal(certificate.subjectAltName, undefined)
  t.ok(Date.parse(certificate.validFrom) < now)
  t.ok(Date.parse(certificate.validTo) <= Math.min(now + 365 * DAY, Date.parse(ca.validTo)))
  return certificate.serialNumber
}

for (const encoded of ['ours', 'of another library'] as const)
  t.test(`it signs what a node may have, with an authority ${encoded}`, async t => {
    const authority = await authorityOf(encoded)
    t.not(await signs(t, authority), await signs(t, authority), 'serial numbers differ')
  })

t.test('an authority that is not valid is an error', async t => {
  const ours = await makeAuthority(now)
  const none = new Uint8Array([1, 2, 3])
  await t.rejects(makeSigner({ ...ours, key: none }), { message: /must be a private key in DER/ })
  await t.rejects(makeSigner({ ...ours, certificate: none }), {
    message: /must be a certificate in DER/,
  })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const key = new Uint8Array(privateKey.export({ type: 'pkcs1', format: 'der' }))
  await t.rejects(makeSigner({ ...ours, key }), { message: /must belong to its certificate/ })
})

t.test('it signs nothing else', async t => {
  const signer = await makeSigner(await makeAuthority(now))
  const base = edgeSubject('e1')
  const refused = async (
    what: string,
    request: Uint8Array | Promise<{ readonly der: Buffer }>,
    rule: RegExp,
  ) => {
    const der = request instanceof Uint8Array ? request : (await request).der
    await t.rejects(signer.signNode(der, e1, now), { code: 'INVALID_INPUT', message: rule }, what)
  }
  await refused('another node', requestCertificate(edgeSubject('e2')), /must be system:node:e1/)
  await refused(
    'two nodes',
    requestCertificate([...base, { CN: ['system:node:e2'] }]),
    /must be system:node:e1, once/,
  )
  await refused(
    'one more group',
    requestCertificate([...base, { O: ['system:masters'] }]),
    /must be system:nodes, once/,
  )
  await refused('no group', requestCertificate(base.slice(4)), /must be system:nodes/)
  await refused('no name', requestCertificate(base.slice(0, 4)), /must be system:node:e1/)
  const rsa = {
    ...{ name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, hash: 'SHA-256' },
    publicExponent: new Uint8Array([1, 0, 1]),
  }
  await refused('RSA', requestCertificate(base, { algorithm: rsa }), /key of P-256/)
  const { der } = await requestCertificate(base)
  const tampered = Buffer.from(der)
  tampered[tampered.length - 1]! ^= 1
  await refused('a signature that is none', tampered, /signed with its own key|must be PKCS/)
  await refused('half of one', der.subarray(0, 100), /must be PKCS #10/)
  await refused('nothing', Buffer.alloc(0), /must be PKCS #10/)
  await refused('noise', Buffer.from('a certificate, please'), /must be PKCS #10/)
})
