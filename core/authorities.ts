// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from 'node:crypto'
import { reasonOf } from './errors.js'

const BEGIN = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g
const WHOLE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/g

/**
 * Check the certificates of authorities, in PEM. OpenSSL silently skips one that it cannot read and all that follow it: a file
 * that is half written would leave nobody who is trusted.
 * @throws Error that says what is wrong, and quotes nothing of it
 */
export const checkAuthorities = (pem: string): void => {
  const begun = pem.match(BEGIN)?.length ?? 0
  const found = pem.match(WHOLE) ?? []
  if (begun === 0) throw new Error('it holds no certificate')
  if (found.length < begun)
    throw new Error(`${found.length} of its ${begun} certificates are whole`)
  for (const [index, certificate] of found.entries()) {
    try {
      new X509Certificate(certificate)
    } catch (cause) {
      const which = `certificate ${index + 1} of ${found.length}`
      throw new Error(`${which} cannot be read (${reasonOf(cause)})`, { cause })
    }
  }
}
