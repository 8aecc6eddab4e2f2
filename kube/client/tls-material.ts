// SPDX-License-Identifier: Apache-2.0
import { createSecureContext, type SecureContext } from 'node:tls'
import { authoritiesIn } from '../../core/authorities.js'
import { CredentialsError, reasonOf } from '../../core/errors.js'

/** What a connection needs for TLS. The same object as long as nothing changed, so that connections can be kept. */
export interface TlsMaterial {
  readonly secureContext: SecureContext
  readonly rejectUnauthorized: boolean
  readonly servername: string | undefined
}

/** What TLS material is made of; PEM texts. */
export interface TlsParts {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly insecure: boolean
  readonly servername: string | undefined
}

const authorityOf = (ca: string | undefined): string | undefined => {
  if (ca === undefined) return undefined
  try {
    return authoritiesIn(ca)
  } catch (cause) {
    throw new CredentialsError(`broken certificate authority: ${reasonOf(cause)}`, { cause })
  }
}

/** OpenSSL checks here that the parts are PEM and that the key belongs to the certificate. */
export const makeTls = (parts: TlsParts): TlsMaterial => {
  const { cert, key, insecure, servername } = parts
  const ca = authorityOf(parts.ca)
  try {
    const secureContext = createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    })
    return Object.freeze({ secureContext, rejectUnauthorized: !insecure, servername })
  } catch (cause) {
    throw new CredentialsError(
      `broken certificate authority, client certificate or key: ${reasonOf(cause)}`,
      { cause },
    )
  }
}
