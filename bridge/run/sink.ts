// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../core/ids.js'
import type { HubSink, NodeLink } from '../hub/node-link.js'
import type { EndReason } from '../hub/session.js'
import type { Message } from '../model/message/message.js'
import type { Upstream as What } from '../model/route/upstream.js'
import type { WatchDesk } from './agents/watch-desk.js'
import type { Downstream } from './ports.js'
import type { Upstream } from './upstream/upstream.js'

/**
 * Passes on what the hub receives: requests to upstream, acknowledgements to the part that sent the object. Connections may
 * outlive a term that ended because the apiserver was unreachable; for downstream they end with the term and begin again
 * with the next one.
 */
export class Sink implements HubSink {
  readonly #upstream: Pick<Upstream, 'caughtUp' | 'connected' | 'ended' | 'received'>
  readonly #downstream: Pick<Downstream, 'connected' | 'acknowledged' | 'ended'>
  readonly #watches: Pick<WatchDesk, 'connected' | 'acknowledged' | 'ended'>
  readonly #links = new Map<NodeName, NodeLink>()
  #isTerm = false

  constructor(
    upstream: Pick<Upstream, 'caughtUp' | 'connected' | 'ended' | 'received'>,
    downstream: Pick<Downstream, 'connected' | 'acknowledged' | 'ended'>,
    watches: Pick<WatchDesk, 'connected' | 'acknowledged' | 'ended'>,
  ) {
    this.#watches = watches
    this.#upstream = upstream
    this.#downstream = downstream
  }

  /** A term begins. */
  begin(): void {
    this.#isTerm = true
    for (const link of this.#links.values()) this.#downstream.connected(link)
  }

  /** The term is over. */
  pause(): void {
    if (!this.#isTerm) return
    this.#isTerm = false
    for (const link of this.#links.values()) this.#downstream.ended(link, 'the bridge is leaving')
  }

  connected(link: NodeLink): void {
    this.#links.set(link.node, link)
    this.#watches.connected(link)
    this.#upstream.connected(link)
    if (this.#isTerm) this.#downstream.connected(link)
  }

  received(link: NodeLink, message: Message, what: What, frame: string): void {
    if (what.kind !== 'ack' && what.kind !== 'failed')
      this.#upstream.received(link, message, what, frame)
    else {
      this.#watches.acknowledged(link, message)
      if (this.#isTerm) this.#downstream.acknowledged(link, message)
    }
  }

  caughtUp(link: NodeLink): void {
    this.#upstream.caughtUp(link)
  }

  ended(link: NodeLink, why: EndReason): void {
    if (this.#links.get(link.node) === link) this.#links.delete(link.node)
    this.#watches.ended(link)
    this.#upstream.ended(link)
    if (this.#isTerm) this.#downstream.ended(link, why)
  }
}
