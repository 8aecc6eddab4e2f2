// SPDX-License-Identifier: Apache-2.0
import type { Logger } from '../../../core/log.js'
import type { PeerState } from './peer-state.js'
import { RefusalCounts, type Refusal } from './refusal.js'

/** What went over the wire so far, and what was not believed. Bytes are of bodies, without HTTP. */
export class Traffic {
  readonly refusals = new RefusalCounts()
  readonly #log: Logger
  #bytesSent = 0
  #bytesReceived = 0
  #messagesSent = 0
  #messagesReceived = 0

  constructor(log: Logger) {
    this.#log = log
  }

  get bytesSent(): number {
    return this.#bytesSent
  }

  get bytesReceived(): number {
    return this.#bytesReceived
  }

  get messagesSent(): number {
    return this.#messagesSent
  }

  get messagesReceived(): number {
    return this.#messagesReceived
  }

  /** A message of this many bytes leaves. */
  sent(bytes: number, peer?: PeerState): void {
    this.#bytesSent += bytes
    this.#messagesSent++
    if (peer !== undefined) peer.bytesSent += bytes
  }

  /** A request came, accepted or not. */
  requestCame(): void {
    this.#messagesReceived++
  }

  /** This many bytes were read. */
  received(bytes: number, peer?: PeerState): void {
    this.#bytesReceived += bytes
    if (peer !== undefined) peer.bytesReceived += bytes
  }

  /** Count a refusal, and log the first of its kind of each peer. */
  refuse(refusal: Refusal, peer?: PeerState): void {
    this.refusals.add(refusal)
    const count = peer?.refusals.add(refusal)
    if (count === 1) this.#log.warn('peer message refused', { peer: peer?.name, refusal })
  }
}
