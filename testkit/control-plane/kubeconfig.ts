// SPDX-License-Identifier: Apache-2.0
import type { ServingPair } from './certificates.js'

/** Who asks, as a kubeconfig says it. */
export interface KubeUser {
  readonly token: string
  /** Shown to a listener that wants to see one. A client sends its token over TLS only. */
  readonly certificate?: ServingPair
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const userOf = ({ token, certificate }: KubeUser): Readonly<Record<string, string>> => ({
  token,
  ...(certificate === undefined
    ? {}
    : {
        'client-certificate-data': base64(certificate.cert),
        'client-key-data': base64(certificate.key),
      }),
})

/** The text of a kubeconfig; without an authority for plain HTTP. */
export const kubeconfig = (server: string, ca: string | undefined, user: KubeUser): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'lab',
        cluster: {
          server,
          ...(ca === undefined ? {} : { 'certificate-authority-data': base64(ca) }),
        },
      },
    ],
    users: [{ name: 'own', user: userOf(user) }],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'own' } }],
    'current-context': 'lab',
  })
