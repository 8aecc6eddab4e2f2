// SPDX-License-Identifier: Apache-2.0
import { generate } from 'selfsigned'

/** PEM texts of a certificate and its key. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

const HOUR_MS = 3_600_000

const common = (hours: number) => ({
  ...({ keyType: 'ec', algorithm: 'sha256' } as const),
  notBeforeDate: new Date(Date.now() + Math.min(0, hours) * HOUR_MS - HOUR_MS),
  notAfterDate: new Date(Date.now() + hours * HOUR_MS),
})

const made = async (...args: Parameters<typeof generate>): Promise<Pair> => {
  const { cert, private: key } = await generate(...args)
  return { cert, key }
}

/** An authority, as cloudcore makes one. */
export const makeAuthority = (name = 'KubeEdge'): Promise<Pair> =>
  made([{ name: 'commonName', value: name }], {
    ...common(24),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
    ],
  })

/** The hub's own certificate, for 127.0.0.1. */
export const makeServerPair = (ca: Pair): Promise<Pair> =>
  made([{ name: 'commonName', value: 'cloudhub' }], {
    ...{ ...common(24), ca },
    extensions: [
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  })

/** How an edge's certificate differs from a good one. */
export interface NodePairOptions {
  /** @default 'system:node:NODE' */
  readonly commonName?: string
  /** For how long it is valid yet; negative: it is over. @default 24 */
  readonly hours?: number
  /** @default 'client' */
  readonly usage?: 'client' | 'server'
}

/** The certificate of an edge, as the bootstrap signs it. */
export const makeNodePair = (
  ca: Pair,
  node: string,
  { commonName = `system:node:${node}`, hours = 24, usage = 'client' }: NodePairOptions = {},
): Promise<Pair> =>
  made(
    [
      { name: 'organizationName', value: 'system:nodes' },
      { name: 'commonName', value: commonName },
    ],
    {
      ...{ ...common(hours), ca },
      extensions: [
        { name: 'keyUsage', digitalSignature: true, critical: true },
        {
          name: 'extKeyUsage',
          ...(usage === 'client' ? { clientAuth: true } : { serverAuth: true }),
        },
      ],
    },
  )
