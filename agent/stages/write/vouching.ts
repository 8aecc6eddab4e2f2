// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import type { NodeView } from '../../../core/node.js'
import type { Random } from '../../../core/random.js'
import type { KubeApi } from '../../ports/kube-api.js'
import { heartbeatStep } from '../../../plan/heartbeat.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { LeaseRenewer } from './lease-renewer.js'
import type { WriteAuthority } from './write-authority.js'
import type { NodeWork } from './node-work.js'
import { guardOf, type Task, type WriteRecorder } from './node-writer.js'
import type { RequestBackoff } from './request-backoff.js'
import { Running } from './running.js'
import { makeTaintRemover, type TaintRemover } from './taint-remover.js'
import { wordingOf } from './desired-marks.js'

/** Ranks that look after the Leases of vouched nodes: the writer and one to stand by. */
const LEASE_RANKS = 2

interface VouchingSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly record: WriteRecorder
  readonly apiBackoff: ApiBackoff
  readonly renewals: ResultStore['renewals']
  /** Judge by what is known at this moment. */
  readonly judge: () => void
  readonly authority: WriteAuthority
  readonly backoff: RequestBackoff
  readonly work: NodeWork
  readonly onEnd: () => void
}

/** Keeps the heartbeat, or the taints, of nodes that the zone vouches for. */
export class Vouching {
  readonly leases: LeaseRenewer
  readonly taints: TaintRemover
  readonly #options: AgentOptions
  readonly #seams: VouchingSeams
  readonly #renewing: Running

  constructor(options: AgentOptions, seams: VouchingSeams) {
    this.#options = options
    this.#seams = seams
    this.leases = new LeaseRenewer(options, seams)
    this.taints = makeTaintRemover(seams)
    this.#renewing = new Running(seams.onEnd)
  }

  /** Start what is due about one vouched member; returns when to look again. */
  review(state: ZoneState, name: string, node: NodeView | undefined): number {
    const rank = this.#seams.authority.turn(state, name)?.rank
    if (rank === undefined) return Infinity
    const lookAt = this.#reviewLease(name, rank)
    if (this.#options.vouch !== 'taint' || this.leases.isHeld(name) !== false) return lookAt
    const markAt = this.#reviewHeartbeat(node, rank)
    return Math.min(lookAt, markAt, this.#reviewTaint(state, node, rank))
  }

  /** Resolves when no look at a Lease runs any more; call it after `work` has stopped. */
  settled(): Promise<void> {
    return this.#renewing.settled()
  }

  #reviewLease(name: string, rank: number): number {
    if (rank >= LEASE_RANKS || this.#renewing.has(name)) return Infinity
    const { clock, judge, authority, work } = this.#seams
    const dueAt = this.leases.dueAt(name)
    if (dueAt > clock.now()) return dueAt
    const guard = guardOf(() => authority.isVouchedNow(name), judge)
    this.#renewing.start(name, this.leases.look(name, rank, { signal: work.signal, guard }))
    return Infinity
  }

  /** Where no Lease is renewed, the age of the node's condition says whether anybody still vouches. */
  #reviewHeartbeat(node: NodeView | undefined, rank: number): number {
    const { clock, kube, authority, backoff, work } = this.#seams
    const serverTime = kube.serverTime()
    if (node === undefined || serverTime === undefined || work.running.has(node.name))
      return Infinity
    const { name } = node
    const now = clock.now()
    const everyMs = this.#options.vouchRenewPeriodMs
    const waitMs = everyMs + rank * this.#options.writerStaggerMs
    const { dueInMs } = heartbeatStep(node, { serverTime, everyMs: waitMs })
    const readyAt = Math.max(now + dueInMs, backoff.readyAt(name))
    if (readyAt > now) return readyAt
    const again: Task['plan'] = fresh => {
      const at = { serverTime: kube.serverTime() ?? serverTime, everyMs }
      return heartbeatStep(fresh, at).plan
    }
    const isWanted = (): boolean => authority.desiredNow(name) === 'vouched'
    const what = 'say again that its peers vouch for it'
    work.running.start(name, work.carryOut({ node: name, what, plan: again, isWanted }))
    return Infinity
  }

  #reviewTaint(state: ZoneState, node: NodeView | undefined, rank: number): number {
    const { clock, authority, backoff, work } = this.#seams
    if (rank !== 0 || node === undefined || work.running.has(node.name)) return Infinity
    const { name } = node
    const now = clock.now()
    const readyAt = backoff.readyAt(name)
    if (readyAt > now) return readyAt
    const { isDue, nextAt } = this.taints.review(node, wordingOf(state, now))
    if (!isDue) return nextAt
    const what = 'take the unreachable taint off'
    const plan = this.taints.removal()
    const isWanted = (): boolean => authority.desiredNow(name) === 'vouched'
    work.running.start(name, work.carryOut({ node: name, what, plan, isWanted }))
    return nextAt
  }
}
