// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { jitter, type Random } from '../../core/random.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import {
  isValid,
  nextRotation,
  SETTLE_MS,
  stillTrusted,
  type RotationStep,
  type Validity,
} from '../model/rotation.js'
import type {
  CertificateSecret,
  SharedCertificates,
  StoredCertificates,
} from './certificate-secret.js'
import type { CertificateSource, CertificateStatus, Served } from './certificate-source.js'
import {
  authoritiesOf,
  checkPair,
  makePair,
  readAuthority,
  type ServingPair,
} from './certificates.js'
import { trustBundle, type Trusting } from './webhook-configuration.js'

export interface CertificateKeeperSeams {
  readonly client: Pick<ResourceClient, 'get' | 'patch' | 'serverTime'>
  readonly secret: CertificateSecret
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export interface CertificateKeeperOptions {
  /** Name of the webhook configurations. */
  readonly registration: string
  /** DNS names of the Service; the apiserver uses the first. */
  readonly names: readonly string[]
  /** Called with each new certificate to use. */
  readonly onServe: (served: Served) => void
}

const TURN_MS = 30_000
const RETRY_MS = 5_000
const WAIT_JITTER = 0.2
/** Attempts per step when other replicas write at the same time. */
const MOST_TRIES = 3

/** PEM texts joined, each once. */
const bundleOf = (authorities: readonly string[]): string =>
  [...new Set(authorities)].map(text => `${text}\n`).join('')

/**
 * Maintains a certificate that the apiserver trusts, shared by all replicas. The next certificate's authority is in the
 * webhook configurations for a minute before the certificate is used, and the old authority stays there until the next
 * renewal, so no review fails during a renewal. So does what the Secret no longer holds: another replica may serve it.
 */
export class CertificateKeeper implements CertificateSource {
  readonly #options: CertificateKeeperOptions
  readonly #seams: CertificateKeeperSeams
  /** Since when each authority is in the webhook configurations, epoch ms. */
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
          log.warn('certificates could not be checked or renewed', { error: reason })
        this.#trouble = reason
        waitMs = RETRY_MS
      }
    } while (await sleep(clock, jitter(random, waitMs, WAIT_JITTER), signal))
  }

  /** Do what is due now. Rejects as the client does. */
  async turn(signal: AbortSignal): Promise<void> {
    try {
      this.#serve((await this.#renew(signal)).current)
    } finally {
      // Reviews need it also while the Secret cannot be written. While it cannot be read the bundle stays as it is.
      if (this.#served !== undefined) await this.#register(signal)
    }
  }

  async #renew(signal: AbortSignal): Promise<StoredCertificates> {
    let stored: StoredCertificates | undefined
    for (let tries = 0; stored === undefined && tries < MOST_TRIES; tries++)
      stored = await this.#advance(await this.#seams.secret.read(signal), signal)
    if (stored === undefined) throw new Error('other replicas wrote the certificates meanwhile')
    return stored
  }

  async #register(signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries++) {
      const { refusal, isLostToOthers } = await this.#trust(signal)
      if (this.#isTrusted && refusal === undefined) return
      if (!isLostToOthers || tries === MOST_TRIES)
        throw new Error('the registration could not be written', { cause: refusal })
    }
  }

  /** @returns what is stored; undefined when another replica wrote at the same time */
  async #advance(
    stored: StoredCertificates | undefined,
    signal: AbortSignal,
  ): Promise<StoredCertificates | undefined> {
    const next = stored?.next
    const step = nextRotation(
      {
        current: stored && this.#validity(stored.current),
        next: next && this.#validity(next),
        nextTrustedSince: next && this.#trustedSince(next),
      },
      this.#now(),
    )
    if (step === 'none') return stored
    const changed = await this.#changed(step, stored)
    const written = await this.#seams.secret.write(changed, stored, signal)
    if (written === undefined) return undefined
    const { log } = this.#seams
    const reason = this.#whyUnusable(step === 'prepare' ? next : stored?.current)
    if (reason !== undefined)
      log.warn('the Secret held a certificate that cannot be used; replaced', { error: reason })
    log.info('certificates written', { step })
    return written
  }

  async #changed(
    step: Exclude<RotationStep, 'none'>,
    stored: StoredCertificates | undefined,
  ): Promise<SharedCertificates> {
    // Of one that nobody serves the authority is none to follow; those before it may still be served.
    const oldCa = (this.#isUsable(stored?.current) ? stored?.current.ca : stored?.oldCa) ?? ''
    switch (step) {
      case 'make':
        return { current: this.#usable() ?? (await this.#make()), next: undefined, oldCa }
      case 'prepare':
        return { ...stored!, next: await this.#make() }
      case 'promote':
        return { current: stored!.next!, next: undefined, oldCa }
    }
  }

  /** The certificate in use, if the Secret was deleted or damaged: the apiserver already trusts it. */
  #usable(): ServingPair | undefined {
    return this.#isUsable(this.#served) ? this.#served : undefined
  }

  #isUsable(pair: ServingPair | undefined): boolean {
    const validity = pair && this.#validity(pair)
    return validity !== undefined && isValid(validity, this.#now())
  }

  #serve(pair: ServingPair): void {
    if (this.#served?.cert === pair.cert) return
    const since = this.#trustedSince(pair)
    const isSettled = since !== undefined && this.#now() - since >= SETTLE_MS
    // A replica without a usable certificate uses it at once.
    if (this.#usable() !== undefined && !isSettled) return
    const { cert, key } = pair
    // It throws for a certificate that cannot be used: then the one before is still served.
    this.#options.onServe({ cert, key })
    if (this.#served !== undefined) this.#renewals++
    this.#served = pair
  }

  /** Of the authorities that signed it: others beside them in the Secret say nothing about it. */
  #trustedSince(pair: ServingPair): number | undefined {
    const checked = this.#check(pair)
    const authorities = checked.ok ? checked.authorities : []
    const since = authorities.flatMap(text => this.#trusted.get(text) ?? [])
    return since.length === 0 ? undefined : Math.min(...since)
  }

  /** Also learns whom the webhooks trust, whether they can be written or not. */
  async #trust(signal: AbortSignal): Promise<Trusting> {
    const { client } = this.#seams
    const bundleFor = (present: readonly string[]) => this.#bundleFor(present, signal)
    const trusting = await trustBundle(client, this.#options.registration, bundleFor, signal)
    const { bundles } = trusting
    // Without a webhook there is nothing to wait for.
    const found = bundles.length === 0 ? [await bundleFor([])] : bundles
    const [first = [], ...more] = found.map(text => authoritiesOf(text))
    const everywhere = first.filter(text => more.every(each => each.includes(text)))
    const now = this.#now()
    this.#trusted = new Map(everywhere.map(text => [text, this.#trusted.get(text) ?? now]))
    this.#isTrusted = this.#served !== undefined && this.#trustedSince(this.#served) !== undefined
    return trusting
  }

  async #bundleFor(present: readonly string[], signal: AbortSignal): Promise<string> {
    const stored = await this.#seams.secret.read(signal)
    const previous = authoritiesOf(stored?.oldCa)
    const shared = [
      ...previous,
      ...authoritiesOf(stored?.current.ca),
      ...authoritiesOf(stored?.next?.ca),
    ]
    const served = authoritiesOf(this.#served?.ca)
    const others = [...served, ...present.flatMap(text => authoritiesOf(text))]
    const still = stillTrusted(
      [...new Set(others)].filter(text => !shared.includes(text)).map(readAuthority),
      previous.map(readAuthority),
      this.#now(),
    )
    return bundleOf([...shared, ...still, ...served])
  }

  #validity(pair: ServingPair): Validity | undefined {
    const checked = this.#check(pair)
    return checked.ok ? checked.validity : undefined
  }

  #check(pair: ServingPair): ReturnType<typeof checkPair> {
    return checkPair(pair, this.#options.names[0]!, this.#now())
  }

  /** Undefined when it can be used, and when there is none: the Secret comes empty. */
  #whyUnusable(pair: ServingPair | undefined): string | undefined {
    if (pair === undefined || pair.ca + pair.cert + pair.key === '') return undefined
    const checked = this.#check(pair)
    if (!checked.ok) return checked.reason
    const now = this.#now()
    if (isValid(checked.validity, now)) return undefined
    const when = now < checked.validity.from ? 'not valid yet' : 'no longer valid'
    return `it or its CA certificate is ${when}`
  }

  #make(): Promise<ServingPair> {
    return makePair(this.#options.names, this.#now())
  }

  /** The apiserver's time, since the apiserver checks the certificates. */
  #now(): number {
    return this.#seams.client.serverTime() ?? this.#seams.clock.wall()
  }
}
