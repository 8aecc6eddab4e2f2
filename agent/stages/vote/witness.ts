// SPDX-License-Identifier: Apache-2.0
import { hostOf } from '../../../core/address.js'
import { sleep, withTimeout, type Clock } from '../../../core/clock.js'
import type { Dial, HttpGet } from '../../../core/dial.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { LeaseView } from '../../ports/kube-api.js'
import { NO_WITNESS, type WitnessAnswer } from '../../../vote/witness.js'
import type { AgentOptions } from '../../options/agent-options.js'

interface WitnessSeams {
  readonly clock: Clock
  readonly dial: Dial
  readonly http: HttpGet
  readonly getLease: (node: string, signal: AbortSignal) => Promise<LeaseView>
  readonly apiBackoff: ApiBackoff
  /** Whether this renewal was written by us in the node's place: it says nothing about the node. */
  readonly isOurRenewal: (node: string, renewTime: string) => boolean
  readonly onChange: () => void
}

type WitnessOptions = Pick<
  AgentOptions,
  'witness' | 'witnessTarget' | 'checkPeriodMs' | 'cloudCheckTimeoutMs'
>

/** Kubelets renew four times in a Lease's duration; after two missed renewals the Lease counts as stopped. */
const STOPPED_SHARE = 0.5
const DEFAULT_LEASE_SECONDS = 40
/** It is asked this often at least, however seldom peers are probed. */
const LONGEST_PERIOD_MS = 5_000

/** Follow one Lease by our own clock: the times inside it are another machine's. */
class LeasePulse {
  readonly #clock: Clock
  #seen: string | undefined
  #movedAt: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  take(lease: LeaseView, isOurs: boolean): WitnessAnswer['peerLease'] {
    const now = this.#clock.now()
    const { renewTime = '' } = lease
    if (this.#movedAt === undefined) this.#movedAt = now
    else if (renewTime !== this.#seen && !isOurs) {
      this.#seen = renewTime
      this.#movedAt = now
      return 'fresh'
    }
    this.#seen = renewTime
    const patienceMs = (lease.leaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1000 * STOPPED_SHARE
    return now - this.#movedAt >= patienceMs ? 'stopped' : 'unknown'
  }
}

const UNREACHABLE: WitnessAnswer = Object.freeze({ state: 'unreachable', peerLease: 'unknown' })

/** Ask the target once. @throws whatever the network does. */
const reach = async (target: URL, seams: WitnessSeams, signal: AbortSignal): Promise<void> => {
  if (target.protocol === 'tcp:')
    await seams.dial.connect(hostOf(target), Number(target.port), signal)
  else await seams.http.get({ url: target.href, reuse: false, signal })
}

const isSame = (a: WitnessAnswer, b: WitnessAnswer): boolean =>
  a.state === b.state && a.peerLease === b.peerLease

/** Undefined while the apiserver must not be asked. */
const readLease = async (
  peer: string,
  { getLease, apiBackoff }: WitnessSeams,
  signals: { readonly signal: AbortSignal; readonly stopping: AbortSignal },
): Promise<LeaseView | undefined> => {
  if (!apiBackoff.isReady) return undefined
  apiBackoff.left()
  try {
    const lease = await getLease(peer, signals.signal)
    apiBackoff.succeeded()
    return lease
  } catch (error) {
    if (!signals.stopping.aborted) apiBackoff.failed(error)
    throw error
  }
}

/**
 * The third party of a zone of two that the options name: the apiserver, or a target of one's own. It is asked only while
 * the two do not reach each other.
 */
export class Witness {
  readonly #options: WitnessOptions
  readonly #seams: WitnessSeams
  readonly #target: URL | undefined
  readonly #stopping = new AbortController()
  #answer = NO_WITNESS
  #asked: { readonly peer: string; readonly signal: AbortController } | undefined
  #done: Promise<void> = Promise.resolve()

  constructor(options: WitnessOptions, seams: WitnessSeams) {
    const { witnessTarget } = options
    this.#options = options
    this.#seams = seams
    this.#target = witnessTarget === undefined ? undefined : new URL(witnessTarget)
  }

  get answer(): WitnessAnswer {
    return this.#answer
  }

  /** Whom it is asked about; undefined while nobody has to be asked. */
  ask(peer: string | undefined): void {
    const isOff = this.#options.witness === 'none' || this.#stopping.signal.aborted
    if (isOff || peer === this.#asked?.peer) return
    this.#asked?.signal.abort()
    this.#asked = undefined
    this.#answer = NO_WITNESS
    if (peer === undefined) return
    const signal = new AbortController()
    this.#asked = { peer, signal }
    const before = this.#done
    this.#done = before.then(() => this.#loop(peer, signal.signal))
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    this.#asked?.signal.abort()
    return this.#done
  }

  async #loop(peer: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#seams
    const { checkPeriodMs, cloudCheckTimeoutMs } = this.#options
    const pulse = new LeasePulse(clock)
    const once = (inner: AbortSignal): Promise<WitnessAnswer> => this.#askOnce(peer, pulse, inner)
    do {
      try {
        this.#settle(await withTimeout(clock, cloudCheckTimeoutMs, signal, once))
      } catch {
        // "Unreachable" is an answer too; the reason does not matter to the vote.
        if (!signal.aborted) this.#settle(UNREACHABLE)
      }
    } while (await sleep(clock, Math.min(checkPeriodMs, LONGEST_PERIOD_MS), signal))
  }

  async #askOnce(peer: string, pulse: LeasePulse, signal: AbortSignal): Promise<WitnessAnswer> {
    if (this.#target !== undefined) {
      await reach(this.#target, this.#seams, signal)
      return { state: 'reachable', peerLease: 'unknown' }
    }
    const stopping = this.#stopping.signal
    const lease = await readLease(peer, this.#seams, { signal, stopping })
    if (lease === undefined) return UNREACHABLE
    const isOurs = this.#seams.isOurRenewal(peer, lease.renewTime ?? '')
    const now = pulse.take(lease, isOurs)
    return { state: 'reachable', peerLease: now === 'unknown' ? this.#answer.peerLease : now }
  }

  #settle(next: WitnessAnswer): void {
    if (isSame(this.#answer, next)) return
    this.#answer = next
    this.#seams.onChange()
  }
}
