// SPDX-License-Identifier: Apache-2.0
import { sleep } from '../../core/clock.js'
import type { JsonMap } from '../../core/json.js'
import { leaseBody, renewedLease } from './bodies.js'
import { nodeResource, type EdgePart } from './edge-part.js'
import { outcomeOf, type Outcome } from './requests.js'

const TRIES = 5
const FIRST_RETRY_MS = 200
const LAST_RETRY_MS = 7_000

/** Renews the node's Lease as a kubelet does: from the one it wrote last; after a conflict from a fresh read. */
export class LeaseRenewer {
  readonly #part: EdgePart
  readonly #resource: string
  #latest: JsonMap | undefined

  constructor(part: EdgePart) {
    this.#part = part
    this.#resource = `kube-node-lease/lease/${part.node}`
  }

  async run(): Promise<void> {
    const { clock, random, signal, times } = this.#part
    do await this.#sync()
    while (
      await sleep(
        clock,
        times.leaseMs * (1 + (times.leaseJitter * random.below(1_000)) / 1_000),
        signal,
      )
    )
  }

  async #sync(): Promise<void> {
    if (this.#latest !== undefined && (await this.#renew(this.#latest))) return
    const { lease, isNew } = await this.#ensure()
    this.#latest = lease
    if (lease !== undefined && !isNew) await this.#renew(lease)
  }

  async #renew(from: JsonMap): Promise<boolean> {
    let base = from
    for (let i = 0; i < TRIES && !this.#part.signal.aborted; i++) {
      const outcome = await this.#ask('update', renewedLease(base, this.#part.clock.wall()))
      if (outcome.ok) {
        this.#latest = outcome.object ?? {}
        return true
      }
      if (outcome.code === 409) base = (await this.#ensure()).lease ?? base
    }
    return false
  }

  /** The Lease as it is, or a new one; undefined while the Node is not known. Tries until the cloud answers. */
  async #ensure(): Promise<{ readonly lease: JsonMap | undefined; readonly isNew: boolean }> {
    const { clock, signal } = this.#part
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, LAST_RETRY_MS)) {
      const found = await this.#ask('query', null)
      if (found.ok) return { lease: found.object ?? {}, isNew: false }
      if (found.code === 404) {
        const body = this.#first()
        if (body === undefined) return { lease: undefined, isNew: false }
        const made = await this.#ask('insert', body)
        if (made.ok) return { lease: made.object ?? {}, isNew: true }
      }
      if (!(await sleep(clock, waitMs, signal))) return { lease: undefined, isNew: false }
    }
  }

  #first(): JsonMap | undefined {
    const { node, store, clock } = this.#part
    return leaseBody(node, store.get(nodeResource(node)), clock.wall())
  }

  async #ask(operation: string, content: unknown): Promise<Outcome> {
    const { clock, ask, emit } = this.#part
    const askedAt = clock.now()
    const outcome = outcomeOf(await ask({ operation, resource: this.#resource }, content))
    if (operation !== 'query' && (outcome.ok || outcome.code > 0)) {
      const code = outcome.ok ? 200 : outcome.code
      emit({ kind: 'lease', ms: clock.now() - askedAt, code })
    }
    return outcome
  }
}
