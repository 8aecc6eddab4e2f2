// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { Informer, type InformerStatus } from '../../controller/informer.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { FoundNode } from '../model/nodes.js'
import { nodeFacts, type NodeFacts } from '../model/standing.js'

export interface NodeTableSeams {
  readonly client: Pick<ResourceClient, 'watch'>
  readonly clock: Clock
  readonly log: Logger
}

/** After the watch has been broken for this long the Nodes are too old to decide by. */
const STALE_MS = 30_000
/** Reviews that may wait for a change, since each takes memory. */
const MOST_WAITING = 1_000

/** All Nodes, by an informer. */
export class NodeTable {
  readonly informer: Informer<NodeFacts>
  readonly #clock: Clock
  readonly #waiting = new Map<string, Set<() => void>>()
  #waitingCount = 0
  #isWatching = false
  #brokenAt: number | undefined

  constructor({ client, clock, log }: NodeTableSeams) {
    this.#clock = clock
    this.informer = new Informer({
      ...{ client, log, form: 'full' },
      resource: { group: '', version: 'v1', resource: 'nodes' },
      project: nodeFacts,
      onChange: name => this.#wake(name),
      onState: status => this.#noteState(status),
    })
  }

  get isReady(): boolean {
    const isFresh = this.#brokenAt === undefined || this.#clock.now() - this.#brokenAt <= STALE_MS
    return this.informer.status.isSynced && isFresh
  }

  /** The Node with this name, without a request. */
  find(name: string): FoundNode {
    if (!this.isReady) return { kind: 'table-not-ready' }
    const node = this.informer.get(name)
    return node === undefined ? { kind: 'absent' } : { kind: 'known', node }
  }

  /**
   * Resolves with true when the Node with this name changes, with false after `ms`, or at once when changes cannot be
   * waited for.
   */
  changed(name: string, ms: number): Promise<boolean> {
    if (!this.#isWatching || this.#waitingCount >= MOST_WAITING) return Promise.resolve(false)
    return new Promise(resolve => {
      const waiting = this.#waiting.get(name) ?? new Set()
      this.#waiting.set(name, waiting)
      this.#waitingCount++
      const end = (isNews: boolean): void => {
        cancel()
        waiting.delete(wake)
        this.#waitingCount--
        if (waiting.size === 0 && this.#waiting.get(name) === waiting) this.#waiting.delete(name)
        resolve(isNews)
      }
      const wake = (): void => end(true)
      const cancel = this.#clock.after(ms, () => end(false))
      waiting.add(wake)
    })
  }

  #wake(name: string): void {
    for (const wake of [...(this.#waiting.get(name) ?? [])]) wake()
  }

  #noteState({ state }: InformerStatus): void {
    this.#isWatching = state === 'watching'
    if (this.#isWatching) this.#brokenAt = undefined
    else this.#brokenAt ??= this.#clock.now()
  }
}
