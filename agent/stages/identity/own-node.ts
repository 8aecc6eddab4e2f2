// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { isRefusal, reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import { IDENTITY_ANNOTATION } from '../../identity/annotation.js'
import type { ListPoint } from '../../../kube/client/list-point.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { OwnKeys } from './own-keys.js'
import { AGAIN_MS, againMs, reviewMs, wantedAt } from './pace.js'

interface OwnNodeSeams {
  readonly kube: Pick<KubeApi, 'getNodeNotes' | 'patchNode'>
  /** Resolves to undefined when the request failed. */
  readonly ask: <T>(
    request: (signal: AbortSignal) => Promise<T>,
    onFailure?: (error: unknown) => void,
  ) => Promise<T | undefined>
  /** What lists of Nodes must be as new as. */
  readonly lists: Pick<ListPoint, 'reached'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Keeps the identity annotation of the own Node: the own keys, or none with `--identity=off`. */
export class OwnNode {
  readonly #options: AgentOptions
  readonly #seams: OwnNodeSeams
  #dueAt = -Infinity
  #readAt = -Infinity
  /** Reads in a row that found nothing to change: 0 after the first, and after a write or a failed read. */
  #vain = -1
  /** Writes in a row that were gone when the Node was read again, minus one. */
  #lostWrites = -1
  /** Writes in a row that the apiserver refused. */
  #refusals = 0
  #trouble: string | undefined

  constructor(options: AgentOptions, seams: OwnNodeSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** When to read it next, by `Clock.now`. */
  get dueAt(): number {
    return this.#dueAt
  }

  /** Why the apiserver refused the last write; undefined since one succeeded. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** A peer knows keys of this node that are not its own: read the Node soon, but not in a pause after refused writes. */
  want(): void {
    if (this.#refusals > 0) return
    this.#dueAt = Math.min(this.#dueAt, wantedAt(this.#seams.clock.now(), this.#readAt, this.#vain))
  }

  /** Read it, and write the annotation where it differs. @param own undefined: take the annotation off */
  async review(own: OwnKeys | undefined): Promise<void> {
    const { kube, ask, lists, clock, random } = this.#seams
    const { clusterId, nodeName: node } = this.#options
    this.#dueAt = clock.now() + AGAIN_MS
    this.#readAt = clock.now()
    const notes = await ask(signal => kube.getNodeNotes(node, signal))
    if (notes === undefined) {
      // The API may be back, or the Node recreated, at any time.
      this.#vain = 0
      return
    }
    lists.reached(notes.resourceVersion)
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

  /** Read the Node again at once, to see whether the write stays; after a second such write at the usual pace. */
  #written(): void {
    const { clock, log } = this.#seams
    this.#allowed()
    this.#lostWrites++
    if (this.#lostWrites === 0) this.#dueAt = clock.now()
    if (this.#lostWrites === 1)
      log.warn('the own Node does not keep its identity: something else overwrites or removes it', {
        annotation: IDENTITY_ANNOTATION,
      })
  }

  /** Roles or policies of an older version may not allow this write. */
  #denied(error: unknown): void {
    if (!isRefusal(error)) return
    const { clock, log } = this.#seams
    const why = reasonOf(error)
    this.#trouble = `the apiserver refuses the write: ${why}`
    this.#refusals++
    this.#dueAt = clock.now() + againMs(this.#refusals)
    if (this.#refusals === 1)
      log.warn('the apiserver refuses the identity of the own Node, so nobody knows its keys', {
        ...{ annotation: IDENTITY_ANNOTATION, error: why },
      })
  }

  #allowed(): void {
    this.#refusals = 0
    this.#trouble = undefined
  }
}
