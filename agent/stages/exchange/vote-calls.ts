// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import type { PeerState } from './peer-state.js'

/** An agent that heard this many others call for votes on a node within CALL_QUIET_MS need not call again. */
const CALLS_ENOUGH = 2
const CALL_QUIET_MS = 2_000
/** The same agent calls for votes on the same node at most this often. */
const CALL_EVERY_MS = 1_000
/** Callers remembered for one node. */
const MAX_CALLERS = 64
/** The same node is handed to the prober at most this often. */
const PROBE_EVERY_MS = 1_000

/** Calls for votes on one node. */
interface Calls {
  /** Who called, and when last; a few are enough. */
  readonly heard: Map<PeerState, number>
  /** Callers that get our vote when our round ends. */
  readonly owed: Set<PeerState>
  /** When we called, and when we began to probe because others did. */
  calledAt: number
  probedAt: number
}

/** Who called for votes on which node, and when: so that many observers of one node do not all call and probe. */
export class VoteCalls {
  readonly #calls = new Map<NodeName, Calls>()

  /** Whether to call for votes on this node now: not if we, or enough others, did so lately. */
  mayCall(node: NodeName, now: number): boolean {
    const calls = this.#on(node)
    let recent = 0
    for (const at of calls.heard.values()) if (now - at < CALL_QUIET_MS) recent++
    if (recent >= CALLS_ENOUGH || now - calls.calledAt < CALL_EVERY_MS) return false
    calls.calledAt = now
    return true
  }

  /** A member called for our vote on this node. @returns whether to probe it now */
  heard(node: NodeName, caller: PeerState, now: number): boolean {
    const calls = this.#on(node)
    if (calls.heard.size < MAX_CALLERS || calls.heard.has(caller)) calls.heard.set(caller, now)
    if (calls.owed.size < MAX_CALLERS) calls.owed.add(caller)
    if (now - calls.probedAt < PROBE_EVERY_MS) return false
    calls.probedAt = now
    return true
  }

  /** The callers that wait for our vote on this node; from now on nobody does. */
  takeOwed(node: NodeName): readonly PeerState[] {
    const owed = this.#calls.get(node)?.owed
    if (owed === undefined) return []
    const callers = [...owed]
    owed.clear()
    return callers
  }

  clear(): void {
    this.#calls.clear()
  }

  #on(node: NodeName): Calls {
    const known = this.#calls.get(node)
    if (known !== undefined) return known
    const calls = {
      heard: new Map<PeerState, number>(),
      owed: new Set<PeerState>(),
      calledAt: -Infinity,
      probedAt: -Infinity,
    }
    this.#calls.set(node, calls)
    return calls
  }
}
