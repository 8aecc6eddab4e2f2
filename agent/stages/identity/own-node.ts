// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { isRefusal, reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import { IDENTITY_ANNOTATION } from '../../identity/annotation.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { OwnKeys } from './own-keys.js'
import { AGAIN_MS, reviewMs, wantedAt } from './pace.js'

interface OwnNodeSeams {
  readonly kube: Pick<KubeApi, 'getNodeNotes' | 'patchNode'>
  /** Undefined when the API did not answer, or said no. */
  readonly ask: <T>(
    request: (signal: AbortSignal) => Promise<T>,
    onFailure?: (error: unknown) => void,
  ) => Promise<T | undefined>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** The longest pause after writes that were refused: it is doubled from `AGAIN_MS` on. */
const REFUSED_MS = 600_000

/** The own Node, whose annotation says what the own keys are; or nothing, without any. */
export class OwnNode {
  readonly #options: AgentOptions
  readonly #seams: OwnNodeSeams
  #dueAt = -Infinity
  #readAt = -Infinity
  /** Reads in a row that brought nothing new, after one that may have. */
  #vain = -1
  /** Writes in a row that the Node did not show when it was read again. */
  #lostWrites = -1
  /** Writes in a row that the apiserver refused, and why the last one was. */
  #refusals = 0
  #trouble: string | undefined

  constructor(options: AgentOptions, seams: OwnNodeSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** When it has to be looked at, by `Clock.now`. */
  get dueAt(): number {
    return this.#dueAt
  }

  /** Why the own keys are not published; undefined while nothing speaks against it. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** Somebody knows other keys of ours. */
  want(): void {
    this.#dueAt = Math.min(this.#dueAt, wantedAt(this.#seams.clock.now(), this.#readAt, this.#vain))
  }

  /** Read it, and write what it must say. @param own undefined: nothing */
  async review(own: OwnKeys | undefined): Promise<void> {
    const { kube, ask, clock, random } = this.#seams
    const { clusterId, nodeName: node } = this.#options
    this.#dueAt = clock.now() + AGAIN_MS
    this.#readAt = clock.now()
    const notes = await ask(signal => kube.getNodeNotes(node, signal))
    if (notes === undefined) {
      // It may be made again at any time.
      this.#vain = 0
      return
    }
    const found = notes.annotations[IDENTITY_ANNOTATION]
    const wanted = own && (own.review({ clusterId, node, uid: notes.uid }, found) ?? found)
    if (wanted !== found) {
      this.#vain = 0
      await this.#write(wanted)
      return
    }
    this.#vain++
    this.#lostWrites = -1
    this.#allowed()
    this.#dueAt = own === undefined ? Infinity : clock.now() + reviewMs(random)
  }

  async #write(wanted: string | undefined): Promise<void> {
    const { kube, ask } = this.#seams
    const body = { metadata: { annotations: { [IDENTITY_ANNOTATION]: wanted ?? null } } }
    const write = async (signal: AbortSignal): Promise<true> => {
      await kube.patchNode(this.#options.nodeName, { type: 'merge', body }, signal)
      return true
    }
    if (await ask(write, error => this.#denied(error))) this.#written()
  }

  /** It is read again right after a write; if it does not show the write, at the usual pace. */
  #written(): void {
    const { clock, log } = this.#seams
    this.#allowed()
    this.#lostWrites++
    if (this.#lostWrites === 0) this.#dueAt = clock.now()
    if (this.#lostWrites === 1)
      log.warn(
        'the own Node does not keep its identity: something else writes it too, or takes it off',
        { annotation: IDENTITY_ANNOTATION },
      )
  }

  /** Roles or policies from before there were identities do not let an agent write its own. */
  #denied(error: unknown): void {
    if (!isRefusal(error)) return
    const { clock, log } = this.#seams
    const why = reasonOf(error)
    this.#trouble = `the apiserver refuses the write: ${why}`
    this.#dueAt = clock.now() + Math.min(REFUSED_MS, AGAIN_MS * 2 ** this.#refusals)
    if (this.#refusals === 0)
      log.warn('the apiserver refuses the identity of the own Node, so nobody knows its keys', {
        ...{ annotation: IDENTITY_ANNOTATION, error: why },
      })
    this.#refusals++
  }

  #allowed(): void {
    this.#refusals = 0
    this.#trouble = undefined
  }
}
