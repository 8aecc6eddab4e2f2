// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { jitter, type Random } from '../../core/random.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { nextRotation, SETTLE_MS, type RotationStep } from '../model/rotation.js'
import type {
  CertificateSecret,
  SharedCertificates,
  StoredCertificates,
} from './certificate-secret.js'
import type { CertificateSource, CertificateStatus, Served } from './certificate-source.js'
import { isCertificate, makePair, validityOf, type ServingPair } from './certificates.js'
import { trustBundle } from './webhook-configuration.js'

export interface CertificateKeeperSeams {
  readonly client: Pick<ResourceClient, 'get' | 'patch' | 'serverTime'>
  readonly secret: CertificateSecret
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export interface CertificateKeeperOptions {
  /** Of the webhook configurations. */
  readonly registration: string
  /** Of the Service; the apiserver asks for the first. */
  readonly names: readonly string[]
  /** Serve this from now on. */
  readonly onServe: (served: Served) => void
}

const TURN_MS = 30_000
const RETRY_MS = 5_000
const WAIT_JITTER = 0.2
/** Of one turn, against replicas that write at the same time. */
const MOST_TRIES = 3

/** Joined PEM texts, each once. */
const bundleOf = (authorities: readonly string[]): string =>
  [...new Set(authorities)].map(text => `${text}\n`).join('')

/**
 * Keeps a certificate that the apiserver trusts, shared by all replicas. Before another one is served its authority stands in
 * the registration for a minute, and the old one stays there until the next renewal: no review fails for it.
 */
export class CertificateKeeper implements CertificateSource {
  readonly #options: CertificateKeeperOptions
  readonly #seams: CertificateKeeperSeams
  /** Since when each authority stands in the registration, epoch ms. */
  #trusted: ReadonlyMap<string, number> = new Map()
  #served: ServingPair | undefined
  #isTrusted = false
  #renewals = 0
  #trouble: string | null = null

  constructor(options: CertificateKeeperOptions, seams: CertificateKeeperSeams) {
    this.#options = options
    this.#seams = seams
  }

  get status(): CertificateStatus {
    return {
      validUntil: this.#served === undefined ? null : (this.#validity(this.#served)?.until ?? null),
      isTrusted: this.#isTrusted,
      renewals: this.#renewals,
      trouble: this.#trouble,
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#seams
    let waitMs: number
    do {
      try {
        await this.turn(signal)
        this.#trouble = null
        waitMs = TURN_MS
      } catch (error) {
        const reason = reasonOf(error)
        if (!signal.aborted && reason !== this.#trouble)
          log.warn('certificates could not be looked after', { error: reason })
        this.#trouble = reason
        waitMs = RETRY_MS
      }
    } while (await sleep(clock, jitter(random, waitMs, WAIT_JITTER), signal))
  }

  /** Look once, and do what is to be done. Rejects as the client does. */
  async turn(signal: AbortSignal): Promise<void> {
    let stored: StoredCertificates | undefined
    for (let tries = 0; stored === undefined && tries < MOST_TRIES; tries++)
      stored = await this.#advance(await this.#seams.secret.read(signal), signal)
    if (stored === undefined) throw new Error('other replicas wrote the certificates meanwhile')
    this.#serve(stored.current)
    let isTrusted = false
    for (let tries = 0; !isTrusted && tries < MOST_TRIES; tries++)
      isTrusted = await this.#trust(signal)
    this.#isTrusted = isTrusted
    if (!isTrusted) throw new Error('the registration could not be written')
  }

  /** @returns what is stored; undefined when another replica wrote meanwhile */
  async #advance(
    stored: StoredCertificates | undefined,
    signal: AbortSignal,
  ): Promise<StoredCertificates | undefined> {
    const next = stored?.next
    const step = nextRotation(
      {
        current: stored && this.#validity(stored.current),
        next: next && this.#validity(next),
        nextTrustedSince: next && this.#trusted.get(next.ca.trim()),
      },
      this.#now(),
    )
    if (step === 'none') return stored
    const changed = await this.#changed(step, stored)
    const written = await this.#seams.secret.write(changed, stored, signal)
    if (written !== undefined) this.#seams.log.info('certificates written', { step })
    return written
  }

  async #changed(
    step: Exclude<RotationStep, 'none'>,
    stored: StoredCertificates | undefined,
  ): Promise<SharedCertificates> {
    const oldCa = stored?.current.ca ?? ''
    switch (step) {
      case 'make':
        return { current: this.#usable() ?? (await this.#make()), next: undefined, oldCa }
      case 'prepare':
        return { ...stored!, next: await this.#make() }
      case 'promote':
        return { current: stored!.next!, next: undefined, oldCa }
    }
  }

  /** What we serve, when the Secret was deleted or spoilt: the apiserver trusts it already. */
  #usable(): ServingPair | undefined {
    const validity = this.#served && this.#validity(this.#served)
    const now = this.#now()
    const isUsable = validity !== undefined && validity.from <= now && now < validity.until
    return isUsable ? this.#served : undefined
  }

  #serve(pair: ServingPair): void {
    if (this.#served?.cert === pair.cert) return
    const since = this.#trusted.get(pair.ca.trim())
    const isSettled = since !== undefined && this.#now() - since >= SETTLE_MS
    // Whoever has nothing better serves it at once.
    if (this.#usable() !== undefined && !isSettled) return
    if (this.#served !== undefined) this.#renewals++
    this.#served = pair
    const { cert, key } = pair
    this.#options.onServe({ cert, key })
  }

  /** @returns false when somebody else wrote the registration meanwhile */
  async #trust(signal: AbortSignal): Promise<boolean> {
    const { client, secret } = this.#seams
    let authorities: readonly string[] = []
    const readBundle = async (): Promise<string> => {
      const stored = await secret.read(signal)
      const texts = [stored?.oldCa, stored?.current.ca, stored?.next?.ca, this.#served?.ca]
      // What is no certificate would make the apiserver refuse the rest with it.
      authorities = texts.flatMap(text =>
        text !== undefined && isCertificate(text) ? text.trim() : [],
      )
      return bundleOf(authorities)
    }
    const isTrusted = await trustBundle(client, this.#options.registration, readBundle, signal)
    if (!isTrusted) return false
    // Where nothing is registered nobody has to be waited for.
    if (authorities.length === 0) await readBundle()
    const now = this.#now()
    this.#trusted = new Map(authorities.map(text => [text, this.#trusted.get(text) ?? now]))
    return true
  }

  #validity(pair: ServingPair) {
    return validityOf(pair, this.#options.names[0]!)
  }

  #make(): Promise<ServingPair> {
    return makePair(this.#options.names, this.#now())
  }

  /** The apiserver's time, since it is the apiserver that judges certificates. */
  #now(): number {
    return this.#seams.client.serverTime() ?? this.#seams.clock.wall()
  }
}
