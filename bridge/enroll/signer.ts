// SPDX-License-Identifier: Apache-2.0
import {
  createPrivateKey,
  randomBytes,
  webcrypto,
  X509Certificate,
  type KeyObject,
} from 'node:crypto'
import { isIP } from 'node:net'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  X509Certificate as ParsedCertificate,
  X509CertificateGenerator,
  type PublicKey,
} from '@peculiar/x509'
import { InvalidInputError, reasonOf } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'
import type { AuthorityBytes } from './join-token.js'
import { checkedRequest, CURVES } from './node-request.js'

const DAY_MS = 86_400_000
/** Certificates are valid from this long ago, since edges' clocks may be slow. */
const BACKDATED_MS = 3_600_000
const NODE_DAYS = 365
const SERVER_DAYS = 365
const HASH = 'SHA-256'

/** Certificate and private key as PEM. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

/** Signs certificates with one authority. */
export interface Signer {
  /** The authority's certificate as PEM. */
  readonly ca: string
  /**
   * A client certificate for a node, in DER. Only the key is taken from the request.
   * @param request DER. @param now epoch ms
   * @throws InvalidInputError unless the request names exactly this node
   */
  signNode(request: Uint8Array, node: NodeName, now: number): Promise<Uint8Array>
  /** A new key and a server certificate for these addresses, which are IPs or names. @param now epoch ms */
  makeServer(addresses: readonly string[], now: number): Promise<KeyPair>
}

/** Reads a private key in the formats that KubeEdge and others write. */
const readKey = (der: Uint8Array): KeyObject => {
  let trouble: unknown
  for (const type of ['sec1', 'pkcs8', 'pkcs1'] as const) {
    try {
      return createPrivateKey({ key: Buffer.from(der), format: 'der', type })
    } catch (error) {
      trouble = error
    }
  }
  throw new InvalidInputError(
    'key of the authority',
    `must be a private key in DER (${reasonOf(trouble)})`,
    `${der.length} bytes`,
  )
}

const importKey = (key: KeyObject): Promise<webcrypto.CryptoKey> => {
  const { namedCurve = '' } = key.asymmetricKeyDetails ?? {}
  const curve = CURVES[namedCurve]
  const algorithm =
    curve === undefined
      ? { name: 'RSASSA-PKCS1-v1_5', hash: HASH }
      : { name: 'ECDSA', namedCurve: curve }
  if (curve === undefined && key.asymmetricKeyType !== 'rsa')
    throw new InvalidInputError(
      'key of the authority',
      'must be RSA, or of the curve P-256 or P-384',
      namedCurve === '' ? key.asymmetricKeyType : namedCurve,
    )
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
  return webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign'])
}

/** The certificate and key that sign. */
interface Authority {
  readonly certificate: ParsedCertificate
  readonly key: webcrypto.CryptoKey
}

/** What a new certificate says. */
interface Order {
  readonly subject: Name
  readonly publicKey: PublicKey | webcrypto.CryptoKey
  readonly usage: string
  readonly days: number
  readonly now: number
  readonly names?: readonly SubjectAlternativeNameExtension[]
}

const sign = (
  { certificate, key }: Authority,
  { subject, publicKey, usage, days, now, names = [] }: Order,
): Promise<ParsedCertificate> =>
  X509CertificateGenerator.create(
    {
      // The first byte keeps the serial number positive; the random rest makes it unique.
      serialNumber: `01${randomBytes(15).toString('hex')}`,
      // Byte for byte as in the authority's certificate: Go does not match a name that is encoded differently.
      issuer: certificate.subjectName,
      ...{ subject, publicKey, signingKey: key },
      signingAlgorithm: { name: key.algorithm.name, hash: HASH },
      notBefore: new Date(now - BACKDATED_MS),
      notAfter: new Date(Math.min(now + days * DAY_MS, certificate.notAfter.getTime())),
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usage]),
        ...names,
      ],
    },
    webcrypto,
  )

const signNode = async (
  authority: Authority,
  request: Uint8Array,
  { node, now }: { readonly node: NodeName; readonly now: number },
): Promise<Uint8Array> => {
  const made = await sign(authority, {
    publicKey: await checkedRequest(request, node),
    subject: new Name([{ O: ['system:nodes'] }, { CN: [`system:node:${node}`] }]),
    ...{ usage: ExtendedKeyUsage.clientAuth, days: NODE_DAYS, now },
  })
  return new Uint8Array(made.rawData)
}

const makeServer = async (
  authority: Authority,
  addresses: readonly string[],
  now: number,
): Promise<KeyPair> => {
  const pair = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    ...(['sign', 'verify'] as const),
  ])
  const names = addresses.map(value => ({
    ...{ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value },
  }))
  const made = await sign(authority, {
    subject: new Name([{ CN: ['edge-health bridge'] }]),
    publicKey: pair.publicKey,
    ...{ usage: ExtendedKeyUsage.serverAuth, days: SERVER_DAYS, now },
    names: [new SubjectAlternativeNameExtension(names)],
  })
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey))
  const privatePem = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  return {
    cert: made.toString('pem'),
    key: privatePem.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** @throws InvalidInputError when the authority cannot be used */
export const makeSigner = async (bytes: AuthorityBytes): Promise<Signer> => {
  const privateKey = readKey(bytes.key)
  const certificate = parseAuthority(bytes.certificate)
  if (!new X509Certificate(bytes.certificate).checkPrivateKey(privateKey))
    throw new InvalidInputError('key of the authority', 'must belong to its certificate', 'another')
  const authority = { certificate, key: await importKey(privateKey) }
  return {
    ca: certificate.toString('pem'),
    signNode: (request, node, now) => signNode(authority, request, { node, now }),
    makeServer: (addresses, now) => makeServer(authority, addresses, now),
  }
}

const parseAuthority = (der: Uint8Array): ParsedCertificate => {
  try {
    return new ParsedCertificate(Buffer.from(der))
  } catch (cause) {
    throw new InvalidInputError(
      'certificate of the authority',
      'must be a certificate in DER',
      `${der.length} bytes`,
      { cause },
    )
  }
}

/** A new authority with the fields that KubeEdge gives its own. @param now epoch ms */
export const makeAuthority = async (now: number): Promise<AuthorityBytes> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const made = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: `01${randomBytes(15).toString('hex')}`,
      name: new Name([{ CN: ['KubeEdge'] }]),
      ...{ keys, signingAlgorithm: { name: 'ECDSA', hash: HASH } },
      notBefore: new Date(now - BACKDATED_MS),
      notAfter: new Date(now + 100 * NODE_DAYS * DAY_MS),
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(
          KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign,
          true,
        ),
      ],
    },
    webcrypto,
  )
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  return {
    certificate: new Uint8Array(made.rawData),
    // The format that KubeEdge's own components read.
    key: new Uint8Array(key.export({ type: 'sec1', format: 'der' })),
  }
}
