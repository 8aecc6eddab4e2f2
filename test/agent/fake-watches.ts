// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../../core/node.js'
import { parseNodeName } from '../../core/ids.js'
import type { DataView, KubeApi } from '../../agent/ports/kube-api.js'
import type { Watching, WatchSink } from '../../kube/client/watching.js'

const never = (): Promise<never> => Promise.reject(new Error('not scripted'))

/** A Node as the agent sees it; `labels` and addresses are what tests vary. */
export const nodeView = (name: string, change: Partial<NodeView> = {}): NodeView => ({
  name: parseNodeName(name),
  uid: `uid-${name}`,
  resourceVersion: '1',
  labels: {},
  annotations: {},
  taints: [],
  internalIPs: [`10.0.0.${name.replaceAll(/\D/g, '') || '1'}`],
  conditions: [],
  ...change,
})

export const dataView = (name: string, data: Record<string, string>, version = '1'): DataView => ({
  name,
  resourceVersion: version,
  data,
})

interface Open<T> {
  readonly key: string
  readonly sink: WatchSink<T>
  isOpen: boolean
}

/** The watching half of KubeApi: a test hands each open watch what it shall see. */
export class FakeWatches implements KubeApi {
  readonly nodes: Open<NodeView>[] = []
  readonly data: Open<DataView>[] = []

  #open<T>(list: Open<T>[], key: string, sink: WatchSink<T>): Watching {
    const open: Open<T> = { key, sink, isOpen: true }
    list.push(open)
    return {
      status: { state: 'watching', lastHeardAt: 0, lists: 1, trouble: undefined },
      stop: async () => {
        open.isOpen = false
      },
    }
  }

  watchNodes(pick: { selector: string } | { name: string }, sink: WatchSink<NodeView>): Watching {
    return this.#open(this.nodes, 'name' in pick ? `name:${pick.name}` : pick.selector, sink)
  }
  watchConfigMap(_namespace: string, name: string, sink: WatchSink<DataView>): Watching {
    return this.#open(this.data, name, sink)
  }
  watchSecret(_namespace: string, name: string, sink: WatchSink<DataView>): Watching {
    return this.#open(this.data, name, sink)
  }

  /** What every open watch of this key sees as its whole list. */
  showNodes(key: string, items: readonly NodeView[]): void {
    for (const open of this.nodes.filter(open => open.isOpen && open.key === key)) {
      open.sink.replace(items)
    }
  }
  /** What every open watch of this key sees of one Node. */
  tellNode(key: string, item: NodeView): void {
    for (const open of this.nodes.filter(open => open.isOpen && open.key === key)) {
      open.sink.upsert(item)
    }
  }
  showData(name: string, data: Record<string, string> | undefined, version = '1'): void {
    for (const open of this.data.filter(open => open.isOpen && open.key === name)) {
      open.sink.replace(data === undefined ? [] : [dataView(name, data, version)])
    }
  }
  /** Selectors of the node watches that are open, the own node's left out. */
  get selectors(): readonly string[] {
    return this.nodes
      .filter(open => open.isOpen && !open.key.startsWith('name:'))
      .map(open => open.key)
  }

  getNode = never
  patchNode = never
  patchNodeStatus = never
  tryNodePatch = never
  getLease = never
  patchLease = never
  renewAgentLease = never
  server = never
  createEvent = never
  serverTime(): number | undefined {
    return undefined
  }

  ping = never
  close = async (): Promise<void> => undefined
}
