// SPDX-License-Identifier: Apache-2.0
import { generate } from 'selfsigned'

/** PEM texts of a server certificate that is its own authority. */
export interface ServerCertificate {
  readonly key: string
  readonly cert: string
}

/** A self-signed certificate for one IP address, as kubelets make theirs. `days` may be negative: it is over then. */
export const certificateFor = async (ip: string, days = 1): Promise<ServerCertificate> => {
  const day = 86_400_000
  const notAfterDate = new Date(Date.now() + days * day)
  const { private: key, cert } = await generate([{ name: 'commonName', value: `node-${ip}` }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(notAfterDate.getTime() - 2 * day),
    notAfterDate,
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip }] },
    ],
  })
  return { key, cert }
}
