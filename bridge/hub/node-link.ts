// SPDX-License-Identifier: Apache-2.0
import type { Message } from '../model/message/message.js'
import type { Upstream } from '../model/route/upstream.js'
import type { EndReason, Session } from './session.js'

/** A node's connection, for those who send to the node. */
export type NodeLink = Pick<
  Session,
  'node' | 'since' | 'remote' | 'hold' | 'release' | 'isBehind' | 'isHeld'
> & {
  /**
   * @param onLeft called when the message has left this process, or was lost with the connection
   * @returns false when the connection is over; true is no promise that it arrives
   */
  send(message: Message, onLeft?: () => void): boolean
}

/** Receives connections and messages. None of its methods may throw. */
export interface HubSink {
  /** A node is connected. If it had another connection, `ended` was called for that one before. */
  connected(link: NodeLink): void
  /**
   * A request or an acknowledgement arrived. Keepalives and the like are answered by the hub itself.
   * @param frame its text
   */
  received(link: NodeLink, message: Message, what: Upstream, frame: string): void
  /** The node's connection was `isBehind` and is no longer. */
  caughtUp(link: NodeLink): void
  ended(link: NodeLink, why: EndReason): void
}
