// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { sleep, type Clock } from '../../core/clock.js'
import { CredentialsError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { CertificateSource, CertificateStatus, Served } from './certificate-source.js'

export interface CertificateFilesOptions {
  readonly certFile: string
  readonly keyFile: string
  /** Called with each new certificate to use. */
  readonly onServe: (served: Served) => void
}

const TURN_MS = 30_000

/** A certificate in two files that others maintain, such as cert-manager; changes are picked up. */
export class CertificateFiles implements CertificateSource {
  readonly #options: CertificateFilesOptions
  readonly #clock: Clock
  readonly #log: Logger
  #served: Served | undefined
  #renewals = 0
  #trouble: string | null = null

  constructor(options: CertificateFilesOptions, { clock, log }: { clock: Clock; log: Logger }) {
    this.#options = options
    this.#clock = clock
    this.#log = log
  }

  get status(): CertificateStatus {
    return {
      validUntil:
        this.#served === undefined
          ? null
          : Date.parse(new X509Certificate(this.#served.cert).validTo),
      // Whoever maintains the files also maintains the webhook configurations.
      isTrusted: this.#served !== undefined,
      renewals: this.#renewals,
      trouble: this.#trouble,
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    do {
      try {
        await this.turn()
        this.#trouble = null
      } catch (error) {
        const reason = reasonOf(error)
        if (reason !== this.#trouble) this.#log.error('certificate not used', { error: reason })
        this.#trouble = reason
      }
    } while (await sleep(this.#clock, TURN_MS, signal))
  }

  /**
   * Read the files once. @throws CredentialsError that names the files when they cannot be read or do not belong together
   */
  async turn(): Promise<void> {
    const { certFile, keyFile, onServe } = this.#options
    const served = await this.#read().catch((cause: unknown) => {
      throw new CredentialsError(`${certFile} and ${keyFile} must be a certificate and its key`, {
        cause,
      })
    })
    if (this.#served?.cert === served.cert && this.#served.key === served.key) return
    // It throws for a certificate that cannot be used: then the one before is still served.
    onServe(served)
    if (this.#served !== undefined) this.#renewals++
    this.#served = served
  }

  async #read(): Promise<Served> {
    const { certFile, keyFile } = this.#options
    const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')])
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      throw new Error('the key is of another certificate')
    return { cert, key }
  }
}
