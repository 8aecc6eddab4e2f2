// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../../../core/node.js'
import type { Watching } from '../../../kube/client/watching.js'
import type { KubeApi } from '../../ports/kube-api.js'

/** Most Nodes that are followed. Each costs a connection, some 15 kB, and as much for each change; a dead or cut off kubelet makes none. */
const MOST = 8

interface Followed {
  readonly watching: Watching
  /** Undefined before the first list, and when there is no such Node. */
  node: NodeView | undefined
}

interface AttentionSeams {
  readonly kube: Pick<KubeApi, 'watchNode'>
  /** Called after each change of a followed Node. */
  readonly onChange: () => void
}

/** Follows in full the Nodes that are not plainly healthy, to see what others do to their marks. */
export class Attention {
  readonly #seams: AttentionSeams
  readonly #followed = new Map<string, Followed>()
  readonly #ending = new Set<Promise<void>>()
  #next = new Set<string>()

  constructor(seams: AttentionSeams) {
    this.#seams = seams
  }

  /** The Node as it is now; undefined when it is not followed, or not known yet. */
  nodeOf(name: string): NodeView | undefined {
    return this.#followed.get(name)?.node
  }

  /** The names of the Nodes that are followed. */
  names(): Iterable<string> {
    return this.#followed.keys()
  }

  has(name: string): boolean {
    return this.#followed.has(name)
  }

  /** A new look at all members begins; `ask` names those to follow. */
  begin(): void {
    this.#next = new Set()
  }

  /** Follow this Node, as long as there is room. */
  ask(name: string): void {
    this.#next.add(name)
  }

  /** The look has ended: stop following all others. */
  end(): void {
    for (const [name, { watching }] of this.#followed) {
      if (this.#next.has(name)) continue
      this.#followed.delete(name)
      this.#letEnd(watching.stop())
    }
    for (const name of this.#next)
      if (!this.#followed.has(name) && this.#followed.size < MOST) this.#follow(name)
  }

  async stop(): Promise<void> {
    this.begin()
    this.end()
    await Promise.all(this.#ending)
  }

  #follow(name: string): void {
    const take = (node: NodeView | undefined): void => {
      followed.node = node
      this.#seams.onChange()
    }
    const watching = this.#seams.kube.watchNode(name, {
      replace: ([node]) => take(node),
      upsert: take,
      remove: () => take(undefined),
    })
    const followed: Followed = { watching, node: undefined }
    this.#followed.set(name, followed)
  }

  #letEnd(work: Promise<void>): void {
    const done = work.finally(() => this.#ending.delete(done))
    this.#ending.add(done)
  }
}
