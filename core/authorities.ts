// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from 'node:crypto'
import { reasonOf } from './errors.js'

const BEGIN = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g
/** OpenSSL reads the two lines only where nothing else stands on them. */
const WHOLE =
  /^\uFEFF?-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^\S\n]*$[^-]*^-----END \1-----[^\S\n]*$/gm
const ANY_BEGIN = /^-----BEGIN [^\n]*-----/gm
const ANY_WHOLE = /^-----BEGIN ([^\n]*?)-----(?:(?!-----BEGIN )[^])*?^-----END \1-----/gm

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
  // What follows a key or the like that has no end would not be read.
  if ((pem.match(ANY_WHOLE)?.length ?? 0) < (pem.match(ANY_BEGIN)?.length ?? 0))
    throw new Error('it has a block without its end')
  for (const [index, certificate] of found.entries()) {
    try {
      new X509Certificate(certificate)
    } catch (cause) {
      const which = `certificate ${index + 1} of ${found.length}`
      throw new Error(`${which} cannot be read (${reasonOf(cause)})`, { cause })
    }
  }
}
