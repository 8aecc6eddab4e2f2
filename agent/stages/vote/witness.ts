// SPDX-License-Identifier: Apache-2.0
import { isIPv6 } from 'node:net'
import { sleep, withTimeout, type Clock } from '../../../core/clock.js'
import type { Dial, HttpGet } from '../../../core/dial.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { LeaseView } from '../../ports/kube-api.js'
import { NO_WITNESS, type WitnessAnswer } from '../../../vote/witness.js'
import type { AgentOptions } from '../../options/agent-options.js'

/** The third party of a zone of two, asked while the two do not reach each other. */
export interface Witness {
  readonly answer: WitnessAnswer
  /** Whom it is asked about; undefined while nobody has to be asked. */
  ask(peer: string | undefined): void
  stop(): Promise<void>
}

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

/** Kubelets renew four times in a Lease's duration; after two that did not come it counts as stopped. */
const STOPPED_SHARE = 0.5
const DEFAULT_LEASE_SECONDS = 40

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

const hostAndPort = (url: URL): [string, number] => {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return [isIPv6(host) ? host : url.hostname, Number(url.port)]
}

/** Ask the target once. @throws whatever the network does. */
const reach = async (target: URL, seams: WitnessSeams, signal: AbortSignal): Promise<void> => {
  if (target.protocol === 'tcp:') await seams.dial.connect(...hostAndPort(target), signal)
  else await seams.http.get({ url: target.href, reuse: false, signal })
}

const isSame = (a: WitnessAnswer, b: WitnessAnswer): boolean =>
  a.state === b.state && a.peerLease === b.peerLease

/** The witness that the options name; it is asked only while `ask` names a node. */
export const makeWitness = (options: WitnessOptions, seams: WitnessSeams): Witness => {
  const { clock } = seams
  const stopping = new AbortController()
  const target = options.witnessTarget === undefined ? undefined : new URL(options.witnessTarget)
  let answer = NO_WITNESS
  let asked: { readonly peer: string; readonly signal: AbortController } | undefined
  let done: Promise<void> = Promise.resolve()

  const settle = (next: WitnessAnswer): void => {
    if (isSame(answer, next)) return
    answer = next
    seams.onChange()
  }
  /** Undefined while the apiserver is to be left alone. */
  const readLease = async (peer: string, signal: AbortSignal): Promise<LeaseView | undefined> => {
    const { apiBackoff } = seams
    if (!apiBackoff.isReady) return undefined
    apiBackoff.left()
    try {
      const lease = await seams.getLease(peer, signal)
      apiBackoff.succeeded()
      return lease
    } catch (error) {
      if (!stopping.signal.aborted) apiBackoff.failed(error)
      throw error
    }
  }
  const askOnce = async (
    peer: string,
    pulse: LeasePulse,
    signal: AbortSignal,
  ): Promise<WitnessAnswer> => {
    if (target !== undefined) {
      await reach(target, seams, signal)
      return { state: 'reachable', peerLease: 'unknown' }
    }
    const lease = await readLease(peer, signal)
    if (lease === undefined) return UNREACHABLE
    const isOurs = seams.isOurRenewal(peer, lease.renewTime ?? '')
    const peerLease = pulse.take(lease, isOurs)
    return { state: 'reachable', peerLease: peerLease === 'unknown' ? answer.peerLease : peerLease }
  }
  const loop = async (peer: string, signal: AbortSignal): Promise<void> => {
    const pulse = new LeasePulse(clock)
    do {
      try {
        const work = (inner: AbortSignal): Promise<WitnessAnswer> => askOnce(peer, pulse, inner)
        settle(await withTimeout(clock, options.cloudCheckTimeoutMs, signal, work))
      } catch {
        // What cannot be reached is an answer too; why does not matter to the vote.
        if (!signal.aborted) settle(UNREACHABLE)
      }
    } while (await sleep(clock, Math.min(options.checkPeriodMs, 5_000), signal))
  }
  return {
    get answer() {
      return answer
    },
    ask: peer => {
      if (options.witness === 'none' || peer === asked?.peer || stopping.signal.aborted) return
      asked?.signal.abort()
      asked = undefined
      answer = NO_WITNESS
      if (peer === undefined) return
      const signal = new AbortController()
      asked = { peer, signal }
      const before = done
      done = before.then(() => loop(peer, signal.signal))
    },
    stop: () => {
      stopping.abort()
      asked?.signal.abort()
      return done
    },
  }
}
