// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { CredentialsError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { Access, Pem } from './access.js'
import { accessReader, type AccessSource } from './access-reader.js'
import { runExecPlugin, type ExecCredential } from './exec-plugin.js'
import { readCredentialFile } from './file-reader.js'
import { makeTls, type TlsMaterial, type TlsParts } from './tls-material.js'

/** Where credentials come from, and how long they are used. */
export interface CredentialOptions extends AccessSource {
  /**
   * How long credentials that were read are used without reading them again, in milliseconds. A token lives ten
   * minutes at least, and kubelets replace it at 80 % of its life: anything below two minutes is in time.
   * @default 10_000
   */
  readonly recheckMs?: number
}

/** What one request needs. */
export interface Material {
  readonly server: URL
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for plain http. */
  readonly tls: TlsMaterial | undefined
}

/** Credentials that follow their files. */
export interface Credentials {
  /**
   * Check that the source can be read. Tokens and exec plugins are not tried: they may become available later.
   * Resolves with the server's address, or rejects with CredentialsError.
   */
  check(): Promise<URL>
  /**
   * What the next request needs. Rejects with CredentialsError when nothing usable was ever read; later trouble is
   * logged and the last good material stays in use, since a file may be missing for the moment of its replacement.
   */
  material(): Promise<Material>
  /**
   * The same server without our credentials: for requests that are passed on with the caller's own. Rejects with
   * CredentialsError.
   */
  anonymous(): Promise<Material>
  /** The server answered 401: read everything again next time. */
  refused(): void
}

/** Least time between two reloads after a 401. */
const SHORTEST_MS = 1_000
const readPem = async (what: string, pem: Pem | undefined): Promise<string | undefined> => {
  if (pem === undefined) return undefined
  return 'text' in pem ? pem.text : readCredentialFile(what, pem.file)
}

const bearer = (where: string, token: string): string => {
  const trimmed = token.trim()
  if (!/^[\x21-\x7e]+$/.test(trimmed))
    throw new CredentialsError(`${where} is empty or holds characters that no token has`)
  return `Bearer ${trimmed}`
}

interface KeptTls {
  readonly key: string
  readonly material: TlsMaterial
}

/** The same object as long as the parts are the same. */
const keptTls = (kept: KeptTls | undefined, parts: TlsParts): KeptTls => {
  const key = JSON.stringify(parts)
  return kept?.key === key ? kept : { key, material: makeTls(parts) }
}

class FollowedCredentials implements Credentials {
  readonly #options: CredentialOptions
  readonly #clock: Clock
  readonly #log: Logger
  readonly #readAccess: () => Promise<Access>
  #current: Material | undefined
  #freshUntil = -Infinity
  #loadedAt = -Infinity
  #loading: Promise<Material> | undefined
  #tls: KeptTls | undefined
  #anonymousTls: KeptTls | undefined
  #anonymous: { readonly material: Material; readonly until: number } | undefined
  #exec: { readonly key: string; readonly credential: ExecCredential } | undefined
  #trouble: string | undefined

  constructor(options: CredentialOptions, seams: { clock: Clock; log: Logger }) {
    this.#options = options
    this.#clock = seams.clock
    this.#log = seams.log
    this.#readAccess = accessReader(options)
  }

  async check(): Promise<URL> {
    return (await this.#readAccess()).server
  }

  async material(): Promise<Material> {
    const now = this.#clock.now()
    const ended = this.#exec !== undefined && now >= this.#exec.credential.endsAt
    if (this.#current !== undefined && now < this.#freshUntil && !ended) return this.#current
    this.#loading ??= this.#reload().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async anonymous(): Promise<Material> {
    const now = this.#clock.now()
    if (this.#anonymous !== undefined && now < this.#anonymous.until)
      return this.#anonymous.material
    try {
      const material = await this.#loadAnonymous()
      this.#anonymous = { material, until: now + (this.#options.recheckMs ?? 10_000) }
      return material
    } catch (error) {
      // A file may be missing for the moment of its replacement.
      if (this.#anonymous === undefined) throw error
      return this.#anonymous.material
    }
  }

  async #loadAnonymous(): Promise<Material> {
    const { server, ca: pem, insecure, serverName: servername } = await this.#readAccess()
    const headers = Object.freeze({})
    if (server.protocol === 'http:') return Object.freeze({ server, headers, tls: undefined })
    const ca = await readPem('certificate authority', pem)
    const parts = { ca, cert: undefined, key: undefined, insecure, servername }
    this.#anonymousTls = keptTls(this.#anonymousTls, parts)
    return Object.freeze({ server, headers, tls: this.#anonymousTls.material })
  }

  refused(): void {
    // Credentials that were just read cannot be stale: a server that answers 401 to everything must not make us
    // run an exec plugin for each call.
    if (this.#clock.now() - this.#loadedAt < SHORTEST_MS) return
    this.#freshUntil = -Infinity
    this.#exec = undefined
  }

  async #reload(): Promise<Material> {
    this.#loadedAt = this.#clock.now()
    try {
      this.#current = await this.#load()
      if (this.#trouble !== undefined) this.#log.info('credentials are readable again')
      this.#trouble = undefined
    } catch (error) {
      if (this.#current === undefined) throw error
      const trouble = reasonOf(error)
      if (trouble !== this.#trouble)
        this.#log.warn('credentials cannot be read; the last good ones stay in use', {
          error: trouble,
        })
      this.#trouble = trouble
      // Otherwise an expired exec credential would run its broken plugin for every request.
      this.#exec = undefined
    }
    this.#freshUntil = this.#loadedAt + (this.#options.recheckMs ?? 10_000)
    return this.#current
  }

  async #load(): Promise<Material> {
    const access = await this.#readAccess()
    const { identity } = access
    const headers: Record<string, string> = {}
    let cert = await readPem('client certificate', access.certificate?.cert)
    let key = await readPem('client key', access.certificate?.key)
    if (identity.kind === 'token') headers['authorization'] = bearer('the token', identity.token)
    if (identity.kind === 'token-file') {
      const token = await readCredentialFile('token', identity.file)
      headers['authorization'] = bearer(`the token file ${identity.file}`, token)
    }
    if (identity.kind === 'basic') {
      const pair = Buffer.from(`${identity.user}:${identity.password}`).toString('base64')
      headers['authorization'] = `Basic ${pair}`
    }
    if (identity.kind === 'exec') {
      const given = await this.#execCredential(identity.exec)
      if (given.token !== undefined)
        headers['authorization'] = bearer("the exec plugin's token", given.token)
      if (given.certificate !== undefined) ({ cert, key } = given.certificate)
    }
    if (access.impersonate !== undefined) headers['impersonate-user'] = access.impersonate
    const { server, insecure, serverName: servername } = access
    if (server.protocol === 'http:')
      return Object.freeze({ server, headers: Object.freeze(headers), tls: undefined })
    const ca = await readPem('certificate authority', access.ca)
    this.#tls = keptTls(this.#tls, { ca, cert, key, insecure, servername })
    return Object.freeze({ server, headers: Object.freeze(headers), tls: this.#tls.material })
  }

  async #execCredential(exec: Parameters<typeof runExecPlugin>[0]): Promise<ExecCredential> {
    const key = JSON.stringify(exec)
    const held = this.#exec
    if (held?.key === key && this.#clock.now() < held.credential.endsAt) return held.credential
    const { environment } = this.#options
    const credential = await runExecPlugin(exec, { clock: this.#clock, environment })
    this.#exec = { key, credential }
    return credential
  }
}

/**
 * Credentials from a kubeconfig or from the Pod's service account. Reads nothing yet.
 * @throws CredentialsError when the options name no source at all, or the master URL is not an address.
 */
export const makeCredentials = (
  options: CredentialOptions,
  seams: { clock: Clock; log: Logger },
): Credentials => new FollowedCredentials(options, seams)

/** The same server, and nothing of our own: for requests that bring their own token. */
export const withoutOwn = (credentials: Credentials): Credentials => ({
  check: () => credentials.check(),
  material: () => credentials.anonymous(),
  anonymous: () => credentials.anonymous(),
  refused: () => undefined,
})
