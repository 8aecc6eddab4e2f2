// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../core/json.js'
import { listAt, mapsAt, textAt } from '../../core/json-at.js'
import { replaceList, unchanged, type Decision, type Unchanged } from './decision.js'
import { whyNotKept, type Knowledge } from './nodes.js'
import type { Review } from './review.js'

/** The Pod of an address, since the address itself may be reused by another Pod; undefined when it names no Pod. */
export const podOf = (address: unknown): string | undefined => {
  const uid = textAt(address, 'targetRef', 'uid')
  return textAt(address, 'targetRef', 'kind') === 'Pod' && uid !== '' ? uid : undefined
}

/** Decides for addresses that are no longer ready whether they stay ready, and remembers why not. */
export class Keeper {
  readonly #knowledge: Knowledge
  readonly #wereReady: ReadonlySet<string | undefined>
  #why: Unchanged | undefined
  #count = 0

  /** @param wereReady the Pods of addresses that are ready in the stored object */
  constructor(knowledge: Knowledge, wereReady: readonly (string | undefined)[]) {
    this.#knowledge = knowledge
    this.#wereReady = new Set(wereReady)
  }

  /** An address stays ready if it was ready and is on a kept node; none becomes ready that was not. */
  keeps(address: unknown): boolean {
    const pod = podOf(address)
    const node = textAt(address, 'nodeName')
    if (pod === undefined || node === '' || !this.#wereReady.has(pod)) return false
    const why = whyNotKept(node, this.#knowledge)
    this.#why ??= why
    if (why === undefined) this.#count++
    return why === undefined
  }

  /** The decision about the whole list. */
  decide(path: string, before: readonly unknown[], after: readonly unknown[]): Decision {
    return this.#count > 0 ? replaceList(path, before, after) : unchanged(this.#why ?? 'harmless')
  }
}

const withKept = (subset: JsonMap, keeper: Keeper): JsonMap => {
  const unready = listAt(subset, 'notReadyAddresses') ?? []
  const kept = new Set(unready.filter(address => keeper.keeps(address)))
  if (kept.size === 0) return subset
  const left = unready.filter(address => !kept.has(address))
  const others = Object.entries(subset).filter(([key]) => key !== 'notReadyAddresses')
  return {
    ...Object.fromEntries(others),
    addresses: [...(listAt(subset, 'addresses') ?? []), ...kept],
    ...(left.length === 0 ? {} : { notReadyAddresses: left }),
  }
}

/** Keeps the addresses of Pods on kept nodes among the ready ones of core Endpoints. */
export const decideEndpoints = (
  { object, oldObject }: Pick<Review, 'object' | 'oldObject'>,
  knowledge: Knowledge,
): Decision => {
  const subsets = listAt(object, 'subsets') ?? []
  const ready = mapsAt(oldObject, 'subsets').flatMap(subset => mapsAt(subset, 'addresses'))
  const keeper = new Keeper(knowledge, ready.map(podOf))
  const after = subsets.map(subset => (isMap(subset) ? withKept(subset, keeper) : subset))
  return keeper.decide('/subsets', subsets, after)
}
