// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { isRefusal, reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import { jitter, type Random } from '../../../core/random.js'
import type { KubePatch } from '../../../kube/client/write.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { KubeApi } from '../../ports/kube-api.js'

/** Whether the cluster keeps the agents' account to what agents write. */
export interface Confinement {
  readonly state: 'yes' | 'no' | 'unknown'
  /** How that is known, or why not, in words. */
  readonly reason: string
  /** When it was found out, by `Clock.now`; −Infinity before. */
  readonly at: number
}

interface ConfinementSeams {
  readonly kube: Pick<KubeApi, 'tryNodePatch'>
  readonly apiBackoff: ApiBackoff
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** The agents of a cluster start together: each looks first after this time, give or take this share of it. */
const FIRST_MS = 30_000
const FIRST_SHARE = 0.9
/** After it could not be found out. */
const SOON_MS = 600_000
/** How long it may take until a policy that was removed or added is noticed. */
const AGAIN_MS = 4 * 3_600_000
const SHARE = 0.25

/** Agents write no label of the own Node; nothing reads this one. */
const FORBIDDEN = { metadata: { labels: { 'edge-health/confinement-check': 'x' } } }

const unknown = (error: unknown): Omit<Confinement, 'at'> => ({
  state: 'unknown',
  reason: `could not be asked: ${reasonOf(error)}`,
})

/**
 * Asks the apiserver by two dry runs, once it is reached and then every few hours: a patch of the own Node that changes
 * nothing, which must be allowed, and one that no agent makes, which must not. What comes of it is shown and changes
 * nothing that this agent does: only the cluster's operator can mend it.
 */
export class ConfinementCheck {
  readonly #node: string
  readonly #seams: ConfinementSeams
  readonly #stopping = new AbortController()
  #current: Confinement = { state: 'unknown', reason: 'not asked yet', at: -Infinity }
  #dueAt: number | undefined
  #running: Promise<void> | undefined

  constructor(nodeName: string, seams: ConfinementSeams) {
    this.#node = nodeName
    this.#seams = seams
  }

  get current(): Confinement {
    return this.#current
  }

  /** To be called every now and then while the apiserver may be asked, and has the own Node. */
  review(): void {
    const { clock, random, apiBackoff } = this.#seams
    const now = clock.now()
    this.#dueAt ??= now + jitter(random, FIRST_MS, FIRST_SHARE)
    if (now < this.#dueAt || this.#running !== undefined || this.#stopping.signal.aborted) return
    if (!apiBackoff.isReady) return
    this.#running = this.#look().finally(() => (this.#running = undefined))
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    return this.#running ?? Promise.resolve()
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { clock, random, log } = this.#seams
    const answer = await this.#ask()
    if (this.#stopping.signal.aborted) return
    const { state, reason } = answer
    const isNews = state !== this.#current.state
    this.#current = { ...answer, at: clock.now() }
    this.#dueAt = clock.now() + jitter(random, state === 'unknown' ? SOON_MS : AGAIN_MS, SHARE)
    if (isNews)
      log[state === 'no' ? 'warn' : 'info']('confinement of the account', { state, reason })
  }

  /** A refusal delays all further requests of this agent to the apiserver. */
  async #try(patch: KubePatch): Promise<void> {
    const { kube, apiBackoff } = this.#seams
    apiBackoff.left()
    try {
      await kube.tryNodePatch(this.#node, patch, this.#stopping.signal)
      apiBackoff.succeeded()
    } catch (error) {
      apiBackoff.failed(error)
      throw error
    }
  }

  async #ask(): Promise<Omit<Confinement, 'at'>> {
    try {
      await this.#try({ type: 'merge', body: {} })
    } catch (error) {
      return unknown(error)
    }
    try {
      await this.#try({ type: 'merge', body: FORBIDDEN })
    } catch (error) {
      // By RBAC or the API's own rules the write that changes nothing would have been refused, too.
      if (!isRefusal(error)) return unknown(error)
      return { state: 'yes', reason: 'the apiserver refuses a write that is not an agent’s job' }
    }
    return {
      state: 'no',
      reason: 'the apiserver would take a write that is not an agent’s job: no policy is in force',
    }
  }
}
