// SPDX-License-Identifier: Apache-2.0
import { logFailures, WorkQueue, type WorkResult } from '../../../controller/work-queue.js'
import type { Clock } from '../../../core/clock.js'
import { KubeStatusError, WithheldError, isNotFound, reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { Logger } from '../../../core/log.js'
import type { NodeCondition } from '../../../core/node.js'
import type { Random } from '../../../core/random.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import { NODE_LEASES } from '../../model/merge/lease.js'
import { RareLog } from '../../../core/rare-log.js'
import {
  GAP_LIMITS,
  gapStep,
  type GapEnd,
  type GapStep,
  type SeenLease,
  type VouchMode,
} from '../../model/vouch/gap.js'
import { objectsOf } from '../upstream/objects.js'
import { Gaps, type Facts } from './gaps.js'
import { renewedLease, seenLease } from './lease-object.js'

export interface LeaseRenewerSeams {
  readonly client: Pick<ResourceClient, 'get' | 'serverTime' | 'update'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Checked right before each write. */
  readonly guard: WriteGuard
  /** The peers' condition of a node; undefined when there is no such Node. */
  readonly conditionsOf: (node: NodeName) => readonly NodeCondition[] | undefined
}

/** For status and metrics. */
export interface LeaseRenewerStatus {
  /** Disconnected nodes whose Leases may be renewed. */
  readonly gaps: number
  readonly renewals: number
  /** Gaps that ended, by reason. */
  readonly ended: Readonly<Partial<Record<GapEnd, number>>>
}

const LEASES = objectsOf('lease')
const QUEUE = { workers: 16, startsPerSecond: 200, firstRetryMs: 1_000, lastRetryMs: 5_000 }

/** Whether nobody changed the Lease since, and it is older than the node's sign of life. */
const isUntouched = (
  { renewedAt, leaseAtStart, heardAt = 0 }: Facts,
  now: number | undefined,
): boolean => now !== undefined && now === (renewedAt ?? leaseAtStart?.renewedAt) && now < heardAt

/** Renews the Leases of disconnected nodes as far as `gapStep` allows. Lives for one term. */
export class LeaseRenewer {
  readonly #mode: VouchMode
  readonly #seams: LeaseRenewerSeams
  readonly #queue: WorkQueue
  readonly #gaps: Gaps
  #renewals = 0

  constructor(mode: VouchMode, seams: LeaseRenewerSeams) {
    this.#mode = mode
    this.#seams = seams
    const { clock, random, log } = seams
    this.#gaps = new Gaps({ log: new RareLog(clock, log), now: () => this.#now() })
    this.#queue = new WorkQueue(
      (node, signal) => this.#look(node as NodeName, signal),
      {
        ...{ clock, random },
        onFailure: logFailures(log, 'cannot renew a Lease', node => ({ node })),
      },
      QUEUE,
    )
  }

  get status(): LeaseRenewerStatus {
    return { gaps: this.#gaps.size, renewals: this.#renewals, ended: this.#gaps.ended }
  }

  /** Since when a node is disconnected, epoch ms; undefined when it is connected or its gap has ended. */
  sinceOf(node: NodeName): number | undefined {
    return this.#gaps.get(node)?.since
  }

  /** A node is disconnected: its connection was lost, or it has had none in this term. */
  lost(node: NodeName): void {
    if (this.#mode === 'off') return
    this.#gaps.begin(node, this.#mode, this.#seams.client.serverTime())
    this.#queue.add(node)
  }

  /**
   * The first sign of life ends a node's gap. The Lease is renewed once more with that time, since an edge whose renewal
   * was lost with its connection may wait a minute before it sends the next one.
   */
  heard(node: NodeName): void {
    if (this.#gaps.heard(node)) this.#queue.add(node)
  }

  /** See `Gaps.leaseSeen`. */
  leaseSeen(node: NodeName, lease: JsonMap): void {
    this.#gaps.leaseSeen(node, lease)
  }

  stop(): Promise<void> {
    this.#gaps.clear()
    return this.#queue.stop()
  }

  async #look(node: NodeName, signal: AbortSignal): Promise<WorkResult> {
    const known = this.#gaps.get(node)
    if (known === undefined) return { kind: 'done' }
    if (known.isRead) {
      // First see what can be decided without reading the Lease.
      const { renewedAt, leaseAtStart } = known
      const lease = leaseAtStart && {
        ...leaseAtStart,
        renewedAt: renewedAt ?? leaseAtStart.renewedAt,
      }
      const step = this.#step(node, known, lease)
      if (step.kind === 'end' && step.reason === 'heard')
        return this.#renewLast(node, known, signal)
      if (step.kind !== 'renew') return this.#settled(node, step)
    }
    const raw = await this.#read(node, signal)
    const lease = seenLease(raw)
    const facts = this.#gaps.leaseRead(node, raw)
    if (facts === undefined) return { kind: 'done' }
    const step = this.#step(node, facts, lease)
    return step.kind === 'renew'
      ? this.#renew(node, { raw: raw!, ...step }, signal)
      : this.#settled(node, step)
  }

  #step(node: NodeName, facts: Facts, lease: SeenLease | undefined): GapStep {
    const conditions = this.#seams.conditionsOf(node)
    return gapStep({ ...facts, lease, conditions, now: this.#now() })
  }

  #settled(node: NodeName, step: Exclude<GapStep, { kind: 'renew' }>): WorkResult {
    if (step.kind === 'wait')
      return { kind: 'done', againMs: Math.max(0, step.until - this.#now()) }
    this.#gaps.end(node, step.reason)
    return { kind: 'done' }
  }

  async #renew(
    node: NodeName,
    { raw, renewTime }: { readonly raw: JsonMap; readonly renewTime: number },
    signal: AbortSignal,
  ): Promise<WorkResult> {
    const facts = this.#gaps.get(node)!
    const lease = seenLease(raw)
    const body = renewedLease(raw, { renewTime, since: facts.since })
    const guard = (): string | undefined => this.#objection(node, facts, lease)
    const of = { namespace: NODE_LEASES, name: node }
    try {
      await this.#seams.client.update(LEASES, of, { body, guard }, signal)
    } catch (error) {
      // Somebody else changed the Lease: read it again.
      if (error instanceof KubeStatusError && error.status === 409)
        return { kind: 'done', againMs: 0 }
      if (error instanceof WithheldError) return { kind: 'done', againMs: GAP_LIMITS.askMs }
      const { retryAfterMs } = error instanceof KubeStatusError ? error : {}
      return { kind: 'failed', reason: reasonOf(error), retryAfterMs }
    }
    this.#renewals++
    this.#gaps.renewed(node, facts, renewTime)
    return { kind: 'done', againMs: GAP_LIMITS.everyMs }
  }

  /** The node gave a sign of life: renew its Lease with that time, unless somebody changed it meanwhile. */
  async #renewLast(node: NodeName, facts: Facts, signal: AbortSignal): Promise<WorkResult> {
    const { heardAt: renewTime = 0, since } = facts
    const raw = await this.#read(node, signal)
    if (raw !== undefined && isUntouched(facts, seenLease(raw)?.renewedAt)) {
      const { client, guard } = this.#seams
      const write = { body: renewedLease(raw, { renewTime, since }), guard }
      try {
        await client.update(LEASES, { namespace: NODE_LEASES, name: node }, write, signal)
        this.#renewals++
      } catch (error) {
        // The node itself was faster.
        if (!(error instanceof KubeStatusError) || error.status !== 409) throw error
      }
    }
    if (this.#gaps.get(node) === facts) this.#gaps.end(node, 'heard')
    return { kind: 'done' }
  }

  /** Why this renewal must not be written any more: things may have changed since it was decided. */
  #objection(node: NodeName, facts: Facts, lease: SeenLease | undefined): string | undefined {
    const trouble = this.#seams.guard()
    if (trouble !== undefined) return trouble
    if (this.#gaps.get(node) !== facts) return 'the node was heard'
    return this.#step(node, facts, lease).kind === 'renew'
      ? undefined
      : 'nobody vouches for the node'
  }

  async #read(node: NodeName, signal: AbortSignal): Promise<JsonMap | undefined> {
    try {
      return await this.#seams.client.get(LEASES, { namespace: NODE_LEASES, name: node }, signal)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** By the apiserver's clock, and never ahead of it. In whole milliseconds, since it is compared with what was written. */
  #now(): number {
    return Math.floor(this.#seams.client.serverTime() ?? 0)
  }
}
