// SPDX-License-Identifier: Apache-2.0
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  webcrypto,
  X509Certificate,
  type KeyObject,
} from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  GeneralNames,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { generate } from 'selfsigned'
import type { ServingPair } from '../../admission/run/certificates.js'

/** Of the webhook's Service. */
export const NAME = 'edge-health-webhook.edge-system.svc'

const AUTHORITY = 'one of ours'
const DAY = 86_400_000

type Odd = Pick<NonNullable<Parameters<typeof generate>[1]>, 'extensions' | 'algorithm' | 'keyPair'>
export type Extension = NonNullable<Odd['extensions']>[number]

export const named = (value = NAME): Extension => ({
  name: 'subjectAltName',
  altNames: [{ type: 2, value }],
})

export const forClients: Extension = { name: 'extKeyUsage', clientAuth: true }

/** As others make them: valid for so many days from now, signed by an authority or by itself. */
export const ownMade = async (
  cA: boolean,
  since: number,
  by?: ServingPair,
  { extensions = [named()], ...odd }: Odd = {},
): Promise<ServingPair> => {
  const value = by === undefined ? AUTHORITY : NAME
  const { cert, private: key } = await generate([{ name: 'commonName', value }], {
    ...({ keyType: 'ec', algorithm: 'sha256' } as const),
    notBeforeDate: new Date(Date.now() + since * DAY),
    notAfterDate: new Date(Date.now() + (since + 60) * DAY),
    extensions: [{ name: 'basicConstraints', cA }, ...extensions],
    ...(by === undefined ? {} : { ca: by }),
    ...odd,
  })
  return { ca: by?.cert ?? cert, cert, key }
}

const keyPairOf = ({ key }: ServingPair): NonNullable<Odd['keyPair']> => ({
  privateKey: key,
  publicKey: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
})

/** A certificate with this authority's name and key, valid for 60 days from now on. */
export const renewed = async (
  authority: ServingPair,
  since: number,
  ...extensions: Extension[]
): Promise<string> => {
  const odd = { extensions, keyPair: keyPairOf(authority) }
  return (await ownMade(true, since, undefined, odd)).cert
}

/** With this key, and as Easy-RSA makes them: the serial of the authority's certificate is in it, too. */
export const signedFor = async (
  privateKey: KeyObject,
  by: ServingPair,
  { issuer = AUTHORITY, cA = false } = {},
): Promise<ServingPair> => {
  const signing = createPrivateKey(by.key).export({ type: 'pkcs8', format: 'der' })
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { serialNumber } = new X509Certificate(by.cert)
  const name = new GeneralNames([{ type: 'dn', value: `CN=${issuer}` }])
  const made = await X509CertificateGenerator.create(
    {
      ...{ issuer: `CN=${issuer}`, subject: `CN=${NAME}` },
      ...{ notBefore: new Date(Date.now() - DAY), notAfter: new Date(Date.now() + 59 * DAY) },
      publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
      signingKey: await webcrypto.subtle.importKey('pkcs8', signing, algorithm, false, ['sign']),
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
      extensions: [
        new BasicConstraintsExtension(cA),
        new SubjectAlternativeNameExtension([{ type: 'dns', value: NAME }]),
        new AuthorityKeyIdentifierExtension({ name, serialNumber }),
      ],
    },
    webcrypto,
  )
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { ca: by.cert, cert: made.toString('pem'), key }
}

/** Names of OpenSSL. */
export const keyOn = (namedCurve: string): KeyObject =>
  generateKeyPairSync('ec', { namedCurve }).privateKey

/** Pairs that the TLS of Go, which apiservers use, refuses (tried with 1.26). */
export const refusedPairs = async (): Promise<
  [what: string, pair: ServingPair, reason: RegExp][]
> => {
  const ca = await ownMade(true, -1)
  const signed = (odd: Odd, by = ca) => ownMade(false, -1, by, odd)
  const caForClients = await ownMade(true, -1, undefined, { extensions: [forClients] })
  const renamed = await ownMade(true, -1, ca, { keyPair: keyPairOf(ca) })
  return [
    ['a name in the subject alone', await signed({ extensions: [] }), /not for .*subjectAltName/],
    [
      'half a label for a wildcard',
      await signed({ extensions: [named('edge*.edge-system.svc')] }),
      /not for .*subjectAltName/,
    ],
    ['for clients', await signed({ extensions: [named(), forClients] }), /not for servers/],
    ['of an authority for clients', await signed({}, caForClients), /not for servers/],
    [
      'of an authority with that key and another name',
      { ...(await signed({})), ca: renamed.cert },
      /another authority/,
    ],
    [
      'of an authority whose name is written otherwise',
      await signedFor(keyOn('prime256v1'), ca, { issuer: AUTHORITY.toUpperCase() }),
      /another authority/,
    ],
    [
      'a key on a curve that Go does not know',
      await signedFor(keyOn('secp256k1'), ca),
      /its key is/,
    ],
    ['a weak signature', await signed({ algorithm: 'sha1' }), /cannot be served: .*too weak/],
  ]
}
