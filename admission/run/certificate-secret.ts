// SPDX-License-Identifier: Apache-2.0
import { Buffer } from 'node:buffer'
import * as v from 'valibot'
import { KubeStatusError } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceType } from '../../kube/client/resource.js'
import type { ObjectBody } from '../../kube/client/write.js'
import type { ServingPair } from './certificates.js'

/** What all replicas share. */
export interface SharedCertificates {
  /** In use. */
  readonly current: ServingPair
  /** To be used next. */
  readonly next: ServingPair | undefined
  /** The previous authority, for apiservers that do not know the present one yet; '' for none. */
  readonly oldCa: string
}

/** The stored certificates; missing parts are ''. */
export interface StoredCertificates extends SharedCertificates {
  readonly resourceVersion: string
}

const KEYS = {
  ...{ ca: 'ca.crt', cert: 'tls.crt', key: 'tls.key', oldCa: 'old-ca.crt' },
  ...{ nextCa: 'next-ca.crt', nextCert: 'next-tls.crt', nextKey: 'next-tls.key' },
} as const

const secretSchema = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  data: v.nullish(v.record(v.string(), v.string()), {}),
})

const parseStored = (raw: unknown): StoredCertificates => {
  const { metadata, data } = parseWith(secretSchema, 'Secret', raw)
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8')
  const next = { ca: text(KEYS.nextCa), cert: text(KEYS.nextCert), key: text(KEYS.nextKey) }
  return {
    resourceVersion: metadata.resourceVersion,
    current: { ca: text(KEYS.ca), cert: text(KEYS.cert), key: text(KEYS.key) },
    next: next.cert === '' ? undefined : next,
    oldCa: text(KEYS.oldCa),
  }
}

const SECRETS: ResourceType<StoredCertificates> = {
  ...{ group: '', version: 'v1', resource: 'secrets' },
  parse: parseStored,
}

const LABELS = {
  'app.kubernetes.io/name': 'edge-health-webhook',
  'app.kubernetes.io/component': 'webhook',
  'app.kubernetes.io/part-of': 'edge-health',
}

type Data = Readonly<Record<string, string | null>>

/** Null removes a key. */
const dataOf = ({ current, next, oldCa }: SharedCertificates): Data => {
  const texts = {
    ...{ [KEYS.ca]: current.ca, [KEYS.cert]: current.cert, [KEYS.key]: current.key },
    ...{ [KEYS.nextCa]: next?.ca, [KEYS.nextCert]: next?.cert, [KEYS.nextKey]: next?.key },
    [KEYS.oldCa]: oldCa,
  }
  return Object.fromEntries(
    Object.entries(texts).map(([key, text = '']) => [
      key,
      text === '' ? null : Buffer.from(text).toString('base64'),
    ]),
  )
}

const present = (data: Data): Data =>
  Object.fromEntries(Object.entries(data).filter(([, text]) => text !== null))

/** Another process wrote first. */
const isLost = (error: unknown): boolean =>
  error instanceof KubeStatusError && (error.status === 409 || error.status === 404)

/** The Secret that all replicas share. Whoever writes first wins, and the others read it. */
export class CertificateSecret {
  readonly #client: Pick<ResourceClient, 'get' | 'create' | 'patch'>
  readonly #of: { readonly namespace: string; readonly name: string }

  constructor(
    client: Pick<ResourceClient, 'get' | 'create' | 'patch'>,
    of: { readonly namespace: string; readonly name: string },
  ) {
    this.#client = client
    this.#of = of
  }

  /** Undefined when there is no Secret. Rejects as ResourceClient.get does. */
  async read(signal: AbortSignal): Promise<StoredCertificates | undefined> {
    try {
      return await this.#client.get(SECRETS, this.#of, signal)
    } catch (error) {
      if (error instanceof KubeStatusError && error.status === 404) return undefined
      throw error
    }
  }

  /**
   * Create the Secret, or replace the version that was read.
   * @returns what is stored now; undefined when somebody else wrote at the same time: read again
   */
  async write(
    shared: SharedCertificates,
    before: StoredCertificates | undefined,
    signal: AbortSignal,
  ): Promise<StoredCertificates | undefined> {
    try {
      if (before === undefined) {
        const body = { ...this.#empty, data: present(dataOf(shared)) }
        return await this.#client.create(SECRETS, this.#of, { body }, signal)
      }
      // Keys and annotations of others stay.
      const { resourceVersion } = before
      const body = { metadata: { resourceVersion }, data: dataOf(shared) }
      return await this.#client.patch(SECRETS, this.#of, { patch: { type: 'merge', body } }, signal)
    } catch (error) {
      if (isLost(error)) return undefined
      throw error
    }
  }

  get #empty(): ObjectBody {
    const metadata = { ...this.#of, labels: LABELS }
    return { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata }
  }
}
