// SPDX-License-Identifier: Apache-2.0
import type { Credentials } from './credentials.js'
import { makeTls } from './tls-material.js'

/** A server and a token that never change. */
export interface FixedAccess {
  readonly server: string
  readonly token: string
  /** PEM text of the only authority that is trusted; without it Node.js's own list counts. */
  readonly ca?: string | undefined
}

/** @throws CredentialsError when the authority is not PEM. */
export const fixedCredentials = ({ server, token, ca }: FixedAccess): Credentials => {
  const parts = { ca, cert: undefined, key: undefined, insecure: false, servername: undefined }
  const url = new URL(server)
  const tls = url.protocol === 'https:' ? makeTls(parts) : undefined
  const headers = { authorization: `Bearer ${token}` }
  return {
    check: () => Promise.resolve(url),
    material: () => Promise.resolve({ server: url, headers, tls }),
    anonymous: () => Promise.resolve({ server: url, headers: {}, tls }),
    refused: () => undefined,
  }
}
