// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { NodeView } from '../../../core/node.js'
import type { KubeApi } from '../../ports/kube-api.js'
import { keepOnly } from '../../keep-only.js'
import type { ResultStore } from '../../store.js'
import { reconcileNode, type WriteRecorder, type Task, type TaskEnd } from './node-writer.js'
import type { RequestBackoff } from './request-backoff.js'
import { Running } from './running.js'

interface NodeWorkSeams {
  readonly kube: KubeApi
  readonly record: WriteRecorder
  readonly store: ResultStore
  /** A Node that is followed in full, as it is now. */
  readonly seen: (name: string) => NodeView | undefined
  /** Judge by what is known at this moment. */
  readonly judge: () => void
  /** Keeps count of which requests about Nodes fail. */
  readonly backoff: RequestBackoff
  readonly onEnd: () => void
}

const makeController = (): AbortController => {
  const controller = new AbortController()
  // Requests about several nodes run beside each other, and those are bounded by the zone's size.
  setMaxListeners(0, controller.signal)
  return controller
}

/** The writes to Nodes that are under way, and the Nodes as earlier ones left them. */
export class NodeWork {
  readonly running: Running
  readonly #seams: NodeWorkSeams
  /** Ends what is under way, at a suspension or at the end. */
  #present = makeController()
  /** Nodes as we read or wrote them last, until a watch has caught up. */
  readonly #written = new Map<
    string,
    { readonly seen: NodeView | undefined; readonly node: NodeView }
  >()

  constructor(seams: NodeWorkSeams) {
    this.#seams = seams
    this.running = new Running(seams.onEnd)
  }

  /** Aborted when what begins now has to be given up. */
  get signal(): AbortSignal {
    return this.#present.signal
  }

  /** The Node as it is by our own last look or write or by a watch, whichever is newer; undefined when nobody looked. */
  nodeOf(name: string): NodeView | undefined {
    const seen = this.#seams.seen(name)
    const own = this.#written.get(name)
    if (own !== undefined && own.seen === seen) return own.node
    this.#written.delete(name)
    return seen
  }

  /** The names of Nodes that were read or written, and of which no watch has shown anything newer. */
  names(): Iterable<string> {
    return this.#written.keys()
  }

  /** The Node as it was read or written no longer counts: others may have written since. */
  doubt(name: string): void {
    this.#written.delete(name)
  }

  /** Never rejects. */
  async carryOut(task: Task): Promise<TaskEnd> {
    const { kube, record, store, judge, backoff } = this.#seams
    const { node: name } = task
    const seen = this.#seams.seen(name)
    const { signal } = this
    backoff.left()
    const end = await reconcileNode(task, { kube, record, judge, signal })
    const isMember = store.nodeList.current.roster?.indexOf(name) !== undefined
    if (end.node !== undefined && isMember) this.#written.set(name, { seen, node: end.node })
    if (end.result === 'done') backoff.succeeded(name)
    else if (end.result !== 'withheld' && !signal.aborted) backoff.failed(end.error, name)
    return end
  }

  /** This agent was suspended: abort what was begun before. */
  giveUp(): void {
    this.#present.abort(new Error('this agent was suspended meanwhile'))
    this.#present = makeController()
  }

  async stop(): Promise<void> {
    this.#present.abort()
    await this.running.settled()
  }

  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void {
    keepOnly(this.#written, isKept)
  }
}
