// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { ExchangeOptions } from '../../options/agent-options.js'
import type { Transport } from '../../ports/transport.js'
import type { News } from '../../records/table.js'

/** Settings of the exchange; times in milliseconds. */
export interface EngineOptions extends Omit<ExchangeOptions, 'identityChangeAfterMs'> {
  /** Where all agents of the zone listen for peers. */
  readonly port: number
  /** How long a record counts. */
  readonly recordTtlMs: number
}

/** The world as the exchange sees it. */
export interface EngineSeams {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Records came in: judge again, if what is new about them matters. May be called often. */
  onEvidence(news: News): void
  /** Another observer calls for votes: probe this node now, and report the round with `setOwnVote`. */
  onSuspect(target: NodeName): void
  /**
   * More time went by for a peer than for us: this machine stood still, or was restored to an older state, although its
   * own clocks do not show it. The callee calls `resumed`, or ignores it.
   */
  onSuspended(): void
  /** Keep this number for the next start; called at most every 30 s. */
  saveHeartbeat(heartbeat: number): void
  /** Keep this epoch of what this node signs for the next start. */
  saveEpoch(epoch: number): void
  /** A member speaks with keys that are not known here: its Node says which it has. May be called often. */
  onUnknownIdentity(name: NodeName): void
  /** The local view, as it is sent to SuperEdge peers. */
  localUp(target: number): boolean
}
