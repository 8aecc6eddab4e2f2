// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { RareLog } from '../../../core/rare-log.js'
import { gapSince, type Gap, type GapEnd, type VouchMode } from '../../model/vouch/gap.js'
import { annotationsOf, seenLease } from './lease-object.js'

/** A gap and what is known of it; times as in `Gap`. */
export type Facts = Omit<Gap, 'conditions' | 'lease' | 'now'> & { readonly isRead: boolean }

interface GapsSeams {
  readonly log: Pick<RareLog, 'info'>
  /** Epoch ms by the apiserver's clock. */
  readonly now: () => number
}

/** The gaps in the nodes' connections: each begins when its node is lost, and ends for one of the reasons that are counted. */
export class Gaps {
  readonly #seams: GapsSeams
  readonly #gaps = new Map<NodeName, Facts>()
  readonly #ended: Partial<Record<GapEnd, number>> = {}

  constructor(seams: GapsSeams) {
    this.#seams = seams
  }

  get size(): number {
    return this.#gaps.size
  }

  /** Gaps that ended, by reason. */
  get ended(): Readonly<Partial<Record<GapEnd, number>>> {
    return { ...this.#ended }
  }

  get(node: NodeName): Facts | undefined {
    return this.#gaps.get(node)
  }

  /** @param since epoch ms; undefined while the apiserver's clock is not known */
  begin(node: NodeName, mode: VouchMode, since: number | undefined): void {
    this.#gaps.set(node, {
      ...{ mode, since: since ?? NaN, isRead: false },
      ...{ heardAt: undefined, leaseAtStart: undefined, renewedAt: undefined },
    })
  }

  /** Its Lease was read, for the first time or again. @returns undefined when the gap has ended */
  leaseRead(node: NodeName, raw: JsonMap | undefined): Facts | undefined {
    const facts = this.#gaps.get(node)
    if (facts === undefined || facts.isRead) return facts
    const { since } = facts
    const begun = {
      ...facts,
      since: gapSince(annotationsOf(raw), Number.isNaN(since) ? this.#seams.now() : since),
      leaseAtStart: seenLease(raw),
      isRead: true,
    }
    this.#gaps.set(node, begun)
    return begun
  }

  /** The node itself renewed the Lease; a renewal that arrived before the disconnect may be written after it. */
  leaseSeen(node: NodeName, lease: JsonMap): void {
    const facts = this.#gaps.get(node)
    if (facts?.isRead !== true) return
    this.#gaps.set(node, { ...facts, leaseAtStart: seenLease(lease), renewedAt: undefined })
  }

  /** A sign of life. @returns whether the gap goes on until its Lease has been renewed once more */
  heard(node: NodeName): boolean {
    const facts = this.#gaps.get(node)
    if (facts?.isRead !== true) {
      this.end(node, 'heard')
      return false
    }
    this.#gaps.set(node, { ...facts, heardAt: Math.max(this.#seams.now(), facts.since + 1) })
    return true
  }

  /** The Lease was renewed, based on these facts; ignored when the facts have changed since. */
  renewed(node: NodeName, facts: Facts, renewedAt: number): void {
    if (this.#gaps.get(node) === facts) this.#gaps.set(node, { ...facts, renewedAt })
  }

  end(node: NodeName, reason: GapEnd): void {
    const facts = this.#gaps.get(node)
    if (facts === undefined) return
    this.#gaps.delete(node)
    this.#ended[reason] = (this.#ended[reason] ?? 0) + 1
    if (reason !== 'heard' || facts.renewedAt !== undefined)
      this.#seams.log.info(node, 'the Lease of a node is no longer renewed by the bridge', {
        node,
        reason,
      })
  }

  clear(): void {
    this.#gaps.clear()
  }
}
