// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, webcrypto } from 'node:crypto'
import {
  ExtendedKeyUsageExtension,
  Name,
  Pkcs10CertificateRequestGenerator,
  type JsonName,
} from '@peculiar/x509'

/** A certificate request in DER, and the key that it is for as PEM. */
export interface CertificateRequest {
  readonly der: Buffer
  readonly key: string
}

/** The subject that an edge asks for. */
export const edgeSubject = (node: string): JsonName => [
  { C: ['CN'] },
  { ST: ['Zhejiang'] },
  { L: ['Hangzhou'] },
  { O: ['system:nodes'] },
  { CN: [`system:node:${node}`] },
]

const EC = { name: 'ECDSA', namedCurve: 'P-256' }

/** What an edge asks for when it enrols. @param usages that it wishes for, by object identifier */
export const requestCertificate = async (
  subject: JsonName,
  { algorithm = EC, usages = [] }: { algorithm?: object; usages?: readonly string[] } = {},
): Promise<CertificateRequest> => {
  const keys = await webcrypto.subtle.generateKey(algorithm as typeof EC, true, ['sign', 'verify'])
  const request = await Pkcs10CertificateRequestGenerator.create(
    {
      name: new Name(subject),
      keys,
      signingAlgorithm: { ...algorithm, hash: 'SHA-256' },
      extensions: usages.length === 0 ? [] : [new ExtendedKeyUsageExtension([...usages])],
    },
    webcrypto,
  )
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  return {
    der: Buffer.from(request.rawData),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
