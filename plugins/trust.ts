// SPDX-License-Identifier: Apache-2.0
import { authoritiesIn } from '../core/authorities.js'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { HttpRequest } from '../core/dial.js'
import type { PluginSeams } from './seams.js'
import type { PluginSpec } from './spec.js'

/** The word that turns verification off. */
export const INSECURE = 'insecure'

/** @throws InvalidInputError when a token would go to any server at the address. */
export const refuseTokenUnverified = ({ ca, tokenFile }: PluginSpec, thing: string): void => {
  if (tokenFile !== undefined && ca === INSECURE)
    throw new InvalidInputError(
      `${thing}: token-file`,
      'must not be sent without verified TLS (give ca= a PEM file, or leave it out to trust the system)',
      tokenFile,
    )
}

/** The part of a request that comes from files, or why it could not be had. */
export type Trust =
  | { readonly ok: true; readonly parts: Pick<HttpRequest, 'ca' | 'headers'> }
  | { readonly ok: false; readonly reason: string }

const CUT = 'took too long to read'

/** Settles no later than the signal; the read itself cannot be stopped. */
const inTime = (signal: AbortSignal, reading: Promise<string>): Promise<string> =>
  new Promise((resolve, reject) => {
    const cut = (): void => reject(new Error(CUT))
    signal.addEventListener('abort', cut, { once: true })
    void reading.then(resolve, reject).finally(() => signal.removeEventListener('abort', cut))
    if (signal.aborted) cut()
  })

const TOKEN = /^[\x21-\x7e]+$/

/**
 * Reads CA and token, each time anew, so that rotated ones count from the next probe on. A file that cannot be used says
 * nothing about the node.
 */
export class TrustReader {
  readonly #files: Pick<PluginSpec, 'ca' | 'tokenFile'>
  readonly #readFile: PluginSeams['readFile']
  /** The last file that is good, and its authorities: to read them takes longer than to compare files. */
  #good: { readonly file: string; readonly authorities: string } | undefined

  constructor(files: Pick<PluginSpec, 'ca' | 'tokenFile'>, readFile: PluginSeams['readFile']) {
    this.#files = files
    this.#readFile = readFile
  }

  async read(signal: AbortSignal): Promise<Trust> {
    const { ca, tokenFile } = this.#files
    let path = ''
    const read = (file: string): Promise<string> => {
      path = file
      return inTime(signal, this.#readFile(file))
    }
    try {
      const pem = ca === undefined || ca === INSECURE ? ca : this.#authoritiesIn(await read(ca))
      if (tokenFile === undefined) return { ok: true, parts: { ca: pem } }
      const token = (await read(tokenFile)).trim()
      if (!TOKEN.test(token)) return { ok: false, reason: `${path} holds no token` }
      return { ok: true, parts: { ca: pem, headers: { authorization: `Bearer ${token}` } } }
    } catch (error) {
      return { ok: false, reason: `cannot read ${path}: ${reasonOf(error)}` }
    }
  }

  #authoritiesIn(file: string): string {
    if (file !== this.#good?.file) this.#good = { file, authorities: authoritiesIn(file) }
    return this.#good.authorities
  }
}
