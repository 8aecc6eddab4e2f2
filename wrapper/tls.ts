// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { ServerTls } from '../net/listen.js'

/** Where the certificates of the clients' listener are. */
export interface TlsFiles {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
}

const readPem = (option: string, path: string): string => {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    const rule = `must be a file that can be read (${reasonOf(cause)})`
    throw new InvalidInputError(option, rule, path, { cause })
  }
  // OpenSSL skips unknown text: then no authority would be trusted, without an error.
  if (!text.includes('-----BEGIN')) throw new InvalidInputError(option, 'must be PEM', path)
  return text
}

const check = (option: string, rule: string, path: string, use: () => void): void => {
  try {
    use()
  } catch (cause) {
    // No cause: OpenSSL may quote what it read.
    throw new InvalidInputError(option, `${rule} (${reasonOf(cause)})`, path)
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/**
 * Check that it holds certificates: a secure context accepts other text too, and then trusts nobody.
 * @throws Error
 */
const readAuthorities = (ca: string): void => {
  const found = ca.match(CERTIFICATE) ?? []
  if (found.length === 0) throw new Error('it holds none')
  for (const certificate of found) new X509Certificate(certificate)
}

/**
 * Read and check the certificates; undefined: plain HTTP.
 * @throws InvalidInputError that names option and file.
 */
export const readServerTls = ({ caFile, certFile, keyFile }: TlsFiles): ServerTls | undefined => {
  if (caFile === undefined || certFile === undefined || keyFile === undefined) return undefined
  const ca = readPem('--ca-file', caFile)
  const cert = readPem('--cert-file', certFile)
  const key = readPem('--key-file', keyFile)
  check('--ca-file', 'must hold certificates', caFile, () => readAuthorities(ca))
  check('--cert-file', 'must hold a certificate', certFile, () => createSecureContext({ cert }))
  check('--key-file', 'must be the key of --cert-file', keyFile, () =>
    createSecureContext({ cert, key }),
  )
  return { ca, cert, key }
}
