// SPDX-License-Identifier: Apache-2.0
import { authoritiesIn } from '../core/authorities.js'
import type { ServerTls } from '../net/listen.js'
import { checkPem, readCertificate, readPem } from '../net/tls-files.js'

/** Where the certificates of the clients' listener are. */
export interface TlsFiles {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
}

/**
 * Read and check the certificates; undefined: plain HTTP.
 * @throws InvalidInputError that names option and file.
 */
export const readServerTls = ({ caFile, certFile, keyFile }: TlsFiles): ServerTls | undefined => {
  if (caFile === undefined || certFile === undefined || keyFile === undefined) return undefined
  const authority = { option: '--ca-file', path: caFile }
  const file = readPem(authority)
  let ca = file
  checkPem(authority, 'must hold certificates', () => (ca = authoritiesIn(file)))
  const own = readCertificate(
    { option: '--cert-file', path: certFile },
    { option: '--key-file', path: keyFile },
  )
  return { ca, ...own }
}
