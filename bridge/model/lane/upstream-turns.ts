// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import { UpstreamLanes, type Task } from './upstream-lanes.js'

/** Concurrent requests to the apiserver, over all nodes. */
export interface TurnLimits {
  readonly leases: number
  readonly others: number
  /** No other request begins while those that run have this many bytes. */
  readonly bytes: number
}

/** Leases have a limit of their own, so that many other requests cannot delay them until a node looks dead. */
export const TURN_LIMITS: TurnLimits = { leases: 32, others: 64, bytes: 32 << 20 }

/** The next request to run, and its node. */
export interface Turn<T> {
  readonly node: NodeName
  readonly task: Task<T>
}

type Ring = Set<NodeName>

/** Queued requests of all nodes, served round-robin so that no node can take the whole limit. */
export class UpstreamTurns<T> {
  readonly #limits: TurnLimits
  readonly #makeLanes: () => UpstreamLanes<T>
  readonly #lanes = new Map<NodeName, UpstreamLanes<T>>()
  /** Nodes with queued Lease requests, and with other ones, in round-robin order. */
  readonly #leases: Ring = new Set()
  readonly #others: Ring = new Set()
  readonly #paused = new Set<NodeName>()
  readonly #running = { leases: 0, others: 0, bytes: 0 }
  #bytes = 0

  constructor(limits = TURN_LIMITS, makeLanes = (): UpstreamLanes<T> => new UpstreamLanes()) {
    this.#limits = limits
    this.#makeLanes = makeLanes
  }

  /** Queued requests, of all nodes. */
  get waiting(): number {
    let sum = 0
    for (const { messages } of this.#lanes.values()) sum += messages
    return sum
  }

  /** Bytes of the queued requests of all nodes. */
  get bytes(): number {
    return this.#bytes
  }

  /** The queues of a node; undefined when nothing of it is queued or runs. */
  lanesOf(node: NodeName): UpstreamLanes<T> | undefined {
    return this.#lanes.get(node)
  }

  /** Nodes that are paused now. */
  get paused(): ReadonlySet<NodeName> {
    return this.#paused
  }

  /** Queue a request. @returns Events that were dropped for lack of room */
  push(node: NodeName, task: Task<T>): readonly Task<T>[] {
    const lanes = this.#lanes.get(node) ?? this.#makeLanes()
    this.#lanes.set(node, lanes)
    const ring = task.lane === 'lease' ? this.#leases : this.#others
    ring.add(node)
    const before = lanes.bytes
    const dropped = lanes.push(task)
    this.#bytes += lanes.bytes - before
    return dropped
  }

  /** Run a node's Leases alone until `resume`: it does not read the answers to its other requests. May be called twice. */
  pause(node: NodeName): void {
    this.#paused.add(node)
  }

  resume(node: NodeName): void {
    if (this.#paused.delete(node) && this.#lanes.has(node)) this.#others.add(node)
  }

  /** Take out a node's first queued request of this kind, without running it; undefined when there is none. */
  remove(node: NodeName, isOver: (task: Task<T>) => boolean): Task<T> | undefined {
    const lanes = this.#lanes.get(node)
    const task = lanes?.remove(isOver)
    this.#bytes -= task?.bytes ?? 0
    if (lanes?.isIdle === true) this.#lanes.delete(node)
    return task
  }

  /** The next request that may run now; undefined when there is none. Call it until then after each `push`, `done` and `resume`. */
  take(): Turn<T> | undefined {
    const lease =
      this.#running.leases < this.#limits.leases
        ? this.#takeFrom(this.#leases, lanes => lanes.takeLease())
        : undefined
    if (lease !== undefined) this.#running.leases++
    if (lease !== undefined || this.#isBusy) return lease
    const other = this.#takeFrom(this.#others, (lanes, node) =>
      this.#paused.has(node) ? undefined : lanes.takeOther(),
    )
    if (other !== undefined) this.#running.others++
    return other
  }

  /** A request that was taken has ended, successfully or not. */
  done({ node, task }: Turn<T>): void {
    const lanes = this.#lanes.get(node)!
    lanes.done(task)
    if (task.lane === 'lease') this.#running.leases--
    else this.#running.others--
    this.#running.bytes -= task.bytes
    // A node that was skipped, because too many of its requests ran or the object was busy, is considered again.
    if (lanes.messages > 0) {
      this.#leases.add(node)
      this.#others.add(node)
    } else if (lanes.isIdle) this.#lanes.delete(node)
  }

  get #isBusy(): boolean {
    const { others, bytes } = this.#limits
    return this.#running.others >= others || this.#running.bytes >= bytes
  }

  /** Nodes with nothing to run now leave the ring; `push` and `done` put them back. */
  #takeFrom(
    ring: Ring,
    takeOf: (lanes: UpstreamLanes<T>, node: NodeName) => Task<T> | undefined,
  ): Turn<T> | undefined {
    for (const node of ring) {
      ring.delete(node)
      const lanes = this.#lanes.get(node)
      const task = lanes === undefined ? undefined : takeOf(lanes, node)
      if (task === undefined) continue
      ring.add(node)
      this.#bytes -= task.bytes
      this.#running.bytes += task.bytes
      return { node, task }
    }
    return undefined
  }
}
