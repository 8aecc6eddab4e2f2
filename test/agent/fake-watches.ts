// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../../core/node.js'
import { parseNodeName } from '../../core/ids.js'
import { KubeStatusError } from '../../core/errors.js'
import type {
  DataView,
  KubeApi,
  MemberList,
  MemberView,
  WatchedMembers,
} from '../../agent/ports/kube-api.js'
import type { KnownVersion } from '../../kube/client/known-version.js'
import type { ListFrom } from '../../kube/client/list-pages.js'
import type { Watching, WatchSink } from '../../kube/client/watching.js'
import { settle } from '../../testkit/fake-clock.js'

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

const memberOf = ({ name, internalIPs }: NodeView): MemberView => ({
  name,
  address: internalIPs[0],
})

interface Open<T> {
  readonly key: string
  /** A label selector. */
  readonly selector: string
  readonly sink: WatchSink<T>
  readonly known: KnownVersion | undefined
  isOpen: boolean
}

/** The watching half of KubeApi: a test hands each open watch what it shall see. */
export class FakeWatches implements KubeApi {
  /** Watches of members by their selector, of the own Node by `name:n1`. */
  readonly members: Open<MemberView>[] = []
  readonly nodes: Open<NodeView>[] = []
  /** How many lists a watch says to have had, of those that begin from now on. */
  watchLists = 1
  readonly #own = new Map<string, NodeView | null>()
  readonly #waiting = new Set<() => void>()
  readonly lists = new Map<string, readonly NodeView[]>()
  readonly data: Open<DataView>[] = []

  #open<T>(
    list: Open<T>[],
    key: string,
    sink: WatchSink<T>,
    { selector, known }: Partial<WatchedMembers> = {},
  ): Watching {
    const open: Open<T> = { key, selector: selector ?? '', sink, known, isOpen: true }
    list.push(open)
    return {
      status: {
        state: 'watching',
        lastHeardAt: 0,
        lists: this.watchLists,
        trouble: undefined,
        isAway: false,
      },
      stop: async () => {
        open.isOpen = false
      },
    }
  }

  watchNode(name: string, sink: WatchSink<NodeView>): Watching {
    return this.#open(this.nodes, name, sink)
  }
  watchMembers(which: WatchedMembers, sink: WatchSink<MemberView>): Watching {
    const { selector, name } = which
    const key = name === undefined ? selector : `name:${name}`
    return this.#open(this.members, key, sink, which)
  }
  /** Thrown at whoever lists. */
  refusal: Error | undefined
  /** The states that lists had to be as new as. */
  readonly known: ListFrom[] = []
  /** Lists that were begun are answered when this resolves. */
  held: Promise<void> | undefined
  listMembers = async (selector: string, known: ListFrom): Promise<MemberList> => {
    this.known.push(known)
    if (this.refusal !== undefined) throw this.refusal
    const version = String(this.known.length)
    const members = (this.lists.get(selector) ?? []).map(memberOf)
    await this.held
    return { members, version }
  }
  /** Of the state in which members were looked at. */
  lookVersion = '0'
  /** Names of members that were looked at. */
  readonly looks: string[] = []
  getMember = async (selector: string, name: string): Promise<MemberList> => {
    this.looks.push(name)
    if (this.refusal !== undefined) throw this.refusal
    const all = (this.lists.get(selector) ?? []).map(memberOf)
    return { members: all.filter(member => member.name === name), version: this.lookVersion }
  }
  /** Names of Nodes that were read. */
  readonly reads: string[] = []
  /** Thrown at whoever reads a Node. */
  readRefusal: Error | undefined

  getNode = async (name: string): Promise<NodeView> => {
    this.reads.push(name)
    if (this.readRefusal !== undefined) throw this.readRefusal
    while (!this.#own.has(name)) await new Promise<void>(resolve => this.#waiting.add(resolve))
    const node = this.#own.get(name) ?? null
    if (node !== null) return node
    throw new KubeStatusError(name, {
      status: 404,
      reason: 'NotFound',
      message: '',
      isFromApi: true,
    })
  }

  watchConfigMap(_namespace: string, name: string, sink: WatchSink<DataView>): Watching {
    return this.#open(this.data, name, sink)
  }
  watchSecret(_namespace: string, name: string, sink: WatchSink<DataView>): Watching {
    return this.#open(this.data, name, sink)
  }

  /** What every open watch of this key sees as its whole list; `name:n1` is a Node that is read as well. */
  async showNodes(key: string, items: readonly NodeView[]): Promise<void> {
    this.lists.set(key, items)
    const name = /^name:(.*)$/.exec(key)?.[1]
    if (name !== undefined) this.#own.set(name, items[0] ?? null)
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
    for (const { key: other, isOpen, sink } of [...this.members]) {
      if (!isOpen || other !== key) continue
      // Labels of the own Node may have moved: then its row leaves the selection.
      if (name === undefined) sink.replace(items.map(memberOf))
      else {
        sink.remove(name)
        if (items[0] !== undefined) sink.upsert(memberOf(items[0]))
      }
    }
    await settle()
  }
  /** What every open watch of this key sees of one Node. */
  async sendNode(key: string, item: NodeView): Promise<void> {
    for (const open of this.members.filter(open => open.isOpen && open.key === key)) {
      open.sink.upsert(memberOf(item))
    }
    await settle()
  }
  async showData(
    name: string,
    data: Record<string, string> | undefined,
    version = '1',
  ): Promise<void> {
    for (const open of this.data.filter(open => open.isOpen && open.key === name)) {
      open.sink.replace(data === undefined ? [] : [dataView(name, data, version)])
    }
    await settle()
  }
  /** Selectors of the node watches that are open, the own node's left out. */
  get selectors(): readonly string[] {
    return this.members
      .filter(open => open.isOpen && !open.key.startsWith('name:'))
      .map(open => open.key)
  }

  getNodeNotes = never
  listNodeNotes = never
  patchNode = never
  patchNodeStatus = never
  tryPatch = never
  tryRenewal = never
  /** Selectors that the row of the own Node matches for now. */
  get facts(): readonly string[] {
    return this.members
      .filter(({ isOpen, key }) => isOpen && key.startsWith('name:'))
      .map(({ selector }) => selector)
  }

  getLease = never
  patchLease = never
  renewAgentLease = never
  server = never
  createEvent = never
  serverTime(): number | undefined {
    return undefined
  }

  ping = never
  reconnect = (): void => undefined
  close = async (): Promise<void> => undefined
}
