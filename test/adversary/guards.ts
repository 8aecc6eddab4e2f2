// SPDX-License-Identifier: Apache-2.0
import type { Write } from '../../testkit/zone/fake-cluster.js'
import { ExchangeGuards } from './guards/exchange.js'
import { FactBook } from './guards/facts.js'
import { LeaseGuards } from './guards/leases.js'
import { MarkGuards } from './guards/marks.js'
import { reviewRequests } from './guards/requests.js'
import { ViewGuards } from './guards/views.js'
import type { Breach, Guard, Note } from './guards/words.js'
import type { Zone } from './zone.js'

const MOST_BREACHES = 20

/** Looks at the cluster's objects and log of writes, the network and the machines; never into an agent. */
export class Guards {
  readonly breaches: Breach[] = []
  readonly counts = new Map<Guard, number>()
  readonly #zone: Zone
  readonly #facts: FactBook
  readonly #marks: MarkGuards
  readonly #leases: LeaseGuards
  readonly #exchange: ExchangeGuards
  readonly #views: ViewGuards
  #seen = 0

  constructor(zone: Zone) {
    this.#zone = zone
    this.#facts = new FactBook(zone)
    this.#marks = new MarkGuards(this.#facts, this.note)
    this.#leases = new LeaseGuards(this.#facts, this.note)
    this.#exchange = new ExchangeGuards(this.#facts, this.note)
    this.#views = new ViewGuards(this.#facts, this.note)
  }

  readonly note: Note = (guard, what) => {
    this.counts.set(guard, (this.counts.get(guard) ?? 0) + 1)
    if (what !== undefined && this.breaches.length < MOST_BREACHES)
      this.breaches.push({ guard, at: this.#facts.now, what })
  }

  look(): void {
    const { world, outsider } = this.#zone
    this.#facts.learn()
    const { writes } = world.cluster
    for (; this.#seen < writes.length; this.#seen++) this.#review(writes[this.#seen]!)
    this.#marks.look()
    this.#leases.look()
    this.#exchange.look()
    this.#views.look()
    const found = 'a result in SuperEdge’s form was sent'
    this.note('timeless', outsider.results > 0 ? found : undefined)
    reviewRequests(this.#facts, this.note)
  }

  stop(): void {
    this.#views.stop()
  }

  #review(write: Write): void {
    const { by, node, kind, at } = write
    if (kind === 'lease') this.#leases.beat(write)
    const actor = this.#facts.find(by)
    const target = this.#facts.find(node)
    if (actor === undefined || target === undefined) return
    const deed = { write, actor, target, what: `${by} writes ${node}/${kind} at ${at}` }
    this.#marks.reviewWriter(deed)
    if (kind === 'lease') this.#leases.review(deed)
    else this.#marks.review(deed)
  }
}
