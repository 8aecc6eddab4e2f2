// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../../core/clock.js'
import { isNotFound } from '../../../core/errors.js'
import type { NodeView } from '../../../core/node.js'
import type { Random } from '../../../core/random.js'
import { Backoff } from '../../../kube/client/backoff.js'
import type { KnownVersion } from '../../../kube/client/known-version.js'
import type { Watching } from '../../../kube/client/watching.js'
import type { ApiBackoff } from '../../api-backoff.js'
import { askPatiently } from '../../ask-patiently.js'
import type { KubeApi, MemberView } from '../../ports/kube-api.js'
import { factsOf } from './zone-rule.js'

/** What watching Nodes needs of the world. */
export interface WatchSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly random: Random
  readonly apiBackoff: ApiBackoff
  /** How far Nodes are known, by all who watch them. */
  readonly known: KnownVersion
  /** After each change that may move the roster. */
  readonly onChange: () => void
}

const at = (view: NodeView, { address }: MemberView): NodeView =>
  view.internalIPs[0] === address
    ? view
    : { ...view, internalIPs: address === undefined ? [] : [address] }

/**
 * The own Node. It is read in full when it is new, when its address or a label that matters changed, and when it is gone.
 * A watch of its row tells that: the Node matches the watch's selector as long as those labels stay. The watch begins when
 * it is known which labels matter. The address in a row counts at once, since an apiserver that refuses reads may serve
 * watches.
 */
export class OwnNode {
  readonly #name: string
  readonly #seams: WatchSeams
  readonly #stopping = new AbortController()
  #view: NodeView | null | undefined
  #keys: readonly string[] | undefined
  #facts: string | undefined
  #watching: Watching | undefined
  #reading: Promise<void> | undefined
  #mustReadAgain = false
  /** A row that arrived since the last read began: it is newer than what that read finds. */
  #newer: MemberView | undefined
  #stopped: Promise<unknown> = Promise.resolve()

  constructor(name: string, seams: WatchSeams) {
    this.#name = name
    this.#seams = seams
    this.#read()
  }

  /** Undefined before it was read, null when it does not exist. */
  get view(): NodeView | null | undefined {
    return this.#view
  }

  get lists(): number {
    return this.#watching?.status.lists ?? 0
  }

  /** Labels of these keys matter from now on: the watch's selector names them as they were read, so that their change is noticed. */
  follow(keys: readonly string[]): void {
    if (keys.join() === this.#keys?.join()) return
    this.#keys = keys
    this.#watch()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all([this.#reading, this.#watching?.stop(), this.#stopped])
  }

  #read(): void {
    this.#mustReadAgain = true
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined))
  }

  async #readAll(): Promise<void> {
    const { kube, clock, random, apiBackoff } = this.#seams
    const { signal } = this.#stopping
    const backoff = new Backoff(random)
    while (this.#mustReadAgain && !this.#isStopped) {
      this.#mustReadAgain = false
      try {
        const ask = (of: AbortSignal): Promise<NodeView> => {
          this.#newer = undefined
          return kube.getNode(this.#name, of)
        }
        this.#take(await askPatiently(this.#seams, signal, ask))
      } catch (error) {
        if (isNotFound(error)) {
          this.#take(null)
          continue
        }
        this.#mustReadAgain = true
        backoff.failures++
        // If only these reads are refused, they have a backoff of their own.
        if (apiBackoff.isReady) await sleep(clock, backoff.waitMs(), signal)
      }
    }
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  #take(view: NodeView | null): void {
    if (this.#isStopped) return
    if (view !== null) this.#seams.known.reached(view.resourceVersion)
    this.#view = view && this.#newer ? at(view, this.#newer) : view
    this.#watch()
    this.#seams.onChange()
  }

  #watch(): void {
    const facts = this.#factsNow
    if (facts === undefined || facts === this.#facts) return
    if (this.#watching !== undefined)
      this.#stopped = Promise.all([this.#stopped, this.#watching.stop()])
    this.#facts = facts
    const { kube, known } = this.#seams
    const which = { selector: facts, name: this.#name, known }
    this.#watching = kube.watchMembers(which, {
      replace: ([row]) => this.#see(row),
      upsert: row => this.#see(row),
      remove: () => this.#see(undefined),
    })
  }

  /** What the row is to match; undefined while that is not known. */
  get #factsNow(): string | undefined {
    if (this.#view === null) return ''
    if (this.#view === undefined || this.#keys === undefined) return undefined
    return factsOf(this.#view, this.#keys)
  }

  #see(row: MemberView | undefined): void {
    this.#newer = row
    const known = this.#view ?? undefined
    if (row === undefined || known === undefined) {
      if (row !== known) this.#read()
      return
    }
    this.#view = at(known, row)
    if (this.#view === known) return
    this.#seams.onChange()
    this.#read()
  }
}
