// SPDX-License-Identifier: Apache-2.0
import type { UpstreamLane } from '../route/upstream.js'

/** Limits of one node's requests to the apiserver. */
export interface UpstreamLimits {
  /** Concurrent requests of a node, not counting its Lease. */
  readonly inFlight: number
  /** How many of those may be from agents, so that the node's Pods need not wait for them. */
  readonly agentsInFlight: number
  /** With this many queued, its socket is paused and Events are dropped. */
  readonly maxMessages: number
  readonly maxBytes: number
  /** After this many other requests, one Event is sent. */
  readonly eventEvery: number
}

export const UPSTREAM_LIMITS: UpstreamLimits = {
  inFlight: 4,
  agentsInFlight: 3,
  maxMessages: 256,
  maxBytes: 4 * 1024 * 1024,
  eventEvery: 8,
}

/** A queued request. */
export interface Task<T> {
  readonly lane: UpstreamLane
  /** Requests with the same key run one after another, in the order of arrival. */
  readonly key: string
  readonly bytes: number
  /** Made by an agent, through the edge's own Kubernetes API. */
  readonly isAgents: boolean
  readonly value: T
}

/**
 * The queued requests of one node: its Lease first, requests before Events, and those about one object in order. Requests
 * are never merged, since each sender waits for an answer and patches build on one another.
 */
export class UpstreamLanes<T> {
  readonly #limits: UpstreamLimits
  readonly #waiting: Readonly<Record<UpstreamLane, Task<T>[]>> = {
    lease: [],
    request: [],
    event: [],
  }
  readonly #busy = new Set<string>()
  #bytes = 0
  #inFlight = 0
  #agentsInFlight = 0
  /** Requests taken since the last Event. */
  #sinceEvent = 0

  constructor(limits: UpstreamLimits = UPSTREAM_LIMITS) {
    this.#limits = limits
  }

  get messages(): number {
    const { lease, request, event } = this.#waiting
    return lease.length + request.length + event.length
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Nothing is queued and nothing runs. */
  get isIdle(): boolean {
    return this.messages === 0 && this.#busy.size === 0
  }

  /** The node's socket must be paused. */
  get isFull(): boolean {
    return this.messages >= this.#limits.maxMessages || this.#bytes >= this.#limits.maxBytes
  }

  /** A paused socket may be read again. */
  get mayResume(): boolean {
    const { maxMessages, maxBytes } = this.#limits
    return this.messages <= maxMessages / 2 && this.#bytes <= maxBytes / 2
  }

  /** Queue a request. @returns Events that were dropped for lack of room, which may include this one */
  push(task: Task<T>): readonly Task<T>[] {
    const { event } = this.#waiting
    this.#waiting[task.lane].push(task)
    this.#bytes += task.bytes
    const dropped: Task<T>[] = []
    while (this.#isOver && event.length > 0) dropped.push(this.#remove(event, 0))
    return dropped
  }

  /** The node's next Lease request; undefined when none may run now. */
  takeLease(): Task<T> | undefined {
    return this.#takeFrom(this.#waiting.lease)
  }

  /** The node's next other request; undefined when none may run now. */
  takeOther(): Task<T> | undefined {
    if (this.#inFlight >= this.#limits.inFlight) return undefined
    const { request, event } = this.#waiting
    const isEventsTurn = this.#sinceEvent >= this.#limits.eventEvery
    const [first, second] = isEventsTurn ? [event, request] : [request, event]
    const task = this.#takeFrom(first) ?? this.#takeFrom(second)
    if (task === undefined) return undefined
    this.#inFlight++
    if (task.isAgents) this.#agentsInFlight++
    this.#sinceEvent = task.lane === 'event' ? 0 : this.#sinceEvent + 1
    return task
  }

  /** Take out the first queued request of this kind, without running it; undefined when there is none. */
  remove(isOver: (task: Task<T>) => boolean): Task<T> | undefined {
    for (const tasks of Object.values(this.#waiting)) {
      const index = tasks.findIndex(isOver)
      if (index !== -1) return this.#remove(tasks, index)
    }
    return undefined
  }

  /** A request that was taken has ended, successfully or not. */
  done({ key, lane, isAgents }: Task<T>): void {
    this.#busy.delete(key)
    if (lane !== 'lease') this.#inFlight--
    if (isAgents) this.#agentsInFlight--
  }

  get #isOver(): boolean {
    return this.messages > this.#limits.maxMessages || this.#bytes > this.#limits.maxBytes
  }

  #takeFrom(tasks: Task<T>[]): Task<T> | undefined {
    const areAgentsFull = this.#agentsInFlight >= this.#limits.agentsInFlight
    const index = tasks.findIndex(
      ({ key, isAgents }) => !this.#busy.has(key) && !(isAgents && areAgentsFull),
    )
    if (index === -1) return undefined
    const task = this.#remove(tasks, index)
    this.#busy.add(task.key)
    return task
  }

  #remove(tasks: Task<T>[], index: number): Task<T> {
    const [task] = tasks.splice(index, 1)
    this.#bytes -= task!.bytes
    return task!
  }
}
