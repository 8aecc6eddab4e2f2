// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync } from 'node:crypto'
import { generate } from 'selfsigned'

/** PEM texts. */
export interface ServingPair {
  readonly key: string
  readonly cert: string
}

/** A certificate for these addresses that is its own authority, for servers and for clients; good for a day. */
export const servingPair = async (addresses: readonly string[]): Promise<ServingPair> => {
  const made = await generate([{ name: 'commonName', value: 'kube-apiserver' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true },
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'kubernetes.default.svc' },
          ...addresses.map(ip => ({ type: 7 as const, ip })),
        ],
      },
    ],
  })
  return { key: made.private, cert: made.cert }
}

/** The key that signs ServiceAccount tokens. */
export const signingKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'sec1', format: 'pem' })
    .toString()
