// SPDX-License-Identifier: Apache-2.0
import { delimiter, dirname, join, resolve } from 'node:path'
import { newClusters, newContexts, newUsers } from '@kubernetes/client-node/dist/config_types.js'
import * as v from 'valibot'
import { CredentialsError } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import { discreetReason } from './file-reader.js'

/** PEM text, or the file that holds it and may be replaced while we run. */
export type Pem = { readonly text: string } | { readonly file: string }

/** A command that prints an ExecCredential (client.authentication.k8s.io). */
export interface ExecCommand {
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Who we are to the apiserver. */
export type Identity =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'token-file'; readonly file: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | { readonly kind: 'exec'; readonly exec: ExecCommand }

/** Where the apiserver is and how to reach it, before any file that it names was read. */
export interface Access {
  readonly server: URL
  readonly ca: Pem | undefined
  readonly insecure: boolean
  readonly serverName: string | undefined
  readonly certificate: { readonly cert: Pem; readonly key: Pem } | undefined
  readonly identity: Identity
  readonly impersonate: string | undefined
}

/** @throws CredentialsError unless `text` is an http or https address. */
export const parseServer = (from: string, text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new CredentialsError(`${from}: the server must be an http or https address, got ${text}`)
  return url
}

const text = v.nullish(v.string())

/** Checked here, since the library ignores values of the wrong type: there would be no token, or no authority. */
const clusterSchema = v.object({
  server: text,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': v.nullish(v.boolean()),
  'tls-server-name': text,
})
const userSchema = v.object({
  token: text,
  // The library leaves this out.
  tokenFile: text,
  username: text,
  password: text,
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  as: text,
})

const fileSchema = v.object({
  clusters: v.nullish(v.array(v.object({ cluster: v.nullish(clusterSchema) }))),
  users: v.nullish(v.array(v.object({ name: v.string(), user: v.nullish(userSchema) })), []),
  'current-context': v.nullish(v.string(), ''),
})

const execSchema = v.object({
  apiVersion: v.optional(v.string(), 'client.authentication.k8s.io/v1'),
  command: v.pipe(v.string(), v.minLength(1)),
  args: v.nullish(v.array(v.string()), []),
  env: v.nullish(v.array(v.object({ name: v.string(), value: v.string() })), []),
})

type Cluster = ReturnType<typeof newClusters>[number]
type User = ReturnType<typeof newUsers>[number]

/** A kubeconfig as it was read. */
export interface KubeconfigFile {
  readonly path: string
  readonly text: string
}

interface ParsedFile {
  /** What its paths are relative to. */
  readonly folder: string
  readonly raw: Readonly<Record<string, unknown>>
  readonly currentContext: string
  readonly users: v.InferOutput<typeof fileSchema>['users']
}

/** Imports the library only when needed: in a Pod, which has no kubeconfig, it takes no memory. */
const parseFile = async ({ path, text }: KubeconfigFile): Promise<ParsedFile> => {
  const { parse: parseYaml } = await import('yaml')
  const raw = parseYaml(text, { prettyErrors: false }) as Record<string, unknown>
  const { users, 'current-context': currentContext } = parseWith(fileSchema, 'kubeconfig', raw)
  return { folder: dirname(path), raw, currentContext, users }
}

/** Of entries with the same name, the first file's counts, as in kubectl. */
const named = <T extends { readonly name: string }>(
  files: readonly ParsedFile[],
  kind: 'cluster' | 'context' | 'user',
  name: string,
  listOf: (raw: unknown) => readonly T[],
): { readonly entry: T; readonly file: ParsedFile } => {
  for (const file of files) {
    const entry = listOf(file.raw[`${kind}s`]).find(each => each.name === name)
    if (entry !== undefined) return { entry, file }
  }
  throw new CredentialsError(`it has no ${kind} "${name}"`)
}

const chooseContext = (files: readonly ParsedFile[], chosen: string | undefined): string => {
  const name = chosen ?? files.find(file => file.currentContext !== '')?.currentContext
  if (name === undefined) throw new CredentialsError('it has no current-context, and none is given')
  return name
}

const pemOf = (folder: string, file?: string | null, base64?: string | null): Pem | undefined => {
  if (typeof file === 'string' && file !== '') return { file: resolve(folder, file) }
  if (typeof base64 !== 'string' || base64 === '') return undefined
  return { text: Buffer.from(base64, 'base64').toString('utf8') }
}

/** As kubectl: a command with a slash is relative to the kubeconfig, one without is looked up in PATH. */
const execOf = (folder: string, raw: unknown): ExecCommand => {
  const exec = parseWith(execSchema, 'exec plugin', raw)
  return {
    apiVersion: exec.apiVersion,
    command: exec.command.includes('/') ? resolve(folder, exec.command) : exec.command,
    args: exec.args,
    env: Object.fromEntries(exec.env.map(({ name, value }) => [name, value])),
  }
}

const identityOf = (folder: string, user: User, tokenFile: string | undefined): Identity => {
  if (tokenFile !== undefined && tokenFile !== '')
    return { kind: 'token-file', file: resolve(folder, tokenFile) }
  if (typeof user.token === 'string' && user.token !== '')
    return { kind: 'token', token: user.token }
  if (user.exec) return { kind: 'exec', exec: execOf(folder, user.exec) }
  if (user.authProvider)
    throw new CredentialsError(`user "${user.name}" has an auth-provider; use an exec plugin`)
  if (typeof user.username === 'string' && user.username !== '')
    return { kind: 'basic', user: user.username, password: user.password ?? '' }
  return { kind: 'anonymous' }
}

const certificateOf = (folder: string, user: User): Access['certificate'] => {
  const cert = pemOf(folder, user.certFile, user.certData)
  const key = pemOf(folder, user.keyFile, user.keyData)
  if ((cert === undefined) !== (key === undefined))
    throw new CredentialsError(`user "${user.name}" has a client certificate without its key`)
  return cert === undefined || key === undefined ? undefined : { cert, key }
}

const refuseProxy = (from: string, cluster: Cluster): void => {
  if (cluster.proxyUrl)
    throw new CredentialsError(`${from}: proxy-url of cluster "${cluster.name}" is not supported`)
}

const parseAccess = (files: readonly ParsedFile[], chosen: string | undefined): Access => {
  const context = named(files, 'context', chooseContext(files, chosen), newContexts).entry
  const cluster = named(files, 'cluster', context.cluster, newClusters)
  const user = named(files, 'user', context.user, newUsers)
  const tokenFile = user.file.users.find(({ name }) => name === context.user)?.user?.tokenFile
  refuseProxy('it', cluster.entry)
  return {
    server: parseServer('it', cluster.entry.server),
    ca: pemOf(cluster.file.folder, cluster.entry.caFile, cluster.entry.caData),
    insecure: cluster.entry.skipTLSVerify,
    serverName: cluster.entry.tlsServerName ?? undefined,
    certificate: certificateOf(user.file.folder, user.entry),
    identity: identityOf(user.file.folder, user.entry, tokenFile ?? undefined),
    impersonate: user.entry.impersonateUser ?? undefined,
  }
}

/** No `cause`: its text may quote a secret. */
const discreet = async <T>(where: string, act: () => T | Promise<T>): Promise<T> => {
  try {
    return await act()
  } catch (cause) {
    throw new CredentialsError(`kubeconfig ${where}: ${discreetReason(cause)}`)
  }
}

/**
 * A context of one kubeconfig, or of several that are taken as one; the current one unless another is chosen.
 * Rejects with CredentialsError that names the file and what is wrong with it.
 */
export const kubeconfigAccess = async (
  files: readonly KubeconfigFile[],
  chosen?: string,
): Promise<Access> => {
  const parsed = await Promise.all(files.map(file => discreet(file.path, () => parseFile(file))))
  const all = files.map(({ path }) => path).join(delimiter)
  return discreet(all, () => parseAccess(parsed, chosen))
}

/** A Pod's own service account. Its token never travels unencrypted: over plain http we are anonymous. */
export const serviceAccountAccess = (folder: string, server: URL): Access => {
  const encrypted = server.protocol === 'https:'
  return {
    server,
    ca: encrypted ? { file: join(folder, 'ca.crt') } : undefined,
    insecure: false,
    serverName: undefined,
    certificate: undefined,
    identity: encrypted
      ? { kind: 'token-file', file: join(folder, 'token') }
      : { kind: 'anonymous' },
    impersonate: undefined,
  }
}

/** An apiserver that asks for no credentials, such as a proxy on this node. */
export const anonymousAccess = (server: URL): Access => ({
  server,
  ca: undefined,
  insecure: false,
  serverName: undefined,
  certificate: undefined,
  identity: { kind: 'anonymous' },
  impersonate: undefined,
})
