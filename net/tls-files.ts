// SPDX-License-Identifier: Apache-2.0
// Certificates from files that options name.
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { sleep, type Clock } from '../core/clock.js'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import type { Listener, ServerTls } from './listen.js'

/** A file and the option that names it, for errors. */
export interface NamedFile {
  readonly option: string
  readonly path: string
}

/** @throws InvalidInputError when the file cannot be read or is not PEM */
export const readPem = ({ option, path }: NamedFile): string => {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    const rule = `must be a file that can be read (${reasonOf(cause)})`
    throw new InvalidInputError(option, rule, path, { cause })
  }
  // OpenSSL ignores other text: no authority would be trusted, without an error.
  if (!text.includes('-----BEGIN')) throw new InvalidInputError(option, 'must be PEM', path)
  return text
}

/** @throws InvalidInputError that names the file when `use` throws. */
export const checkPem = ({ option, path }: NamedFile, rule: string, use: () => void): void => {
  try {
    use()
  } catch (cause) {
    // No cause, since OpenSSL may quote the file's content.
    throw new InvalidInputError(option, `${rule} (${reasonOf(cause)})`, path)
  }
}

/** A listener's certificate and key. @throws InvalidInputError that names option and file */
export const readCertificate = (
  certFile: NamedFile,
  keyFile: NamedFile,
): { readonly cert: string; readonly key: string } => {
  const cert = readPem(certFile)
  const key = readPem(keyFile)
  checkPem(certFile, 'must hold a certificate', () => createSecureContext({ cert }))
  checkPem(keyFile, `must be the key of ${certFile.option}`, () =>
    createSecureContext({ cert, key }),
  )
  return { cert, key }
}

/** Replaced certificates are in use within this time. */
const RENEW_MS = 60_000

/** What `keepRenewed` needs of the world. */
export interface RenewSeams {
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** Reads the files. @throws InvalidInputError */
  readonly read: () => ServerTls | undefined
}

/** Pass the files' certificates to the listener whenever they change, until the signal aborts. Never rejects. */
export const keepRenewed = async (
  listener: Listener,
  first: ServerTls,
  { clock, log, signal, read }: RenewSeams,
): Promise<void> => {
  let last = first
  while (await sleep(clock, RENEW_MS, signal)) {
    try {
      const next = read()
      if (next === undefined || JSON.stringify(next) === JSON.stringify(last)) continue
      listener.renew(next)
      last = next
      log.info('certificates are renewed')
    } catch (error) {
      log.warn('certificates cannot be renewed; the last good ones stay in use', { error })
    }
  }
}
