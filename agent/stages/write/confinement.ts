// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { isNotFound, isRefusal, KubeStatusError, reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import { jitter, type Random } from '../../../core/random.js'
import type { KubePatch } from '../../../kube/client/write.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { KubeApi, TriedPart } from '../../ports/kube-api.js'

/** Whether the cluster keeps the agents' account to what agents write. */
export interface Confinement {
  readonly state: 'yes' | 'no' | 'unknown'
  /** How that is known, or why not, in words. */
  readonly reason: string
  /** When it was found out, by `Clock.now`; −Infinity before. */
  readonly at: number
}

interface ConfinementSeams {
  readonly kube: Pick<KubeApi, 'tryPatch'>
  readonly apiBackoff: ApiBackoff
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** The agents of a cluster start together: each looks first after this time, give or take this share of it. */
const FIRST_MS = 30_000
const FIRST_SHARE = 0.9
/** Pause after a check without a result. It doubles while RBAC or another admission plugin refuses, up to the usual one. */
const SOON_MS = 600_000
/** How long it may take until a policy that was removed or added is noticed. */
const AGAIN_MS = 4 * 3_600_000
const SHARE = 0.25

const pauseMs = (refusals: number): number =>
  Math.min(AGAIN_MS, SOON_MS * 2 ** Math.max(0, refusals - 1))

/** Agents write no label of the own Node, and nothing of its Lease; nothing reads this label. */
const FORBIDDEN: KubePatch = {
  type: 'merge',
  body: { metadata: { labels: { 'edge-health/confinement-check': 'x' } } },
}

/** The parts that have rules of their own, and what they are called in messages. */
const PARTS: readonly (readonly [part: TriedPart, what: string])[] = [
  ['node', 'the own Node'],
  ['status', 'its status'],
  ['lease', 'its Lease'],
]

/**
 * Only the message tells who refused: RBAC answers 403 as well, and a policy in force passes no write of the own Lease
 * that could show whether RBAC allows one. A policy names itself (`… is forbidden: ValidatingAdmissionPolicy 'x' with
 * binding 'x' denied request: …`), a bridge names the agent; RBAC says `User "x" cannot patch resource "x"`.
 */
const BY_POLICY =
  /^\S+ "[^"]*" is forbidden: (?:ValidatingAdmissionPolicy '[^']*edge-health-agent-(?:nodes|leases)[^']*' with binding |an agent on node \S+ may not )/

const isByPolicy = (error: unknown): boolean =>
  error instanceof KubeStatusError && isRefusal(error) && BY_POLICY.test(error.said)

/**
 * Checks by dry runs, once the apiserver is reached and then every few hours, that a policy refuses writes that no agent
 * makes, one to each part that has rules of its own. The result is shown and changes nothing that this agent does: only
 * the cluster's operator can fix it.
 */
export class ConfinementCheck {
  readonly #node: string
  readonly #seams: ConfinementSeams
  readonly #stopping = new AbortController()
  #current: Confinement = { state: 'unknown', reason: 'not asked yet', at: -Infinity }
  #dueAt: number | undefined
  /** Checks in a row that RBAC or another admission plugin ended. */
  #refusals = 0
  #running: Promise<void> | undefined

  constructor(nodeName: string, seams: ConfinementSeams) {
    this.#node = nodeName
    this.#seams = seams
  }

  get current(): Confinement {
    return this.#current
  }

  /**
   * To be called while the apiserver may be asked, and has the own Node.
   * @returns when to call it again at the latest; Infinity while a check runs, since the next one is not due for long
   */
  review(): number {
    const { clock, random, apiBackoff } = this.#seams
    const now = clock.now()
    this.#dueAt ??= now + jitter(random, FIRST_MS, FIRST_SHARE)
    if (this.#running !== undefined || this.#stopping.signal.aborted) return Infinity
    const at = Math.max(this.#dueAt, apiBackoff.readyAt)
    if (now < at) return at
    this.#running = this.#look().finally(() => (this.#running = undefined))
    return Infinity
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    return this.#running ?? Promise.resolve()
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { clock, random, log } = this.#seams
    const { state, reason, isRefused } = await this.#ask()
    if (this.#stopping.signal.aborted) return
    const isNews = state !== this.#current.state
    this.#current = { state, reason, at: clock.now() }
    this.#refusals = isRefused ? this.#refusals + 1 : 0
    const waitMs = state === 'unknown' ? pauseMs(this.#refusals) : AGAIN_MS
    this.#dueAt = clock.now() + jitter(random, waitMs, SHARE)
    if (isNews)
      log[state === 'no' ? 'warn' : 'info']('confinement of the account', { state, reason })
  }

  /** @returns why it was refused; undefined when it was accepted. A failure may delay all further requests of this agent. */
  async #try(part: TriedPart): Promise<unknown> {
    const { kube, apiBackoff } = this.#seams
    apiBackoff.left()
    try {
      await kube.tryPatch(part, this.#node, FORBIDDEN, this.#stopping.signal)
      apiBackoff.succeeded()
      return undefined
    } catch (error) {
      apiBackoff.failed(error)
      return error
    }
  }

  /** `isRefused`: no result for lack of a right, a Lease, or a policy's message; this does not pass by itself. */
  async #ask(): Promise<Omit<Confinement, 'at'> & { readonly isRefused: boolean }> {
    const free: string[] = []
    let doubt: string | undefined
    let isRefused = false
    for (const [part, what] of PARTS) {
      const error = await this.#try(part)
      if (error === undefined) free.push(what)
      else if (!isByPolicy(error)) {
        isRefused = isRefusal(error) || isNotFound(error)
        doubt ??= `a forbidden write of ${what}: ${reasonOf(error)}`
      }
      if (error !== undefined && !isRefusal(error)) break
    }
    if (free.length > 0)
      return {
        ...{ state: 'no', isRefused: false },
        reason: `the apiserver would take a forbidden write of ${free.join(' and ')}: no policy in force refuses it`,
      }
    if (doubt !== undefined)
      return { state: 'unknown', reason: `could not be found out: ${doubt}`, isRefused }
    const reason = 'policies refuse writes that are not an agent’s job'
    return { state: 'yes', reason, isRefused }
  }
}
