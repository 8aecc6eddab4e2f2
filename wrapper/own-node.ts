// SPDX-License-Identifier: Apache-2.0
import type { Logger } from '../core/log.js'
import type { Table } from './store/table.js'
import { readLabels } from './wire/meta.js'

/** The Node that this wrapper runs on, as the table of Nodes has it. */
export class OwnNode {
  readonly #name: string
  readonly #log: Logger
  #isMissing = false
  /** Its labels as one text; empty before it is listed. */
  #labels = ''

  constructor(name: string, log: Logger) {
    this.#name = name
    this.#log = log
  }

  /** The table has changed. @returns whether this Node's labels have: heartbeats are not worth a write to disk */
  haveLabelsChanged(nodes: Pick<Table, 'get' | 'state'>): boolean {
    const own = nodes.get(this.#name)
    this.#noteMissing(nodes.state === 'filled' && own === undefined)
    const labels = own === undefined ? '' : JSON.stringify([...readLabels(own.raw)])
    const isChange = labels !== this.#labels
    this.#labels = labels
    return isChange
  }

  /** A wrong name would leave out every endpoint of services with topology, and nothing else would show why. */
  #noteMissing(isMissing: boolean): void {
    if (isMissing === this.#isMissing) return
    this.#isMissing = isMissing
    if (isMissing)
      this.#log.error("the cluster has no such Node; --hostname must be the Node's name")
    else this.#log.info('the cluster has this Node now')
  }
}
