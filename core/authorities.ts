// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from 'node:crypto'
import { reasonOf } from './errors.js'

const BEGIN = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g
/** Begins on a line of its own, or right behind another's end: what stands behind other text may be commented out. */
const WHOLE =
  /(?<=^\uFEFF?|-----)-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/gm

/** The blocks of a PEM text that look like a whole certificate. */
export const wholeIn = (pem: string): readonly string[] => pem.match(WHOLE) ?? []

/**
 * The certificates of authorities in a PEM text, and nothing else of it: OpenSSL silently skips one that it cannot read and all
 * that follow it, as in a file that is half written, or where a line's end is missing between two of them.
 * @returns PEM that OpenSSL reads as a whole
 * @throws Error that says what is wrong, and quotes nothing of it
 */
export const authoritiesIn = (pem: string): string => {
  const begun = pem.match(BEGIN)?.length ?? 0
  const found = wholeIn(pem)
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
  return found.map(certificate => `${certificate}\n`).join('')
}
