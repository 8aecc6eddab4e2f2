// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import * as v from 'valibot'
import { InvalidInputError, KubeStatusError } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { ResourceType } from '../../kube/client/resource.js'
import type { AuthorityBytes } from './join-token.js'
import type { KeyPair, Signer } from './signer.js'

/** What Secrets need of the Kubernetes API. */
export type SecretClient = Pick<ResourceClient, 'get' | 'create' | 'update'>

/** A Secret's values by key, and the version that an update replaces. */
export interface SecretView {
  readonly resourceVersion: string
  readonly data: Readonly<Record<string, Uint8Array>>
}

/** KubeEdge's names, so that edges enrolled by cloudcore stay enrolled, and cloudcore finds the Secrets if it returns. */
const NAMESPACE = 'kubeedge'
const AUTHORITY = { name: 'casecret', cert: 'cadata', key: 'cakeydata' } as const
const SERVER = { name: 'cloudcoresecret', cert: 'cloudcoredata', key: 'cloudcorekeydata' } as const
const TOKEN = { name: 'tokensecret', token: 'tokendata' } as const

/** A server certificate is replaced this long before it expires. */
const RENEW_MS = 30 * 86_400_000
/** Attempts when another bridge writes the same Secret at the same time. */
const TRIES = 5

const schema = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  data: v.nullish(v.record(v.string(), v.string()), {}),
})

const parseSecret = (raw: unknown): SecretView => {
  const { metadata, data } = parseWith(schema, 'Secret', raw)
  const values = Object.entries(data).map(([key, value]) => [
    key,
    new Uint8Array(Buffer.from(value, 'base64')),
  ])
  return {
    resourceVersion: metadata.resourceVersion,
    data: Object.fromEntries(values) as SecretView['data'],
  }
}

const SECRETS: ResourceType<SecretView> = {
  ...{ group: '', version: 'v1', resource: 'secrets' },
  parse: parseSecret,
}

const hasReason = (error: unknown, reason: string): boolean =>
  error instanceof KubeStatusError && error.reason === reason

const find = async (
  client: SecretClient,
  name: string,
  signal: AbortSignal,
): Promise<SecretView | undefined> => {
  try {
    return await client.get(SECRETS, { namespace: NAMESPACE, name }, signal)
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined
    throw error
  }
}

/** Create or replace a Secret. @returns undefined when another process was faster */
const put = async (
  client: SecretClient,
  name: string,
  { present, data }: { readonly present: SecretView | undefined } & Pick<SecretView, 'data'>,
  signal: AbortSignal,
): Promise<SecretView | undefined> => {
  const values = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value).toString('base64'),
  ])
  const metadata = { name, namespace: NAMESPACE }
  const body = {
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque' },
    data: Object.fromEntries(values) as Record<string, string>,
  }
  try {
    if (present === undefined)
      return await client.create(
        SECRETS,
        { namespace: NAMESPACE },
        { body: { ...body, metadata } },
        signal,
      )
    const { resourceVersion } = present
    const changed = { ...body, metadata: { ...metadata, resourceVersion } }
    return await client.update(SECRETS, metadata, { body: changed }, signal)
  } catch (error) {
    if (hasReason(error, 'AlreadyExists') || hasReason(error, 'Conflict')) return undefined
    throw error
  }
}

/**
 * What a Secret holds, or what is created if it holds nothing. When two bridges create it at once, both get what the first
 * one wrote.
 */
const settle = async <T>(
  client: SecretClient,
  name: string,
  {
    read,
    make,
  }: {
    /** Undefined when the Secret has to be replaced. @throws InvalidInputError when it must not be replaced */
    readonly read: (present: SecretView) => T | undefined
    readonly make: (present: SecretView | undefined) => Promise<SecretView['data']>
  },
  signal: AbortSignal,
): Promise<T> => {
  for (let i = 0; i < TRIES; i++) {
    const present = await find(client, name, signal)
    const found = present === undefined ? undefined : read(present)
    if (found !== undefined) return found
    const made = await put(client, name, { present, data: await make(present) }, signal)
    const kept = made === undefined ? undefined : read(made)
    if (kept !== undefined) return kept
  }
  throw new InvalidInputError(
    `Secret ${NAMESPACE}/${name}`,
    `must be left alone by others: it changed ${TRIES} times`,
    name,
  )
}

/**
 * The authority that signs the edges' certificates; created if there is none. Edges trust a single authority, so one that
 * cannot be used is reported and never replaced.
 * @param makeNew creates one
 * @throws InvalidInputError when the Secret exists and lacks a part
 */
export const loadAuthority = (
  client: SecretClient,
  makeNew: () => Promise<AuthorityBytes>,
  signal: AbortSignal,
): Promise<AuthorityBytes> =>
  settle(
    client,
    AUTHORITY.name,
    {
      read: ({ data }) => {
        const { [AUTHORITY.cert]: certificate, [AUTHORITY.key]: key } = data
        if (certificate !== undefined && key !== undefined) return { certificate, key }
        throw new InvalidInputError(
          `Secret ${NAMESPACE}/${AUTHORITY.name}`,
          `must have ${AUTHORITY.cert} and ${AUTHORITY.key}`,
          Object.keys(data),
        )
      },
      make: async () => {
        const { certificate, key } = await makeNew()
        return { [AUTHORITY.cert]: certificate, [AUTHORITY.key]: key }
      },
    },
    signal,
  )

/** Whether the Secret still has this authority, and nobody has replaced or deleted it. Rejects as ResourceClient.get does. */
export const holdsAuthority = async (
  client: SecretClient,
  { certificate, key }: AuthorityBytes,
  signal: AbortSignal,
): Promise<boolean> => {
  const { data = {} } = (await find(client, AUTHORITY.name, signal)) ?? {}
  const isSame = (name: string, bytes: Uint8Array): boolean =>
    Buffer.from(data[name] ?? []).equals(bytes)
  return isSame(AUTHORITY.cert, certificate) && isSame(AUTHORITY.key, key)
}

const serves = (certificate: X509Certificate, address: string): boolean =>
  (isIP(address) === 0 ? certificate.checkHost(address) : certificate.checkIP(address)) !==
  undefined

const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo)

/** When an authority's certificate ends that has less than 30 days left, epoch ms; undefined for another. @param ca PEM. @param now epoch ms */
export const soonEndOf = (ca: string, now: number): number | undefined => {
  const end = endOf(new X509Certificate(ca))
  return end - now > RENEW_MS ? undefined : end
}

/** Valid for a while, or for as long as its authority: one that is made anew would end with it too. */
const lasts = (certificate: X509Certificate, ca: X509Certificate, now: number): boolean =>
  endOf(certificate) - now > RENEW_MS ||
  (endOf(certificate) > now && endOf(certificate) >= endOf(ca))

/**
 * A key pair in DER as PEM; undefined unless it is complete, signed by this authority, for these addresses, and valid for a
 * while.
 */
const usable = (
  { data }: SecretView,
  {
    ca,
    addresses,
    now,
  }: { readonly ca: string; readonly addresses: readonly string[]; now: number },
): KeyPair | undefined => {
  const { [SERVER.cert]: cert, [SERVER.key]: key } = data
  if (cert === undefined || key === undefined) return undefined
  try {
    const certificate = new X509Certificate(cert)
    const authority = new X509Certificate(ca)
    const secret = createPrivateKey({ key: Buffer.from(key), format: 'der', type: 'sec1' })
    const isGood =
      certificate.verify(authority.publicKey) &&
      certificate.checkPrivateKey(secret) &&
      lasts(certificate, authority, now) &&
      addresses.every(address => serves(certificate, address))
    if (!isGood) return undefined
    const pem = secret.export({ type: 'pkcs8', format: 'pem' }).toString()
    return { cert: certificate.toString(), key: pem }
  } catch {
    // Not a certificate or not a key: replace it.
    return undefined
  }
}

/**
 * The server certificate that the bridge presents to edges; created if there is none for these addresses.
 * @param addresses IPs and names by which edges reach the bridge
 * @param now epoch ms
 * @throws InvalidInputError when one is needed and the authority's own certificate is over
 */
export const loadServerPair = (
  client: SecretClient,
  signer: Signer,
  { addresses, now }: { readonly addresses: readonly string[]; readonly now: number },
  signal: AbortSignal,
): Promise<KeyPair> =>
  settle(
    client,
    SERVER.name,
    {
      read: present => usable(present, { ca: signer.ca, addresses, now }),
      make: async present => {
        const { validTo } = new X509Certificate(signer.ca)
        if (Date.parse(validTo) <= now)
          throw new InvalidInputError('certificate of the authority', 'must not be over', validTo)
        const { cert, key } = await signer.makeServer(addresses, now)
        return {
          ...present?.data,
          [SERVER.cert]: new Uint8Array(new X509Certificate(cert).raw),
          [SERVER.key]: new Uint8Array(
            createPrivateKey(key).export({ type: 'sec1', format: 'der' }),
          ),
        }
      },
    },
    signal,
  )

/** Store a new token in the Secret that `keadm gettoken` and administrators read. */
export const publishToken = async (
  client: SecretClient,
  token: string,
  signal: AbortSignal,
): Promise<void> => {
  const value = new Uint8Array(Buffer.from(token))
  await settle(
    client,
    TOKEN.name,
    {
      read: ({ data }) => (Buffer.from(data[TOKEN.token] ?? []).equals(value) ? true : undefined),
      make: present => Promise.resolve({ ...present?.data, [TOKEN.token]: value }),
    },
    signal,
  )
}
