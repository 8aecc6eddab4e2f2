// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Validity } from '../model/rotation.js'

/** A server's certificate and the authority that signed only this one, as PEM. */
export interface ServingPair {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

const DAY_MS = 86_400_000
const DAYS = 90

/** DNS names of a Service; the apiserver uses the first. */
export const serviceNames = (service: string, namespace: string): readonly string[] => [
  `${service}.${namespace}.svc`,
  `${service}.${namespace}.svc.cluster.local`,
]

/**
 * A certificate for these names, valid for 90 days, signed by a new authority. Its key is not kept, so nobody who
 * reads what is stored can sign another certificate.
 * @param now epoch ms; it is valid from a day before, since clocks differ
 */
export const makePair = async (names: readonly string[], now: number): Promise<ServingPair> => {
  const { generate } = await import('selfsigned')
  const common = {
    ...({ keyType: 'ec', algorithm: 'sha256' } as const),
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + DAYS * DAY_MS),
  }
  const named = (value: string) => [{ name: 'commonName', value }]
  // Authorities with the same name would be mistaken for each other.
  const ca = await generate(named(`edge-health webhook authority ${new Date(now).toISOString()}`), {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })
  const server = await generate(named(names[0]!), {
    ...common,
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: names.map(value => ({ type: 2 as const, value })) },
    ],
  })
  return { ca: ca.cert, cert: server.cert, key: server.private }
}

/** Whether the text begins with an authority's certificate in PEM. */
export const isCertificate = (text: string): boolean => {
  try {
    return new X509Certificate(text).ca
  } catch {
    return false
  }
}

/** A pair's validity; undefined when its parts do not belong together or it is for another name. */
export const validityOf = ({ ca, cert, key }: ServingPair, name: string): Validity | undefined => {
  try {
    const server = new X509Certificate(cert)
    const isComplete =
      server.checkPrivateKey(createPrivateKey(key)) &&
      server.verify(new X509Certificate(ca).publicKey) &&
      server.checkHost(name) !== undefined
    return isComplete
      ? { from: Date.parse(server.validFrom), until: Date.parse(server.validTo) }
      : undefined
  } catch {
    // Not PEM, or truncated.
    return undefined
  }
}
