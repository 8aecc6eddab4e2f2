// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import type { Taint } from '../core/node.js'
import type { ApiClient } from './api-client.js'
import { type NodeObject, NODES } from './node-object.js'

const ATTEMPTS = 4

/** What writing taints needs to know: the present node → the taints that it should have. */
type TaintRule = (node: NodeObject) => Taint[] | undefined

interface TaintWriterSeams {
  readonly api: ApiClient
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Changes the taints of Nodes. */
export class TaintWriter {
  readonly #seams: TaintWriterSeams

  constructor(seams: TaintWriterSeams) {
    this.#seams = seams
  }

  /** Read, change, write the taints under the version that was read; the list is one atomic field. */
  async write(name: string, rule: TaintRule): Promise<void> {
    const { api, signal } = this.#seams
    for (let attempt = 1; ; attempt++) {
      try {
        const node = (await api.get(`${NODES}/${name}`, signal)) as NodeObject
        const taints = rule(node)
        if (taints === undefined) return
        const { resourceVersion } = node.metadata
        const body = { metadata: { resourceVersion }, spec: { taints } }
        await api.patch(`${NODES}/${name}`, 'merge', body, signal)
        return
      } catch (error) {
        const isConflict = error instanceof KubeStatusError && error.status === 409
        if (isConflict && attempt < ATTEMPTS) continue
        this.complain(name, error)
        return
      }
    }
  }

  /** Log a write that failed. A conflict is settled by the next round, and a node that is gone needs nothing. */
  complain(name: string, error: unknown): void {
    if (this.#seams.signal.aborted) return
    if (error instanceof KubeStatusError && [404, 409].includes(error.status)) return
    this.#seams.log.warn('lifecycle: write failed', { node: name, error: reasonOf(error) })
  }
}
