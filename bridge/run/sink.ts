// SPDX-License-Identifier: Apache-2.0
import type { HubSink, NodeLink } from '../hub/hub.js'
import type { Downstream } from './ports.js'
import type { Upstream } from './upstream/upstream.js'

/** Whom the hub tells: requests go up, the word of edges about what they were told goes to whoever told them. */
export const makeSink = (
  upstream: Pick<Upstream, 'connected' | 'ended' | 'received'>,
  downstream: Pick<Downstream, 'connected' | 'acknowledged' | 'ended'>,
): HubSink => ({
  connected: (link: NodeLink): void => {
    upstream.connected(link)
    downstream.connected(link)
  },
  received: (link, message, what, bytes): void => {
    if (what.kind === 'ack' || what.kind === 'failed') downstream.acknowledged(link, message)
    else upstream.received(link, message, what, bytes)
  },
  ended: (link, why): void => {
    upstream.ended(link)
    downstream.ended(link, why)
  },
})
